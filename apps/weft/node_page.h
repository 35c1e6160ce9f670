// What `weft nodes` prints for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft {

// What GET /v1/nodes and GET /v1/jobs answer: a line for each node, then a sum for each type.
std::string nodes_page(const nlohmann::json& nodes, const nlohmann::json& jobs);

}  // namespace weft

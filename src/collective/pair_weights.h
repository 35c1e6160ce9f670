// All-to-all with its weights per pair.
#pragma once

#include "collective/algorithms.h"
#include "collective/schedule.h"

namespace weft::collective {

// An empty all-to-all schedule. With weights per pair, `whole` is what the largest sender sends, so
// that n bytes are its input; without, n bytes are every rank's input.
Schedule make_all_to_all(const char* algorithm, const Request& request);

// The weight of the heaviest chunk.
std::uint64_t heaviest(const Schedule& schedule);

}  // namespace weft::collective

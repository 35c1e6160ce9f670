// What the planner's tests share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "planner/framework.h"
#include "planner/hardware.h"
#include "planner/layout.h"
#include "planner/transformer.h"

namespace weft::planner {

inline std::string planner_data(const std::string& name) {
  return std::string(WEFT_SHARED_DATA) + "/planner/" + name;
}
#define SKIP_WITHOUT_DATA(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not here; see docs/data.md"

inline Transformer model_named(const char* name) { return *find_transformer(name); }
inline Machines a100() { return *find_machines("a100-80", ""); }
inline Framework software(const char* name) { return *find_framework(name); }

// A layout with its ranks placed on nodes of eight.
inline Layout placed(Layout layout) {
  layout.placement = usual_placement(layout, 8);
  return layout;
}

}  // namespace weft::planner

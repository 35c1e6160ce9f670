// Runs a test under each set of instructions that this processor has and the room is compiled for.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/vector_targets.h"

// After the targets are chosen.
#include <hwy/highway.h>

namespace weft {

inline std::vector<std::int64_t> vector_targets() { return hwy::SupportedAndGeneratedTargets(); }

inline std::string vector_target_name(const ::testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

// While it lives, vector code runs as if the processor had this set and no better one.
class UseVectorTarget {
 public:
  explicit UseVectorTarget(std::int64_t target) { set(target); }
  ~UseVectorTarget() { set(0); }
  UseVectorTarget(const UseVectorTarget&) = delete;
  UseVectorTarget& operator=(const UseVectorTarget&) = delete;

 private:
  static void set(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace weft

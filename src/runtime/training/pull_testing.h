// What tests of synchronisers train: rank r pulls the parameters towards centre(r).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "base/result.h"

namespace weft::runtime {

inline constexpr std::size_t kParameters = 301;
inline constexpr float kRate = 0.15F;

#define ASSERT_DONE(status)                        \
  do {                                             \
    const Status done_ = (status);                 \
    ASSERT_TRUE(done_.ok()) << done_.error().what; \
  } while (false)

inline float centre(int rank, std::size_t i) {
  return static_cast<float>(std::sin(static_cast<double>(i)) + 0.3 * rank);
}

}  // namespace weft::runtime

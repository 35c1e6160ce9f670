#include "collective/verify.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"

namespace weft::collective {
namespace {

TEST(Verify, EveryAlgorithmAtEveryRankCountTo64) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const Request request{.operation = algorithm.operation, .ranks = ranks};
      if (!algorithm.refusal(request).empty()) continue;
      const Status status = verify(algorithm.make(request));
      ASSERT_TRUE(status.ok()) << algorithm.name << " " << name_of(algorithm.operation) << " of "
                               << ranks << " ranks: " << status.error().text();
    }
  }
}

}  // namespace
}  // namespace weft::collective

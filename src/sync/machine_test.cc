#include "sync/machine.h"

#include <gmock/gmock.h>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

Mode mode(const std::string& text) {
  auto parsed = parse_mode(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

// One process that takes the weighted mean gradient.
std::vector<double> one_process(const Quadratics& q, double lr, int steps) {
  std::vector<double> at(q.dimensions(), 1.0), own(at), mean(at);
  for (int s = 0; s < steps; ++s) {
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::uint32_t i = 0; i < q.b.size(); ++i) {
      q.gradient(i, at, own);
      for (std::size_t d = 0; d < at.size(); ++d) mean[d] += q.weights[i] * own[d];
    }
    for (std::size_t d = 0; d < at.size(); ++d) at[d] -= lr * mean[d];
  }
  return at;
}

TEST(Machine, ModesThatAgreeAtEveryStepEqualOneProcess) {
  const Quadratics q = Quadratics::draw(5, 7, 3);
  const std::vector<double> want = one_process(q, 0.1, 20);
  for (const char* text :
       {"bsp", "local:period=1", "diloco:period=1,outer_lr=1,outer_momentum=0", "ssp:bound=0",
        "post-local:warmup=9,period=1", "fednova:period=1", "scaffold:period=1",
        "hierarchical:inner=1,outer=1,group=2", "slowmo:period=1,outer_momentum=0"}) {
    Swarm swarm(q.swarm(mode(text)));
    swarm.run_rounds(20);
    EXPECT_LT(distance(swarm.rank(2).parameters, want), 1e-12) << text;
    EXPECT_LT(distance(swarm.rank(0).parameters, swarm.rank(4).parameters), 1e-15) << text;
  }
}

TEST(Machine, LocalStepsAreAveragedEveryPeriod) {
  const Quadratics q = Quadratics::draw(3, 2, 5);
  Swarm swarm(q.swarm(mode("local:period=4")));
  swarm.run_steps(12);
  swarm.run_rounds(3);
  EXPECT_EQ(swarm.messages(), 3U * 3U);
  // After 4 local steps a rank has gone (1 - (1 - lr h)^4) of its way to b.
  std::vector<double> at(2, 1.0);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t d = 0; d < 2; ++d) {
      double mean = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const double left = std::pow(1 - 0.1 * q.h[i][d], 4);
        mean += q.weights[i] * (left * at[d] + (1 - left) * q.b[i][d]);
      }
      at[d] = mean;
    }
  }
  EXPECT_LT(distance(swarm.rank(1).parameters, at), 1e-12);
}

}  // namespace
}  // namespace weft::sync

#include "sync/outer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

struct Course {
  std::vector<double> agreed = {1.0}, u = {0.0}, v = {0.0};
  void step(const OuterRule& rule, double way, double inner_lr = 1) {
    const std::vector<double> ways = {way};
    outer_step<double>(rule, inner_lr, ways, agreed, u, v);
  }
};

OuterRule rule(const std::string& mode) { return parse_mode(mode)->outer; }

// Every figure below was computed by hand from the paper's rule.
TEST(Outer, NesterovAsDiLoCoHasIt) {
  Course run;
  run.step(rule("diloco:outer_lr=0.7,outer_momentum=0.9"), 0.1);
  EXPECT_NEAR(run.agreed[0], 1 - 0.7 * (0.1 + 0.9 * 0.1), 1e-15);  // u = 0.1
  run.step(rule("diloco:outer_lr=0.7,outer_momentum=0.9"), 0.2);
  EXPECT_NEAR(run.u[0], 0.29, 1e-15);
  EXPECT_NEAR(run.agreed[0], 0.867 - 0.7 * (0.2 + 0.9 * 0.29), 1e-15);
}

TEST(Outer, SlowMoCountsMomentumInUnitsOfTheLearningRate) {
  Course run;
  const OuterRule slow = rule("slowmo:outer_lr=0.5,outer_momentum=0.8");
  run.step(slow, 0.2, 0.1);  // u = 2, agreed = 1 - 0.5 × 0.1 × 2
  EXPECT_NEAR(run.agreed[0], 0.9, 1e-15);
  run.step(slow, 0.2, 0.05);  // u = 0.8 × 2 + 4 = 5.6, agreed = 0.9 - 0.5 × 0.05 × 5.6
  EXPECT_NEAR(run.u[0], 5.6, 1e-14);
  EXPECT_NEAR(run.agreed[0], 0.76, 1e-15);
}

TEST(Outer, FedAdamHasNoBiasCorrection) {
  Course run;
  const OuterRule adam = rule("fedadam:outer_lr=0.1,outer_momentum=0.9,beta2=0.99,epsilon=0.001");
  run.step(adam, 0.5);  // u = 0.05, v = 0.0025, agreed = 1 - 0.1 × 0.05 / 0.051
  EXPECT_NEAR(run.agreed[0], 1 - 0.005 / 0.051, 1e-15);
  run.step(adam, -0.5);  // u = -0.005, v = 0.004975
  EXPECT_NEAR(run.u[0], -0.005, 1e-15);
  EXPECT_NEAR(run.v[0], 0.004975, 1e-15);
  EXPECT_NEAR(run.agreed[0], 1 - 0.005 / 0.051 + 0.0005 / (std::sqrt(0.004975) + 0.001), 1e-15);
}

TEST(Outer, PlainAveragingIsARateOfOne) {
  Course run;
  run.step(rule("local"), 0.25);
  EXPECT_EQ(run.agreed[0], 0.75);
  EXPECT_EQ(run.u[0], 0) << "no memory is touched";
}

TEST(Outer, FloatsFollowDoubles) {
  const OuterRule rules[] = {rule("diloco"), rule("fedadam"), rule("slowmo"), rule("fedavg")};
  for (const OuterRule& each : rules) {
    Random random(4);
    std::vector<double> agreed(50, 1), u(50), v(50);
    std::vector<float> agreed_f(50, 1), u_f(50), v_f(50);
    for (int s = 0; s < 5; ++s) {
      std::vector<double> way(50);
      for (double& x : way) x = random.normal();
      const std::vector<float> way_f(way.begin(), way.end());
      outer_step<double>(each, 0.1, way, agreed, u, v);
      outer_step<float>(each, 0.1, way_f, agreed_f, u_f, v_f);
    }
    for (int i = 0; i < 50; ++i) {
      EXPECT_NEAR(agreed[static_cast<std::size_t>(i)],
                  static_cast<double>(agreed_f[static_cast<std::size_t>(i)]), 1e-4);
    }
  }
}

// Two ranks that go 1 and 3 steps; what FedNova gives, computed from its definition.
TEST(Outer, FedNovaWeighsStepsOut) {
  Quadratics q;
  q.h = {{1}, {1}}, q.b = {{0}, {4}}, q.weights = {0.25, 0.75};
  SwarmOptions options = q.swarm(*parse_mode("fednova"), {1, 3});
  options.lr = 0.5;
  Swarm swarm(std::move(options));
  swarm.run_rounds(1);
  // From 1: rank 0 goes to 0.5, a way of 0.5. Rank 1 has 1/8 of -3 left: at 3.625, a way of -2.625.
  // Ways per step: 0.5 and -0.875; mean -0.53125; mean steps 0.25 + 2.25 = 2.5.
  EXPECT_NEAR(swarm.rank(0).parameters[0], 1 + 2.5 * 0.53125, 1e-15);
}

}  // namespace
}  // namespace weft::sync

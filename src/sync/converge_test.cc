// Where each mode ends up on a convex problem whose answers are known in closed form.
#include <gmock/gmock.h>

#include <cmath>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

const std::vector<std::uint32_t> kUnequal = {1, 12, 3, 30};

std::vector<double> end_of(const Quadratics& q, const std::string& text, double lr,
                           std::uint64_t rounds, const std::vector<std::uint32_t>& steps) {
  SwarmOptions options = q.swarm(mode(text), steps);
  options.lr = lr;
  Swarm swarm(std::move(options));
  swarm.run_rounds(rounds);
  return swarm.rank(0).parameters;
}

// The share of its way to b that a rank goes in its local steps.
double gone(double lr, double h, std::uint32_t steps) {
  return -std::expm1(steps * std::log1p(-lr * h));
}

TEST(Converge, FedAvgWithUnequalStepsReachesItsWrongPoint) {
  const Quadratics q = Quadratics::draw(4, 5, 11);
  const std::vector<double> wrong =
      q.balance([&](std::size_t i, std::size_t d) { return gone(0.05, q.h[i][d], kUnequal[i]); });
  const std::vector<double> at = end_of(q, "fedavg", 0.05, 400, kUnequal);
  EXPECT_LT(distance(at, wrong), 1e-9);
  EXPECT_GT(distance(at, q.optimum()), 0.1) << "the wrong point must be far from the right one";
}

TEST(Converge, FedNovaReachesTheOptimumAsLocalStepsShrink) {
  const Quadratics q = Quadratics::draw(4, 5, 11);
  const std::vector<double> at = end_of(q, "fednova:outer_lr=3e5", 1e-7, 400, kUnequal);
  EXPECT_LT(distance(at, q.optimum()), 1e-5);
  const std::vector<double> closer = end_of(q, "fednova:outer_lr=6e6", 5e-9, 400, kUnequal);
  EXPECT_LT(distance(closer, q.optimum()), 1e-6);
  // FedAvg with the same small steps still goes wrong: the steps' number is what pulls.
  EXPECT_GT(distance(end_of(q, "fedavg:outer_lr=6e6", 5e-9, 400, kUnequal), q.optimum()), 0.1);
  // At an ordinary learning rate ways bend, and FedNova's own point is known as well.
  const std::vector<double> bent = q.balance([&](std::size_t i, std::size_t d) {
    return gone(0.05, q.h[i][d], kUnequal[i]) / kUnequal[i];
  });
  EXPECT_LT(distance(end_of(q, "fednova", 0.05, 600, kUnequal), bent), 1e-9);
}

TEST(Converge, ScaffoldReachesTheOptimumAtAnyLearningRate) {
  const Quadratics q = Quadratics::draw(4, 5, 11);
  for (const double lr : {0.01, 0.05}) {
    const auto at = end_of(q, "scaffold", lr, 1500, kUnequal);
    EXPECT_LT(distance(at, q.optimum()), 1e-6) << lr;
  }
  const auto sampled = end_of(q, "scaffold:participation=0.5", 0.02, 4000, kUnequal);
  EXPECT_LT(distance(sampled, q.optimum()), 1e-6) << "half of the ranks in each round";
}

TEST(Converge, FedProxReachesItsPoint) {
  const Quadratics q = Quadratics::draw(4, 5, 11);
  const double mu = 0.5, lr = 0.05;
  const std::vector<double> want = q.balance([&](std::size_t i, std::size_t d) {
    const double h = q.h[i][d];
    return h / (h + mu) * gone(lr, h + mu, kUnequal[i]);
  });
  const auto at = end_of(q, "fedprox:mu=0.5", lr, 600, kUnequal);
  EXPECT_LT(distance(at, want), 1e-9);
  EXPECT_LT(distance(at, q.optimum()),
            distance(end_of(q, "fedavg", lr, 600, kUnequal), q.optimum()))
      << "the pull brings it nearer";
}

TEST(Converge, ModesThatAverageReachTheirCommonPoint) {
  const Quadratics q = Quadratics::draw(6, 4, 2);
  const std::vector<double> fixed =
      q.balance([&](std::size_t i, std::size_t d) { return gone(0.05, q.h[i][d], 8); });
  for (const char* text :
       {"local:period=8", "fedavg:period=8", "slowmo:period=8,outer_momentum=0.5",
        "diloco:period=8", "diloco:period=8,fragments=1,overlap=0,mixing=0",
        "fedavg:period=8,outer_momentum=0.9,outer_lr=0.5"}) {
    EXPECT_LT(distance(end_of(q, text, 0.05, 600, {}), fixed), 1e-8) << text;
  }
  for (const char* text : {"local:adaptive,period=8", "hierarchical:inner=2,outer=8,group=3",
                           "lazy:threshold=1e-6,check=4"}) {
    EXPECT_LT(distance(end_of(q, text, 0.02, 3000, {}), q.optimum()), 0.1) << text;
  }
}

// Coordinates of these problems do not touch each other, so a fragment behaves as a whole. With
// overlap t and mixing a, a rank's distance from b is y = (1 - a) / (1 - a r^8) of the agreed one's
// after each average, where r = 1 - lr h, and r^(8 - t) y when the next one begins.
TEST(Converge, FragmentsAndOverlapReachTheirPoints) {
  const Quadratics q = Quadratics::draw(6, 4, 2);
  const struct {
    const char* text;
    std::uint32_t overlap;
    double mixing;
  } rows[] = {{"diloco:period=8,fragments=3", 0, 0},
              {"diloco:period=8,overlap=2", 2, 0},
              {"local:period=8,overlap=7", 7, 0},
              {"diloco:period=8,overlap=2,mixing=0.5", 2, 0.5},
              {"diloco:period=8,fragments=4,overlap=3,mixing=0.25,outer_lr=0.4", 3, 0.25}};
  for (const auto& row : rows) {
    const std::vector<double> want = q.balance([&](std::size_t i, std::size_t d) {
      const double r = 1 - 0.05 * q.h[i][d];
      const double y = (1 - row.mixing) / (1 - row.mixing * std::pow(r, 8));
      return 1 - std::pow(r, 8 - row.overlap) * y;
    });
    SwarmOptions options = q.swarm(mode(row.text));
    options.lr = 0.05;
    Swarm swarm(std::move(options));
    swarm.run_rounds(4000);
    EXPECT_LT(distance(*swarm.rank(1).replica.vectors()[0].values, want), 1e-8) << row.text;
  }
}

// Beside the rule as its paper has it: every rank its own outer optimizer, whose gradient is the
// others' ways of the last round and its own of this one.
TEST(Converge, EagerRanksGoOnFromTheirOwnWays) {
  constexpr std::size_t kRanks = 4, kDims = 3;
  constexpr double kLr = 0.05, kOuter = 0.7, kMomentum = 0.9;
  const Quadratics q = Quadratics::draw(kRanks, kDims, 6);
  SwarmOptions options = q.swarm(mode("diloco:period=5,eager"));
  options.lr = kLr;
  options.message_s = [] { return 3.5; };  // arrives in the middle of the next round
  Swarm swarm(std::move(options));
  using Vectors = std::vector<std::vector<double>>;
  Vectors at(kRanks, std::vector<double>(kDims, 1.0)), u(kRanks, std::vector<double>(kDims));
  Vectors last = u;
  for (std::uint64_t round = 1; round <= 12; ++round) {
    Vectors ways = u;
    for (std::size_t i = 0; i < kRanks; ++i) {
      for (std::size_t d = 0; d < kDims; ++d) {
        const double end = q.b[i][d] + std::pow(1 - kLr * q.h[i][d], 5) * (at[i][d] - q.b[i][d]);
        ways[i][d] = at[i][d] - end;
      }
    }
    for (std::size_t i = 0; i < kRanks; ++i) {
      for (std::size_t d = 0; d < kDims; ++d) {
        double mean = 0;
        for (std::size_t j = 0; j < kRanks; ++j) {
          mean += q.weights[j] * (j == i ? ways : last)[j][d];
        }
        u[i][d] = kMomentum * u[i][d] + mean;
        at[i][d] -= kOuter * (mean + kMomentum * u[i][d]);
      }
    }
    last = ways;
    swarm.run_rounds(round);
    for (std::uint32_t i = 0; i < kRanks; ++i) {
      EXPECT_LT(distance(swarm.rank(i).parameters, at[i]), 1e-12) << round << " rank " << i;
    }
  }
  EXPECT_EQ(swarm.now(), 60) << "nobody has waited";
}

TEST(Converge, EagerRanksReachTheCommonPoint) {
  const Quadratics q = Quadratics::draw(6, 4, 2);
  const std::vector<double> fixed =
      q.balance([&](std::size_t i, std::size_t d) { return gone(0.05, q.h[i][d], 8); });
  for (const char* text : {"diloco:period=8,eager,outer_lr=0.4,outer_momentum=0.5",
                           "diloco:period=8,eager,fragments=2,outer_lr=0.4,outer_momentum=0"}) {
    SwarmOptions options = q.swarm(mode(text));
    options.lr = 0.05;
    Swarm swarm(std::move(options));
    swarm.run_rounds(4000);
    // Ranks differ by their own parts; what all have agreed on is the point of the averages.
    EXPECT_LT(distance(*swarm.rank(1).replica.vectors()[0].values, fixed), 0.2) << text;
    double most = 0;
    for (std::uint32_t i = 1; i < 6; ++i) {
      most = std::max(most, distance(swarm.rank(i).parameters, swarm.rank(0).parameters));
    }
    EXPECT_LT(most, 2) << text << ": no rank goes its own way";
  }
}

TEST(Converge, ServersReachTheOptimumRegion) {
  const Quadratics q = Quadratics::draw(6, 4, 2);
  for (const char* text : {"ssp:bound=3", "asp", "fedbuff:period=1,buffer=3,outer_lr=0.5"}) {
    SwarmOptions options = q.swarm(mode(text));
    Random random(5);
    options.lr = 0.005;
    options.servers = 3;
    // FedBuff takes ways as they come, without weights: give all ranks the same.
    if (options.mode.buffer > 0) {
      for (Member& member : options.members) member.weight = 1;
    }
    options.step_s = [&random](std::uint32_t) { return random.uniform(0.9, 1.1); };
    options.message_s = [&random] { return random.uniform(0, 0.05); };
    Swarm swarm(std::move(options));
    swarm.run_steps(4000);
    Quadratics same = q;
    if (mode(text).buffer > 0) same.weights.assign(6, 1.0 / 6);
    EXPECT_LT(distance(swarm.rank(0).parameters, same.optimum()), 0.1) << text;
  }
}

TEST(Converge, AdaptivePeriodsShrinkWithTheLoss) {
  Quadratics q = Quadratics::draw(4, 3, 9);
  for (auto& b : q.b) b.assign(3, 100);  // one optimum for all, so that the loss can vanish
  SwarmOptions options = q.swarm(mode("local:adaptive,period=16"));
  options.lr = 0.02;
  Swarm swarm(std::move(options));
  swarm.run_rounds(2);
  const std::uint32_t early = swarm.rank(0).machine.period();
  EXPECT_LT(early, 16U);
  swarm.run_rounds(200);
  EXPECT_EQ(swarm.rank(0).machine.period(), 1U);
  EXPECT_EQ(swarm.rank(3).machine.period(), 1U) << "all ranks know the same mean loss";
}

TEST(Converge, LazyAveragesOnlyWhenSomebodyDrifts) {
  Quadratics q = Quadratics::draw(4, 3, 9);
  for (auto& b : q.b) b.assign(3, 100);  // one optimum for all, so that drift can end
  const auto averages = [&](const std::string& text) {
    SwarmOptions options = q.swarm(mode(text));
    options.lr = 0.01;
    Swarm swarm(std::move(options));
    swarm.run_steps(201);
    return swarm.messages() / 4;
  };
  EXPECT_EQ(averages("lazy:threshold=1e-12,check=4"), 50U) << "every check";
  EXPECT_EQ(averages("lazy:threshold=1e12,check=4"), 0U);
  const auto some = averages("lazy:threshold=1e-4,check=4");
  EXPECT_GT(some, 1U);
  EXPECT_LT(some, 50U);
}

}  // namespace
}  // namespace weft::sync

#include "sync/cost.h"

#include <gmock/gmock.h>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

TEST(SyncCost, BytesOfKnownCases) {
  const struct {
    const char* text;
    std::uint32_t ranks, servers;
    double sent, busiest, peak;
  } rows[] = {
      {"bsp", 4, 1, 150, 150, 150},
      {"bsp", 1, 1, 0, 0, 0},
      {"local:period=8", 4, 1, 18.75, 18.75, 150},
      {"diloco:period=50,fragments=5", 4, 1, 3, 3, 30},
      {"scaffold:period=8", 4, 1, 37.5, 37.5, 300},
      {"hierarchical:inner=4,outer=16,group=2", 4, 1, 150 / 16.0 + 100 * (1 / 4.0 - 1 / 16.0),
       150 / 16.0 + 100 * (1 / 4.0 - 1 / 16.0), 150},
      {"ssp", 4, 4, 150, 150, 150},
      {"ssp", 4, 1, 150, 300, 300},
      {"bsp:backup=1", 4, 4, 150, 150, 150},
      {"asp:period=2", 4, 2, 75, 100, 200},
      {"gossip:graph=ring", 16, 1, 200, 200, 200},
      {"gossip:graph=exponential", 16, 1, 400, 400, 400},
      {"gossip:graph=one-peer,period=2", 16, 1, 50, 50, 100},
  };
  for (const auto& row : rows) {
    const SyncCost cost = sync_cost(mode(row.text), row.ranks, row.servers, 100);
    EXPECT_DOUBLE_EQ(cost.sent_bytes, row.sent) << row.text;
    EXPECT_DOUBLE_EQ(cost.busiest_bytes, row.busiest) << row.text;
    EXPECT_DOUBLE_EQ(cost.peak_bytes, row.peak) << row.text;
  }
  EXPECT_EQ(sync_cost(mode("diloco:overlap=5"), 4, 1, 100).hidden_steps, 5U);
  EXPECT_EQ(sync_cost(mode("diloco:period=20,eager"), 4, 1, 100).hidden_steps, 20U);
  EXPECT_FALSE(sync_cost(mode("asp"), 4, 1, 100).waits_for_all);
  EXPECT_FALSE(sync_cost(mode("bsp:backup=1"), 4, 4, 100).waits_for_all);
  EXPECT_TRUE(sync_cost(mode("lazy"), 4, 1, 100).at_most);
}

// The machines themselves begin as many averages as the cost says.
TEST(SyncCost, ExchangesAreThoseOfTheMachines) {
  for (const char* text : {"bsp", "local:period=8", "hierarchical:inner=2,outer=8,group=2",
                           "diloco:period=10,fragments=5,overlap=1", "gossip", "fedavg", "scaffold",
                           "lazy:threshold=1e-12,check=4"}) {
    const Quadratics q = Quadratics::draw(4, 10, 3);
    Swarm swarm(q.swarm(mode(text)));
    swarm.run_steps(400);
    const double begun = static_cast<double>(swarm.messages()) / 4 / 400;
    EXPECT_NEAR(begun, sync_cost(mode(text), 4, 1, 1).exchanges, 0.011) << text;
  }
}

TEST(SyncEfficiency, IsStatedOnlyWithASource) {
  EXPECT_EQ(sync_efficiency(mode("bsp"), 8)->value, 1);
  EXPECT_EQ(sync_efficiency(mode("bsp:backup=2"), 8)->value, 0.75);
  EXPECT_TRUE(sync_efficiency(mode("diloco:period=500"), 8).has_value());
  EXPECT_FALSE(sync_efficiency(mode("diloco:period=501"), 8).has_value());
  EXPECT_FALSE(sync_efficiency(mode("diloco:codec=int4"), 8).has_value());
  EXPECT_FALSE(sync_efficiency(mode("asp"), 8).has_value());
  EXPECT_EQ(sync_efficiency(mode("local:period=4"), 4, true)->value, 0.82);
  EXPECT_EQ(sync_efficiency(mode("local:period=4"), 4, false)->value, 0.47);
  EXPECT_EQ(sync_efficiency(mode("local:period=4"), 4)->value, 0.47);
  EXPECT_EQ(sync_efficiency(mode("local:period=16"), 4, true)->value, 0.72);
  EXPECT_FALSE(sync_efficiency(mode("local:period=16"), 4, false).has_value());
  EXPECT_FALSE(sync_efficiency(mode("local:period=16"), 4).has_value());
  EXPECT_FALSE(sync_efficiency(mode("local:period=5"), 4).has_value());
  EXPECT_FALSE(sync_efficiency(mode("local:period=4,codec=int8"), 4).has_value());
  for (const ModeHelp& help : list_modes()) {
    const auto known = sync_efficiency(mode(help.name), 4);
    EXPECT_TRUE(!known || !known->source.empty()) << help.name;
  }
}

}  // namespace
}  // namespace weft::sync

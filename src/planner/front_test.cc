#include "planner/front.h"

#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

Candidate taking(Seconds seconds, double gigabytes) {
  Candidate one;
  one.layout.global_batch = 1;
  one.time.compute = seconds;
  one.memory.weights = gigabytes * 1e9;
  return one;
}

Offer offered(int devices, double price, std::vector<Candidate> found) {
  Offer offer{a100(), devices, {}};
  offer.machines.device.price_per_hour = price;
  offer.answer.pareto = std::move(found);
  return offer;
}

TEST(Front, KeepsWhatIsBestInSomething) {
  // Half as many devices that take less than twice as long are cheaper; the third offer is dearer
  // and slower than the first, but for its lean layout.
  const std::vector<Offer> offers = {
      offered(8, 2, {taking(3600, 60), taking(7200, 20)}),
      offered(4, 2, {taking(6000, 60)}),
      offered(8, 3, {taking(4000, 70), taking(9000, 10)}),
  };
  const auto front = front_of(offers);
  ASSERT_EQ(front.size(), 4u);
  const double seconds[] = {3600, 6000, 7200, 9000};
  const double cost[] = {16, 4 * 2 * 6000 / 3600., 32, 8 * 3 * 9000 / 3600.};
  for (std::size_t i = 0; i < front.size(); ++i) {
    EXPECT_DOUBLE_EQ(front[i].seconds_per_sample, seconds[i]);
    EXPECT_DOUBLE_EQ(front[i].cost_per_sample, cost[i]);
  }
}

TEST(Front, CountsDeviceHoursWithoutPrices) {
  const std::vector<Offer> offers = {offered(8, 0, {taking(3600, 60)})};
  EXPECT_DOUBLE_EQ(front_of(offers).at(0).cost_per_sample, 8);
}

}  // namespace
}  // namespace weft::planner

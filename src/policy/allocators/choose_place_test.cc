#include "policy/allocators/choose_place.h"

#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace weft {
namespace {

struct Row {
  const char* what;
  const char* cluster;
  std::vector<DeviceId> held, others;  // others: of somebody who stays
  std::uint32_t devices;               // wanted
  std::vector<DeviceId> want;          // in place
  std::vector<DeviceId> anew;          // not in place
};

Configuration of(std::uint32_t devices) {
  Configuration c;
  c.devices = devices;
  c.rate = devices;
  c.pack = Level::kCluster;
  return c;
}

// Where a job that held `row.held` is after the round.
std::vector<DeviceId> place(const Row& row, bool in_place, NodeId out_of_service = kNoNode) {
  const Cluster cluster = small_cluster(row.cluster);
  State state(cluster);
  JobState job = small_job(of(static_cast<std::uint32_t>(row.held.size())));
  auto menu = std::make_shared<Menu>(*job.spec->menu);
  menu->configurations.push_back(of(row.devices));
  auto spec = std::make_shared<Submission>(*job.spec);
  spec->menu = menu;
  spec->in_place = in_place;
  job.spec = spec;
  state.jobs.push_back(job);
  state.active.push_back(0);
  ++state.waiting;
  occupy(state, row.others);
  Draft draft(state);
  Allocation held;
  for (const DeviceId device : row.held) held.devices.push_back({device});
  draft.start(0, held);
  if (out_of_service != kNoNode) state.ledger.set_available(out_of_service, false);
  Offer offer;
  offer.configuration = 1;
  offer.devices = static_cast<std::int32_t>(row.devices);
  const Seat seats[] = {{0, &offer, false, held}};
  place_displacing_least(draft, seats);
  return devices_of(state.job(0).held);
}

TEST(DisplacingLeast, AJobResizedInPlaceKeepsWhatItHas) {
  const Row rows[] = {
      {"grows beside it", "2x4", {4, 5}, {0}, 3, {4, 5, 6}, {1, 2, 3}},
      {"grows on a node behind", "3x2", {2, 3}, {}, 4, {2, 3, 4, 5}, {0, 1, 2, 3}},
      {"cannot grow before its first node", "2x2", {2, 3}, {}, 4, {0, 1, 2, 3}, {0, 1, 2, 3}},
      {"not where it would be on more nodes", "2x4", {0}, {1, 2, 3}, 2, {4, 5}, {4, 5}},
      {"gives up its last", "2x4", {2, 3, 4, 5}, {0, 1}, 2, {2, 3}, {2, 3}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(place(row, true), row.want) << row.what;
    EXPECT_EQ(place(row, false), row.anew) << row.what;
  }
}

TEST(DisplacingLeast, AJobResizedInPlaceLeavesANodeThatIsOutOfService) {
  const Row shrinks{"shrinks", "3x2", {0, 1, 2, 3}, {}, 2, {}, {}};
  EXPECT_EQ(place(shrinks, true, 1), (std::vector<DeviceId>{0, 1}));
  const Row first{"it was the first", "3x2", {0, 1, 2, 3}, {}, 2, {}, {}};
  EXPECT_EQ(place(first, true, 0), (std::vector<DeviceId>{2, 3})) << "a restart";
  const Row middle{"the middle", "3x2", {0, 2, 4}, {}, 2, {}, {}};
  EXPECT_EQ(place(middle, true, 1), (std::vector<DeviceId>{0, 4}));
}

}  // namespace
}  // namespace weft

// Planted faults: each takes a schedule that verifies and breaks one thing.
#include "pipeline/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "pipeline/schedules.h"
#include "pipeline/transforms.h"

namespace weft::pipeline {
namespace {

Schedule plain() { return *generate("1f1b", {.stages = 4, .micro_batches = 8}); }
Schedule split() { return *generate("zb-h1", {.stages = 4, .micro_batches = 8}); }
Schedule recomputed() { return with_recomputation(plain(), 0.1); }
Schedule listed() { return with_listed_transfers(plain(), "fp8"); }
Schedule limited() {
  Schedule s = plain();
  s.limits = {4, 3, 2, 1};
  return s;
}
// The first micro-batch of stage 0 goes to the host between its passes.
Schedule offloaded() {
  Schedule s = plain();
  Op op = s.programs[0][0];
  op.kind = Kind::kOffload;
  s.programs[0].insert(s.programs[0].begin() + 1, op);
  op.kind = Kind::kReload;
  s.programs[0].insert(s.programs[0].begin() + 3, op);
  return s;
}

std::vector<Op>& list(Schedule& s, int device) {
  return s.programs[static_cast<std::size_t>(device)];
}
// The first operation of a kind on a device, for a micro-batch.
std::vector<Op>::iterator find(Schedule& s, int device, Kind kind, int micro_batch) {
  return std::find_if(list(s, device).begin(), list(s, device).end(), [&](const Op& op) {
    return op.kind == kind && op.work.micro_batch == micro_batch;
  });
}
void swap_ops(Schedule& s, int device, Kind a, int ma, Kind b, int mb) {
  std::iter_swap(find(s, device, a, ma), find(s, device, b, mb));
}

struct Fault {
  const char* sentence;
  std::function<Schedule()> make;
  std::function<void(Schedule&)> plant;
  std::string want;
};

void expect_found(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    Schedule schedule = fault.make();
    const Status sound = verify(schedule);
    ASSERT_TRUE(sound.ok()) << fault.sentence << ": " << sound.error().text();
    fault.plant(schedule);
    const Status status = verify(schedule);
    ASSERT_FALSE(status.ok()) << fault.sentence;
    EXPECT_NE(status.error().what.find(fault.want), std::string::npos)
        << fault.sentence << ": " << status.error().what << "\n  does not say: " << fault.want;
  }
}

TEST(Verify, FindsPassesThatAreNotThereOnce) {
  expect_found({
      {"a forward pass is left out", plain,
       [](Schedule& s) { list(s, 1).erase(find(s, 1, Kind::kForward, 3)); },
       "micro-batch 3, chunk 1 (device 1) has no forward pass"},
      {"a forward pass runs twice", plain,
       [](Schedule& s) { list(s, 2).push_back(*find(s, 2, Kind::kForward, 0)); },
       "device 2, operation 17 (forward of micro-batch 0, chunk 2): micro-batch 0, chunk 2 has its "
       "forward pass a second time"},
      {"a backward pass is left out", plain,
       [](Schedule& s) { list(s, 0).erase(find(s, 0, Kind::kBackward, 7)); },
       "micro-batch 7, chunk 0 (device 0) has no backward pass"},
      {"a backward pass runs twice, once split", plain,
       [](Schedule& s) {
         list(s, 0).push_back(*find(s, 0, Kind::kBackward, 7));
         list(s, 0).back().kind = Kind::kBackwardInput;
       },
       "has its backward pass a second time"},
      {"a weight gradient is left out", split,
       [](Schedule& s) { list(s, 3).erase(find(s, 3, Kind::kWeightGradient, 5)); },
       "micro-batch 5, chunk 3 (device 3) has no weight gradient"},
      {"a weight gradient is made by the backward pass and again", split,
       [](Schedule& s) { find(s, 3, Kind::kBackwardInput, 5)->kind = Kind::kBackward; },
       "has its weight gradient a second time"},
      {"a pass runs on another device than its route says", plain,
       [](Schedule& s) { find(s, 1, Kind::kForward, 2)->work.chunk = 2; },
       "device 1, operation 2 (forward of micro-batch 2, chunk 2): micro-batch 2, chunk 2 is on "
       "device 2"},
  });
}

TEST(Verify, FindsWrongOrder) {
  expect_found({
      {"a backward pass before its forward pass", plain,
       [](Schedule& s) { swap_ops(s, 3, Kind::kForward, 4, Kind::kBackward, 4); },
       "stands before device 3"},
      {"a weight gradient before its backward pass", split,
       [](Schedule& s) { swap_ops(s, 0, Kind::kBackwardInput, 4, Kind::kWeightGradient, 4); },
       "device 0, operation"},
      {"two devices that wait for each other", plain,
       [](Schedule& s) {
         swap_ops(s, 3, Kind::kForward, 0, Kind::kForward, 1);
         swap_ops(s, 3, Kind::kBackward, 0, Kind::kBackward, 1);
         swap_ops(s, 2, Kind::kBackward, 0, Kind::kForward, 1);
       },
       "deadlock: device 2, operation 1 (backward of micro-batch 0, chunk 2) waits for backward of "
       "micro-batch 0, chunk 3; device 3, operation 0 (forward of micro-batch 1, chunk 3) waits "
       "for "
       "forward of micro-batch 1, chunk 2"},
      {"a recomputation behind the backward pass", recomputed,
       [](Schedule& s) { swap_ops(s, 1, Kind::kRecompute, 2, Kind::kBackward, 2); },
       "stands before device 1"},
      {"a reload before its offload", offloaded,
       [](Schedule& s) { swap_ops(s, 0, Kind::kOffload, 0, Kind::kReload, 0); }, "stands before"},
      {"an offload that never comes back", offloaded,
       [](Schedule& s) { list(s, 0).erase(find(s, 0, Kind::kReload, 0)); }, "has no reload"},
      {"a reload from another place", offloaded,
       [](Schedule& s) { find(s, 0, Kind::kReload, 0)->peer = 2; }, "went to another place"},
  });
}

TEST(Verify, FindsTooMuchMemory) {
  expect_found({
      {"a limit below what is held", limited, [](Schedule& s) { s.limits[1] = 2.5; },
       "device 1 holds up to 3 activations; its limit is 2.5"},
      {"one forward pass too early", limited,
       [](Schedule& s) {
         const Op op = *find(s, 2, Kind::kForward, 2);
         list(s, 2).erase(find(s, 2, Kind::kForward, 2));
         list(s, 2).insert(find(s, 2, Kind::kBackward, 0), op);
       },
       "device 2 holds up to 3 activations; its limit is 2"},
      {"a guest where there is no room", limited,
       [](Schedule& s) {
         Op op = list(s, 0)[0];
         op.peer = 3;
         op.kind = Kind::kOffload;
         list(s, 0).insert(list(s, 0).begin() + 1, op);
         op.kind = Kind::kReload;
         list(s, 0).insert(find(s, 0, Kind::kBackward, 0), op);
       },
       "device 3 holds up to 2 activations; its limit is 1"},
  });
}

TEST(Verify, FindsWrongWeightVersions) {
  expect_found({
      {"a backward pass with other weights than its forward pass", plain,
       [](Schedule& s) { find(s, 2, Kind::kBackward, 3)->version = 1; },
       "it uses weight version 1, its forward pass used 0"},
      {"a forward pass with weights that are not made yet", plain,
       [](Schedule& s) { find(s, 2, Kind::kForward, 3)->version = 1; },
       "it uses weight version 1, but 0 is the latest made"},
      {"an update in the middle makes later gradients stale", plain,
       [](Schedule& s) {
         Op update = list(s, 3).back();
         list(s, 3).back().version = 2;
         list(s, 3).insert(list(s, 3).begin() + 2, update);
         s.weight_versions = 2;
       },
       "a gradient made with weight version 0 has missed 1 updates; 0 are declared"},
      {"more weight versions than are kept", plain,
       [](Schedule& s) {
         Op update = list(s, 3).back();
         list(s, 3).back().version = 2;
         list(s, 3).insert(list(s, 3).begin() + 2, update);
         s.staleness = 1;
       },
       "2 weight versions are needed; 1 are declared"},
      {"the optimizer runs before the last gradient", plain,
       [](Schedule& s) { std::iter_swap(list(s, 1).end() - 1, list(s, 1).end() - 2); },
       "device 1: 1 gradients come behind its last optimizer"},
      {"an update is skipped", plain, [](Schedule& s) { list(s, 1).back().version = 2; },
       "the next weight version is 1"},
  });
}

TEST(Verify, FindsWrongTransfers) {
  expect_found({
      {"two sends of a link change places", listed,
       [](Schedule& s) { swap_ops(s, 0, Kind::kSend, 0, Kind::kSend, 1); },
       "the orders of the two devices differ"},
      {"a send is left out", listed,
       [](Schedule& s) { list(s, 0).erase(find(s, 0, Kind::kSend, 7)); },
       "device 0 sends 7 times to device 1, which receives 8 times"},
      {"a receive stands behind the pass that needs it", listed,
       [](Schedule& s) { swap_ops(s, 1, Kind::kReceive, 0, Kind::kForward, 0); },
       "stands behind what needs it"},
      {"a send stands before the pass that makes it", listed,
       [](Schedule& s) { swap_ops(s, 1, Kind::kSend, 7, Kind::kForward, 7); },
       "stands before what makes it"},
      {"a transfer is left out on both sides", listed,
       [](Schedule& s) {
         list(s, 0).erase(find(s, 0, Kind::kSend, 7));
         list(s, 1).erase(find(s, 1, Kind::kReceive, 7));
       },
       "micro-batch 7, chunk 0: what its forward pass makes is never sent"},
      {"a transfer in a schedule that implies them", plain,
       [](Schedule& s) { list(s, 0)[0].kind = Kind::kSend; }, "does not declare listed_transfers"},
  });
}

TEST(Verify, FindsWrongShapes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  expect_found({
      {"a time that is no number", plain, [](Schedule& s) { list(s, 0)[0].seconds = kNan; },
       "device 0, operation 0 (forward): it takes nan s"},
      {"a micro-batch that does not exist", plain,
       [](Schedule& s) { list(s, 0)[3].work.micro_batch = 8; }, "does not exist"},
      {"a route to nowhere", plain, [](Schedule& s) { s.routes[0][2] = 4; },
       "routes[0] names device 4"},
      {"more works than operations", plain, [](Schedule& s) { s.slices = 4096; }, "operations for"},
      {"too few activations", plain, [](Schedule& s) { s.activation.pop_back(); },
       "activation has 3 entries; 4 are needed"},
      {"a codec that does not exist", listed,
       [](Schedule& s) { find(s, 0, Kind::kSend, 0)->codec = 2; }, "codec 2 does not exist"},
      {"a program is missing", plain,
       [](Schedule& s) {
         s.programs.pop_back();
         s.micro_batches = 1;
       },
       "there are 3 programs for 4 devices"},
  });
}

}  // namespace
}  // namespace weft::pipeline

#include <algorithm>
#include <array>

#include "base/check.h"
#include "pipeline/builder.h"
#include "pipeline/generators.h"
#include "pipeline/weights.h"

namespace weft::pipeline {
namespace {

// Each device holds a chunk of the way out and one of the way back. One micro-batch is a block: its
// passes at fixed times, `offset` units from device to device in each of the four legs (out, back,
// back's backward, out's backward). Blocks follow each other every six units, so a device runs
// without conflict if its four passes differ modulo 6; the two weight gradients take what is left.
// Longer offsets keep activations longer: a device holds (legs' sum * p / 6) of them.
constexpr int kPeriod = 6;

struct Block {
  std::array<int, 4> offset;
  std::array<int, 4> begin;  // of each leg on the device where it begins
};

// The time of a leg's pass on a device. Legs 0 and 2 begin at device 0, legs 1 and 3 at the last.
int time_of(const Block& block, std::size_t leg, int device, int devices) {
  const int along = leg % 2 == 0 ? device : devices - 1 - device;
  return block.begin[leg] + block.offset[leg] * along;
}

bool conflict(const Block& block, std::size_t leg, int devices) {
  for (int d = 0; d < devices; ++d) {
    for (std::size_t other = 0; other < leg; ++other) {
      const int apart = time_of(block, leg, d, devices) - time_of(block, other, d, devices);
      if (apart % kPeriod == 0) return true;
    }
  }
  return false;
}

// Lets each leg begin as soon as the one before has ended and nothing collides.
Block make_block(std::array<int, 4> offset, int devices) {
  Block block{offset, {}};
  for (std::size_t leg = 1; leg < 4; ++leg) {
    // The device on which this leg begins is where the one before ends.
    const int turn = leg % 2 == 1 ? devices - 1 : 0;
    block.begin[leg] = time_of(block, leg - 1, turn, devices) + 1;
    const int last = block.begin[leg] + kPeriod;
    while (conflict(block, leg, devices)) CHECK(++block.begin[leg] < last);
  }
  return block;
}

// The first unit from `from` on that no leg takes on a device, nor `taken`.
int free_from(const Block& block, int from, int taken, int device, int devices) {
  const auto clash = [&](int at) {
    bool any = (at - taken) % kPeriod == 0;
    for (std::size_t leg = 0; leg < 4; ++leg) {
      any = any || (at - time_of(block, leg, device, devices)) % kPeriod == 0;
    }
    return any;
  };
  while (clash(from)) ++from;
  return from;
}

// The most activations (chunks, each for half a device's share) that a device holds when blocks
// follow each other for ever and weight gradients take the units that are left.
int most_held(const Block& block, int devices) {
  int most = 0;
  for (int d = 0; d < devices; ++d) {
    const int back = time_of(block, 2, d, devices);
    const int out = time_of(block, 3, d, devices);
    const int first = free_from(block, back + 1, back, d, devices);
    const int second = free_from(block, out + 1, first, d, devices);
    for (int at = 0; at < kPeriod; ++at) {
      // Blocks that have begun the forward pass and not ended the weight gradient.
      const auto held = [&](int from, int until) {
        const int begun = (at - from + 1000 * kPeriod) / kPeriod;
        return begun - (at - until - 1 + 1000 * kPeriod) / kPeriod;
      };
      most = std::max(most, held(time_of(block, 0, d, devices), second) +
                                held(time_of(block, 1, d, devices), first));
    }
  }
  return most;
}

Schedule v_shape(const char* name, const Request& request, std::array<int, 4> offset) {
  Schedule s = empty_schedule(name, request, 2);
  const int p = s.devices;
  s.routes[0] = folded_route(p, s.chunks);
  const Block block = make_block(offset, p);
  for (int d = 0; d < p; ++d) {
    struct Pass {
      int at;
      Kind kind;
      Work work;
    };
    std::vector<Pass> passes;
    for (int m = 0; m < s.micro_batches; ++m) {
      for (std::size_t leg = 0; leg < 4; ++leg) {
        const bool out = leg == 0 || leg == 3;
        passes.push_back({time_of(block, leg, d, p) + m * kPeriod,
                          leg < 2 ? Kind::kForward : Kind::kBackwardInput,
                          {m, out ? d : 2 * p - 1 - d}});
      }
    }
    std::sort(passes.begin(), passes.end(),
              [](const Pass& a, const Pass& b) { return a.at < b.at; });
    for (const Pass& pass : passes) add(s, d, pass.kind, pass.work);
  }
  const Costs unit = even_costs(s, {});
  return finished(with_weight_gradients(std::move(s), unit, most_held(block, p) / 2.0));
}

}  // namespace

Schedule zb_v(const Request& request) { return v_shape("zb-v", request, {4, 2, 4, 2}); }
Schedule v_half(const Request& request) { return v_shape("v-half", request, {2, 1, 2, 1}); }
Schedule v_min(const Request& request) { return v_shape("v-min", request, {1, 1, 1, 1}); }

}  // namespace weft::pipeline

#include "pipeline/v_shape.h"

#include <algorithm>
#include <vector>

#include "pipeline/builder.h"

namespace weft::pipeline {
namespace {

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
std::optional<Block> make_block(const std::array<int, 4>& offset, int devices) {
  Block block{offset, {}};
  for (std::size_t leg = 1; leg < 4; ++leg) {
    // The device on which this leg begins is where the one before ends.
    const int turn = leg % 2 == 1 ? devices - 1 : 0;
    block.begin[leg] = time_of(block, leg - 1, turn, devices) + 1;
    const int last = block.begin[leg] + kPeriod;
    while (conflict(block, leg, devices)) {
      if (++block.begin[leg] == last) return {};
    }
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

}  // namespace

std::optional<VShape> make_v_shape(const Request& request, const std::array<int, 4>& offset) {
  Schedule s = empty_schedule("v-shape", request, 2);
  const int p = s.devices;
  s.routes[0] = folded_route(p, s.chunks);
  const std::optional<Block> block = make_block(offset, p);
  if (!block) return {};
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
        passes.push_back({time_of(*block, leg, d, p) + m * kPeriod,
                          leg < 2 ? Kind::kForward : Kind::kBackwardInput,
                          {m, out ? d : 2 * p - 1 - d}});
      }
    }
    std::sort(passes.begin(), passes.end(),
              [](const Pass& a, const Pass& b) { return a.at < b.at; });
    for (const Pass& pass : passes) add(s, d, pass.kind, pass.work);
  }
  return VShape{std::move(s), most_held(*block, p) / 2.0};
}

}  // namespace weft::pipeline

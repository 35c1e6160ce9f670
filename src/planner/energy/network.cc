#include "planner/energy/network.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/index.h"

namespace weft::planner {
namespace {

using pipeline::Kind;
using pipeline::kNone;
using pipeline::Op;
using pipeline::Work;

class Builder {
 public:
  Builder(const pipeline::Schedule& schedule, const pipeline::Index& index, double tick_s)
      : s_(schedule), x_(index), tick_s_(tick_s) {
    net_.events = 2 + 2 * static_cast<int>(x_.ops.size());
  }

  PipelineNetwork build() {
    for (std::size_t d = 0; d < s_.programs.size(); ++d) {
      auto& numbers = net_.of_op.emplace_back();
      int last = 0;
      for (std::int32_t o = x_.first[d]; o < x_.first[d + 1]; ++o) {
        arc(last, begin(o), 0);
        numbers.push_back(static_cast<int>(net_.activities.size()));
        net_.activities.push_back({begin(o), end(o), {}, {}});
        last = end(o);
      }
      arc(last, 1, 0);
    }
    for (std::size_t o = 0; o < x_.ops.size(); ++o) data(static_cast<std::int32_t>(o));
    for (std::size_t d = 0; d < s_.programs.size(); ++d) updates(d);
    return std::move(net_);
  }

 private:
  static int begin(std::int32_t o) { return 2 + 2 * o; }
  static int end(std::int32_t o) { return 3 + 2 * o; }

  void arc(int from, int to, std::int64_t ticks) {
    net_.activities.push_back({from, to, {ticks}, {}});
  }

  // What an operation makes for other chunks, in the order of the device's list.
  void data(std::int32_t o) {
    const Op& op = *x_.ops[static_cast<std::size_t>(o)];
    if (runs_forward(op.kind)) feed(o, op.work, 1, x_.forward);
    if (runs_backward(op.kind)) feed(o, backward_work(op), -1, x_.backward);
  }

  void feed(std::int32_t o, const Work& work, int step, const std::vector<std::int32_t>& passes) {
    const Work next{work.micro_batch, work.chunk + step, work.slice};
    if (next.chunk < 0 || next.chunk >= s_.chunks) return;
    const std::int32_t needs = passes[s_.number(next)];
    const std::pair<int, int> link{s_.device(work), s_.device(next)};
    if (link.first == link.second || s_.transfer_seconds.empty()) {
      arc(end(o), begin(needs), 0);
      return;
    }
    const double seconds =
        s_.transfer_seconds[static_cast<std::size_t>(std::min(work.chunk, next.chunk))];
    const int sent = net_.events, arrived = net_.events + 1;
    net_.events += 2;
    arc(end(o), sent, 0);
    arc(sent, arrived, std::llround(seconds / tick_s_));
    arc(arrived, begin(needs), 0);
    const auto [before, first] = links_.try_emplace(link, arrived);
    if (!first) {
      arc(before->second, sent, 0);
      before->second = arrived;
    }
  }

  // Devices that hold the same chunks update them together.
  void updates(std::size_t d) {
    for (std::size_t k = 0; k < x_.optimizers[d].size(); ++k) {
      for (const int sharer : x_.sharers[d]) {
        const auto other = static_cast<std::size_t>(sharer);
        if (k >= x_.optimizers[other].size()) continue;
        const std::int32_t before = x_.optimizers[other][k] - 1;
        if (before >= x_.first[other]) arc(end(before), begin(x_.optimizers[d][k]), 0);
      }
    }
  }

  const pipeline::Schedule& s_;
  const pipeline::Index& x_;
  double tick_s_;
  PipelineNetwork net_;
  std::map<std::pair<int, int>, int> links_;  // the last transfer's arrival on each
};

}  // namespace

Result<PipelineNetwork> network_of(const pipeline::Schedule& schedule, double tick_s) {
  const auto index = pipeline::index_schedule(schedule);
  if (!index.ok()) return index.error();
  for (const Op* op : index->ops) {
    if (computes(op->kind)) continue;
    return Error{ErrorKind::kUnsupported,
                 "the schedule lists " + std::string(name_of(op->kind)) +
                     " operations; the frontier is found for implied transfers only",
                 "leave out listed transfers and offload"};
  }
  return Builder(schedule, *index, tick_s).build();
}

}  // namespace weft::planner

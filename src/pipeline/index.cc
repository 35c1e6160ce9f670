#include "pipeline/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "pipeline/faults.h"
#include "pipeline/shape.h"

namespace weft::pipeline {
namespace {

class Builder {
 public:
  explicit Builder(const Schedule& schedule) : s_(schedule) {}

  Result<Index> build() {
    number_operations();
    for (std::size_t o = 0; o < index_.ops.size(); ++o) {
      if (const Status status = file(static_cast<std::int32_t>(o)); !status.ok()) {
        return status.error();
      }
    }
    for (Status (Builder::*check)() : {&Builder::check_complete, &Builder::check_order,
                                       &Builder::check_slices, &Builder::pair_transfers}) {
      if (const Status status = (this->*check)(); !status.ok()) return status.error();
    }
    find_sharers();
    return std::move(index_);
  }

 private:
  using List = std::vector<std::int32_t>;

  void number_operations() {
    for (const auto& program : s_.programs) {
      index_.first.push_back(static_cast<std::int32_t>(index_.ops.size()));
      for (const Op& op : program) {
        index_.ops.push_back(&op);
        index_.device.push_back(static_cast<std::int32_t>(index_.first.size()) - 1);
      }
    }
    index_.first.push_back(static_cast<std::int32_t>(index_.ops.size()));
    index_.optimizers.resize(s_.programs.size());
    for (List* list : {&index_.forward, &index_.backward, &index_.gradient, &index_.recompute,
                       &index_.offload, &index_.reload}) {
      list->assign(s_.works(), kNone);
    }
  }

  std::string where(std::int32_t o) const {
    const auto number = static_cast<std::size_t>(o);
    const std::int32_t device = index_.device[number];
    return fmt::format("device {}, operation {} ({})", device,
                       o - index_.first[static_cast<std::size_t>(device)],
                       describe(s_, *index_.ops[number]));
  }

  Status put(List& list, const Work& work, std::int32_t o, std::string_view what) {
    std::int32_t& place = list[s_.number(work)];
    if (place != kNone) {
      return fault(
          fmt::format("{}: {} has its {} a second time", where(o), describe(s_, work), what));
    }
    if (s_.device(work) != index_.device[static_cast<std::size_t>(o)]) {
      return fault(
          fmt::format("{}: {} is on device {}", where(o), describe(s_, work), s_.device(work)));
    }
    place = o;
    return {};
  }

  Status file(std::int32_t o) {
    const Op& op = *index_.ops[static_cast<std::size_t>(o)];
    const Work& back = backward_work(op);
    Status status;
    if (runs_forward(op.kind)) status = put(index_.forward, op.work, o, "forward pass");
    if (status.ok() && runs_backward(op.kind)) {
      status = put(index_.backward, back, o, "backward pass");
    }
    if (status.ok() && makes_gradient(op.kind)) {
      status = put(index_.gradient, back, o, "weight gradient");
    }
    if (!status.ok()) return status;
    if (op.kind == Kind::kRecompute) return put(index_.recompute, op.work, o, "recomputation");
    if (op.kind == Kind::kOffload) return put(index_.offload, op.work, o, "offload");
    if (op.kind == Kind::kReload) return put(index_.reload, op.work, o, "reload");
    if (op.kind == Kind::kOptimizer) {
      index_.optimizers[static_cast<std::size_t>(index_.device[static_cast<std::size_t>(o)])]
          .push_back(o);
    }
    return {};
  }

  template <typename Visit>
  Status each_work(Visit visit) const {
    for (Work work; work.micro_batch < s_.micro_batches; ++work.micro_batch) {
      for (work.chunk = 0; work.chunk < s_.chunks; ++work.chunk) {
        for (work.slice = 0; work.slice < s_.slices; ++work.slice) {
          if (const Status status = visit(work, s_.number(work)); !status.ok()) return status;
        }
      }
    }
    return {};
  }

  Status check_complete() {
    return each_work([&](const Work& work, std::size_t n) -> Status {
      const auto lacks = [&](std::string_view what) {
        return fault(
            fmt::format("{} (device {}) has no {}", describe(s_, work), s_.device(work), what));
      };
      if (index_.forward[n] == kNone) return lacks("forward pass");
      if (index_.backward[n] == kNone) return lacks("backward pass");
      if (index_.gradient[n] == kNone) return lacks("weight gradient");
      if (index_.offload[n] != kNone && index_.reload[n] == kNone) return lacks("reload");
      if (index_.reload[n] != kNone && index_.offload[n] == kNone) return lacks("offload");
      if (index_.offload[n] != kNone && op(index_.offload[n]).peer != op(index_.reload[n]).peer) {
        return fault(where(index_.reload[n]) + ": the offload went to another place");
      }
      return {};
    });
  }

  // All of a work's operations are on one device, so the numbers tell the order.
  Status check_order() {
    return each_work([&](const Work&, std::size_t n) -> Status {
      const std::int32_t chain[] = {index_.forward[n],   index_.offload[n],  index_.reload[n],
                                    index_.recompute[n], index_.backward[n], index_.gradient[n]};
      std::int32_t last = kNone;
      for (const std::int32_t o : chain) {
        if (o == kNone) continue;
        if (o < last) {
          return fault(fmt::format("{} stands before {}, which it needs", where(o), where(last)));
        }
        last = o;
      }
      if (index_.forward[n] == index_.backward[n]) {
        return fault(where(index_.forward[n]) + ": a pass is overlapped with its own backward");
      }
      return {};
    });
  }

  Status check_slices() {
    return each_work([&](const Work& work, std::size_t n) -> Status {
      if (work.slice == 0) return {};
      if (index_.forward[n] < index_.forward[n - 1]) {
        return fault(where(index_.forward[n]) + " stands before the slice in front of it");
      }
      if (index_.backward[n] > index_.backward[n - 1]) {
        return fault(where(index_.backward[n - 1]) + " stands before the slice behind it");
      }
      return {};
    });
  }

  const Op& op(std::int32_t o) const { return *index_.ops[static_cast<std::size_t>(o)]; }

  // The n-th send from A to B meets the n-th receive from A at B.
  Status pair_transfers() {
    if (!s_.listed_transfers) return {};
    index_.mate.assign(index_.ops.size(), kNone);
    std::map<std::pair<int, int>, std::pair<List, List>> pairs;
    for (std::size_t o = 0; o < index_.ops.size(); ++o) {
      const Op& one = *index_.ops[o];
      const int device = index_.device[o];
      if (one.kind == Kind::kSend) {
        pairs[{device, one.peer}].first.push_back(static_cast<std::int32_t>(o));
      } else if (one.kind == Kind::kReceive) {
        pairs[{one.peer, device}].second.push_back(static_cast<std::int32_t>(o));
      }
    }
    std::size_t transfers = 0;
    for (const auto& [ends, lists] : pairs) {
      const auto& [sends, receives] = lists;
      for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
        if (const Status status = join(sends[i], receives[i]); !status.ok()) return status;
      }
      if (sends.size() != receives.size()) {
        return fault(fmt::format("device {} sends {} times to device {}, which receives {} times",
                                 ends.first, sends.size(), ends.second, receives.size()));
      }
      transfers += sends.size();
    }
    return check_transfers(transfers);
  }

  Status join(std::int32_t send, std::int32_t receive) {
    const Op& from = op(send);
    const Op& to = op(receive);
    Work next = from.work;
    next.chunk += from.flow == Flow::kForward ? 1 : -1;
    if (!(to.work == next) || to.flow != from.flow) {
      return fault(fmt::format("{} meets {}: the orders of the two devices differ", where(send),
                               where(receive)));
    }
    index_.mate[static_cast<std::size_t>(send)] = receive;
    index_.mate[static_cast<std::size_t>(receive)] = send;
    const bool forward = from.flow == Flow::kForward;
    const List& passes = forward ? index_.forward : index_.backward;
    const std::int32_t made = passes[s_.number(from.work)];
    const std::int32_t used = passes[s_.number(to.work)];
    if (index_.device[static_cast<std::size_t>(made)] !=
            index_.device[static_cast<std::size_t>(send)] ||
        index_.device[static_cast<std::size_t>(used)] !=
            index_.device[static_cast<std::size_t>(receive)]) {
      return fault(where(send) + ": another device has it, or needs it");
    }
    if (made > send) return fault(where(send) + " stands before what makes it");
    if (used < receive) return fault(where(receive) + " stands behind what needs it");
    if (!joined_.insert({from.work.micro_batch, from.work.chunk, from.work.slice, forward})
             .second) {
      return fault(where(send) + ": it is sent a second time");
    }
    return {};
  }

  Status check_transfers(std::size_t transfers) const {
    std::size_t needed = 0;
    const Status status = each_work([&](const Work& work, std::size_t) -> Status {
      if (work.chunk + 1 == s_.chunks) return {};
      const Work next{work.micro_batch, work.chunk + 1, work.slice};
      if (s_.device(work) == s_.device(next)) return {};
      needed += 2;
      for (const bool forward : {true, false}) {
        const Work& from = forward ? work : next;
        if (!joined_.contains({from.micro_batch, from.chunk, from.slice, forward})) {
          return fault(fmt::format("{}: what its {} pass makes is never sent", describe(s_, from),
                                   forward ? "forward" : "backward"));
        }
      }
      return {};
    });
    if (status.ok() && needed != transfers) return fault("a transfer stays on its device");
    return status;
  }

  void find_sharers() {
    std::vector<std::set<int>> sets(s_.programs.size());
    for (std::size_t c = 0; c < static_cast<std::size_t>(s_.chunks); ++c) {
      for (std::size_t r = 1; r < s_.routes.size(); ++r) {
        for (std::size_t q = 0; q < r; ++q) {
          const int a = s_.routes[q][c];
          const int b = s_.routes[r][c];
          if (a == b) continue;
          sets[static_cast<std::size_t>(a)].insert(b);
          sets[static_cast<std::size_t>(b)].insert(a);
        }
      }
    }
    for (const auto& set : sets) index_.sharers.emplace_back(set.begin(), set.end());
  }

  const Schedule& s_;
  Index index_;
  std::set<std::tuple<int, int, int, bool>> joined_;
};

}  // namespace

Result<Index> index_schedule(const Schedule& schedule) {
  if (const Status status = check_shape(schedule); !status.ok()) return status.error();
  return Builder(schedule).build();
}

}  // namespace weft::pipeline

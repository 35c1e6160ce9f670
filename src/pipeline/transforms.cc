#include "pipeline/transforms.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace weft::pipeline {
namespace {

Op transfer_op(Kind kind, Flow flow, const Work& work, int peer) {
  Op op;
  op.kind = kind;
  op.flow = flow;
  op.work = work;
  op.peer = peer;
  return op;
}

class Lister {
 public:
  Lister(const Schedule& schedule, int codec)
      : s_(schedule), codec_(codec), places_(2 * schedule.works()) {}

  std::vector<std::vector<Op>> run() {
    for (int d = 0; d < s_.devices; ++d) {
      for (const Op& op : s_.programs[static_cast<std::size_t>(d)]) each_output(d, op);
    }
    std::vector<std::vector<Op>> programs;
    for (int d = 0; d < s_.devices; ++d) programs.push_back(listed(d));
    return programs;
  }

 private:
  struct Sent {
    Flow flow;
    Work work;  // of who needs it
  };

  // Its place in the order of its link.
  std::size_t& place(const Sent& sent) {
    return places_[2 * s_.number(sent.work) + (sent.flow == Flow::kForward ? 0 : 1)];
  }

  template <typename Visit>
  void each_end(int device, const Op& op, bool output, Visit visit) const {
    const auto one = [&](Flow flow, const Work& work) {
      const int ahead = (flow == Flow::kForward) == output ? 1 : -1;
      const Work next{work.micro_batch, work.chunk + ahead, work.slice};
      if (next.chunk < 0 || next.chunk >= s_.chunks || s_.device(next) == device) return;
      visit(flow, work, next);
    };
    if (runs_forward(op.kind)) one(Flow::kForward, op.work);
    if (runs_backward(op.kind)) one(Flow::kBackward, backward_work(op));
  }

  void each_output(int device, const Op& op) {
    each_end(device, op, true, [&](Flow flow, const Work&, const Work& next) {
      auto& order = order_[{device, s_.device(next)}];
      place({flow, next}) = order.size();
      order.push_back({flow, next});
    });
  }

  std::vector<Op> listed(int device) {
    std::vector<Op> list;
    std::map<int, std::size_t> received;  // by sender: how many so far
    for (const Op& op : s_.programs[static_cast<std::size_t>(device)]) {
      each_end(device, op, false, [&](Flow flow, const Work& work, const Work& from) {
        receive_until(list, received, device, s_.device(from), {flow, work});
      });
      list.push_back(op);
      each_end(device, op, true, [&](Flow flow, const Work& work, const Work& next) {
        Op send = transfer_op(Kind::kSend, flow, work, s_.device(next));
        send.codec = codec_;
        if (!s_.transfer_seconds.empty()) {
          send.seconds =
              s_.transfer_seconds[static_cast<std::size_t>(std::min(work.chunk, next.chunk))];
        }
        list.push_back(send);
      });
    }
    return list;
  }

  void receive_until(std::vector<Op>& list, std::map<int, std::size_t>& received, int device,
                     int from, const Sent& wanted) {
    const auto& order = order_[{from, device}];
    for (std::size_t& next = received[from]; next <= place(wanted); ++next) {
      list.push_back(transfer_op(Kind::kReceive, order[next].flow, order[next].work, from));
    }
  }

  const Schedule& s_;
  int codec_;
  std::vector<std::size_t> places_;
  std::map<std::pair<int, int>, std::vector<Sent>> order_;  // what each device sends to each
};

}  // namespace

Schedule with_recomputation(Schedule s, double checkpoint_part) {
  s.checkpoint_part = checkpoint_part;
  std::vector<const Op*> forward(s.works());
  const Schedule before = s;
  for (const auto& program : before.programs) {
    for (const Op& op : program) {
      if (op.kind == Kind::kForward) forward[s.number(op.work)] = &op;
    }
  }
  for (auto& program : s.programs) {
    std::vector<Op> list;
    for (const Op& op : program) {
      const bool backward = op.kind == Kind::kBackward || op.kind == Kind::kBackwardInput;
      if (backward && forward[s.number(op.work)] != nullptr) {
        list.push_back(*forward[s.number(op.work)]);
        list.back().kind = Kind::kRecompute;
      }
      list.push_back(op);
    }
    program = std::move(list);
  }
  return s;
}

Schedule with_listed_transfers(const Schedule& schedule, const std::string& codec) {
  Schedule s = schedule;
  if (!codec.empty()) s.codecs.push_back(codec);
  s.programs = Lister(schedule, static_cast<int>(s.codecs.size())).run();
  s.transfer_seconds.clear();
  s.listed_transfers = true;
  return s;
}

}  // namespace weft::pipeline

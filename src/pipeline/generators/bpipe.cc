#include <deque>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

// One early stage: its list of 1F1B, with activations parked on the partner while there are more
// than `room`. What is needed last is parked first, and comes back as soon as a backward pass has
// made room.
std::vector<Op> parked(const std::vector<Op>& program, int partner, std::size_t room) {
  std::vector<Op> out;
  std::deque<Op> here, away;  // forward passes, oldest first; all of `here` is older
  const auto move = [&](Op op, Kind kind) {
    op.kind = kind;
    op.peer = partner;
    op.seconds = op.joules = 0;
    out.push_back(op);
  };
  for (const Op& op : program) {
    if (op.kind == Kind::kForward) {
      if (here.size() == room) {
        move(here.back(), Kind::kOffload);
        away.push_back(here.back());
        here.pop_back();
      }
      here.push_back(op);
    }
    out.push_back(op);
    if (op.kind != Kind::kBackward) continue;
    here.pop_front();
    const bool next_is_away = !away.empty() && (here.empty() || away.front().work.micro_batch <
                                                                    here.front().work.micro_batch);
    if (next_is_away) {
      move(away.front(), Kind::kReload);
      here.push_front(away.front());
      away.pop_front();
    }
  }
  return out;
}

}  // namespace

// Stage x and stage p-1-x hold p+1 activations together; each gets room for half.
Schedule bpipe(const Request& request) {
  Schedule s = one_f_one_b(request);
  s.name = "bpipe";
  const int room = (s.devices + 3) / 2;
  for (int d = 0; d < s.devices / 2; ++d) {
    auto& program = s.programs[static_cast<std::size_t>(d)];
    program = parked(program, s.devices - 1 - d, static_cast<std::size_t>(room));
  }
  s.limits.assign(static_cast<std::size_t>(s.devices), room);
  return s;
}

}  // namespace weft::pipeline

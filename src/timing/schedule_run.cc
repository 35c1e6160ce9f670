#include "timing/schedule_run.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "timing/lanes.h"

namespace weft {

using collective::Op;
using collective::Round;

namespace {

std::vector<double> speeds(const Topology& topology) {
  std::vector<double> speed;
  speed.reserve(topology.links.size());
  for (const DirectedLink& link : topology.links) speed.push_back(link.bytes_per_s);
  return speed;
}

}  // namespace

ScheduleRun::ScheduleRun(const ScheduleTask& task)
    : task_(task),
      schedule_(*task.schedule),
      sim_(speeds(*task.topology)),
      routes_(*task.topology, task.paths, [this](LinkId link) { return sim_.solver().load(link); }),
      hazards_(*task.schedule) {
  CHECK(task.placement.vertex.size() == static_cast<std::size_t>(schedule_.endpoints()));
  for (int endpoint = 0; endpoint < schedule_.endpoints(); ++endpoint) {
    const auto& program = schedule_.programs[static_cast<std::size_t>(endpoint)];
    for (int stream = 0; stream < schedule_.streams(); ++stream) {
      lanes_.emplace_back(program.streams[static_cast<std::size_t>(stream)], endpoint, stream);
    }
  }
}

void ScheduleRun::set_timer(Seconds at, Timer timer) {
  timers_.try_emplace(at).first->second.push_back(timer);
}

// Which receives bring what each streamed send forwards.
void ScheduleRun::find_groups(Lane& lane) {
  const Round& round = lane.cursor.round();
  groups_.assign(round.ops.size(), kNobody);
  lane.forward.clear();
  if (std::none_of(round.ops.begin(), round.ops.end(), [](const Op& op) { return op.streamed; })) {
    return;
  }
  CHECK(hazards_.check(lane.endpoint, round, lane.cursor.iteration()).empty());
  const std::vector<int>& first = hazards_.groups();
  groups_.assign(first.begin(), first.end());
  lane.forward.resize(round.ops.size());
}

// Posts the operations of the lane's round. Rounds without any end at once.
void ScheduleRun::enter(std::uint32_t id) {
  Lane& lane = lanes_[id];
  const Round& round = lane.cursor.round();
  find_groups(lane);
  ++lane.open;  // holds the round open while its operations are posted
  for (std::size_t i = 0; i < round.ops.size(); ++i) {
    const Op& op = round.ops[i];
    const bool receives =
        op.kind == collective::Kind::kReceive || op.kind == collective::Kind::kReceiveReduce;
    if (receives) post_receive(id, op, groups_[i]);
  }
  for (std::size_t i = 0; i < round.ops.size(); ++i) {
    if (round.ops[i].kind == collective::Kind::kSend)
      post_send(id, round.ops[i], groups_[i], round.density);
  }
  close_one(id);
}

// Whether peers and bytes are the same in every iteration of the round.
bool ScheduleRun::steady(const Round& round) {
  const auto [at, fresh] = steady_.try_emplace(&round, true);
  if (!fresh) return at->second;
  for (const Op& op : round.ops) {
    const bool talks = op.kind != collective::Kind::kCopy && op.kind != collective::Kind::kReduce;
    if (talks && op.peer.advance % op.peer.modulus != 0) at->second = false;
  }
  return at->second;
}

// All lanes stand at the beginning of a round, as they did one iteration ago.
bool ScheduleRun::repeats_itself() const {
  if (together_at_ < 0 || last_active_ != active_ || task_.record) return false;
  return std::all_of(ready_.begin(), ready_.end(), [&](std::uint32_t id) {
    const Lane& lane = lanes_[id];
    return &lane.cursor.round() == lane.last_round &&
           lane.cursor.iteration() == lane.last_iteration + 1;
  });
}

void ScheduleRun::skip_repeats() {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t id : ready_) {
    left = std::min(left, lanes_[id].cursor.left_in_entry());
    const auto endpoint = static_cast<std::size_t>(lanes_[id].endpoint);
    const bool even =
        schedule_.chunks.list.empty() && schedule_.programs[endpoint].scratch.list.empty();
    if (!even || !steady(lanes_[id].cursor.round())) return;
  }
  if (left <= 0) return;
  for (std::uint32_t id : ready_) lanes_[id].cursor.skip(left);
  std::vector<FlowId> none;
  const auto times = static_cast<double>(left);
  sim_.advance_to(sim_.now() + times * (sim_.now() - together_at_), none);
  out_.messages += times * round_messages_;
  out_.bytes += times * round_bytes_;
}

// Lanes whose round has ended go on with their next.
void ScheduleRun::advance_ready() {
  while (!ready_.empty()) {
    std::erase_if(ready_, [&](std::uint32_t id) {
      Lane& lane = lanes_[id];
      if (lane.cursor.done()) return true;
      lane.cursor.next();
      if (!lane.cursor.done()) return false;
      --active_;
      return true;
    });
    if (ready_.size() == active_ && active_ > 0 && timers_.empty()) {
      if (repeats_itself()) skip_repeats();
      for (std::uint32_t id : ready_) {
        lanes_[id].last_round = &lanes_[id].cursor.round();
        lanes_[id].last_iteration = lanes_[id].cursor.iteration();
      }
      together_at_ = sim_.now();
      last_active_ = active_;
      out_.messages += round_messages_;
      out_.bytes += round_bytes_;
      round_messages_ = round_bytes_ = 0;
    }
    const std::vector<std::uint32_t> now = std::move(ready_);
    ready_.clear();
    for (std::uint32_t id : now) enter(id);
  }
}

void ScheduleRun::fire(const std::vector<Timer>& timers) {
  for (const Timer& timer : timers) {
    switch (timer.what) {
      case Wake::kLaunch:
        launch(timer.id);
        break;
      case Wake::kComplete:
        complete(timer.id);
        break;
      case Wake::kEnter:
        enter(timer.id);
        break;
    }
  }
}

ScheduleTime ScheduleRun::run() {
  for (std::uint32_t id = 0; id < lanes_.size(); ++id) {
    if (lanes_[id].cursor.done()) continue;
    ++active_;
    const auto rank = static_cast<std::size_t>(lanes_[id].endpoint);
    set_timer(rank < task_.late.size() ? task_.late[rank] : 0, {Wake::kEnter, id});
  }
  std::vector<FlowId> ended;
  while (true) {
    const Seconds timer = timers_.empty() ? kNever : timers_.begin()->first;
    const Seconds at = std::min(timer, sim_.next_end());
    if (at == kNever) break;
    sim_.advance_to(at, ended);
    for (FlowId flow : ended) {
      if (--messages_[of_flow_[flow]].flows_left == 0) arrived(of_flow_[flow]);
    }
    if (timer <= at) {
      const auto node = timers_.extract(timers_.begin());
      fire(node.mapped());
    }
    advance_ready();
    if (task_.max_messages > 0 && out_.executed_messages > task_.max_messages) {
      out_.gave_up = true;
      return std::move(out_);
    }
  }
  CHECK(active_ == 0);  // a verified schedule ends
  out_.messages += round_messages_;
  out_.bytes += round_bytes_;
  out_.time_s = sim_.now();
  for (const Lane& lane : lanes_) out_.rounds = std::max(out_.rounds, lane.cursor.number());
  return std::move(out_);
}

ScheduleTime run_schedule(const ScheduleTask& task) { return ScheduleRun(task).run(); }

}  // namespace weft

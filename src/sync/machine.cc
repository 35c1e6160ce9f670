#include "sync/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sync/mixing.h"
#include "sync/sampling.h"

namespace weft::sync {

std::uint64_t newcomer_round(const std::vector<Member>& members) {
  std::uint64_t least = kUnbounded;
  for (const Member& member : members) {
    if (!member.joining) least = std::min(least, member.round);
  }
  return least == kUnbounded ? 0 : least;
}

Result<Machine> Machine::make(const Mode& mode, std::vector<Member> members, std::uint32_t self,
                              std::uint32_t epoch) {
  bool own_steps = false;
  for (const Member& member : members) {
    if (!(member.weight > 0) || !std::isfinite(member.weight)) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the weight of rank {} is {}; it must be a number above 0",
                               member.rank, member.weight),
                   ""};
    }
    own_steps = own_steps || member.steps != 0;
  }
  if (own_steps && (mode.exchange != Exchange::kDeltas || mode.fragments > 1 || mode.overlap > 0 ||
                    mode.eager || mode.adaptive || mode.threshold > 0 || mode.group > 0)) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("sync mode '{}' cannot have ranks with their own numbers of steps",
                             mode_text(mode)),
                 "fedavg, fednova, fedprox, scaffold, fedadam, slowmo and plain local can"};
  }
  if (mode.backup >= members.size()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("backup is {}; with {} ranks it must be at most {}", mode.backup,
                             members.size(), members.size() - 1),
                 "leave more ranks whose gradients count"};
  }
  Machine machine;
  machine.mode_ = mode;
  machine.set_members(std::move(members));
  machine.self_ = self;
  machine.epoch_ = epoch;
  machine.period_ = mode.period;
  machine.plan_rounds();
  return machine;
}

void Machine::set_members(std::vector<Member> members) {
  members_ = std::move(members);
  ranks_.clear();
  total_weight_ = 0;
  for (const Member& member : members_) {
    ranks_.push_back(member.rank);
    total_weight_ += member.weight;
  }
}

std::size_t Machine::place() const {
  const auto at =
      std::lower_bound(members_.begin(), members_.end(), self_,
                       [](const Member& m, std::uint32_t rank) { return m.rank < rank; });
  CHECK_MSG(at != members_.end() && at->rank == self_, "this rank is not among the members");
  return static_cast<std::size_t>(at - members_.begin());
}

const Member& Machine::me() const { return members_[place()]; }

std::uint32_t Machine::own_period() const { return me().steps > 0 ? me().steps : period_; }

// 0 in a round to which this rank was not chosen.
double Machine::weight_now() const {
  if (mode_.participation >= 1) return me().weight;
  const auto chosen = participants(mode_.seed, round_, members_.size(), mode_.participation);
  return chosen[place()] ? me().weight : 0;
}

void Machine::plan_rounds() {
  const std::uint64_t begin = std::max<std::uint64_t>(step_, mode_.warmup);
  since_.assign(mode_.fragments, begin);
  due_.clear();
  for (std::uint64_t p = 1; p <= mode_.fragments; ++p) {
    due_.push_back(begin + std::max<std::uint64_t>(1, own_period() * p / mode_.fragments));
  }
}

// A rank that is new or behind takes over the state of the one that is furthest. Under servers a
// new one asks them instead and counts from the slowest; there, and with neighbours, being behind
// is ordinary.
bool Machine::catch_up(Actions& out) {
  const Member* furthest = nullptr;
  for (const Member& member : members_) {
    if (member.rank == self_ || member.joining) continue;
    if (furthest == nullptr || member.round > furthest->round) furthest = &member;
  }
  Member& own = members_[place()];
  if (furthest == nullptr) {
    if (own.joining) {
      step_ = round_ = 0;
      plan_rounds();
    }
    own.joining = false;
    return false;
  }
  const bool apart =
      mode_.exchange == Exchange::kServers || mode_.exchange == Exchange::kNeighbours;
  if (!own.joining && (apart || furthest->round <= round_)) return false;
  if (mode_.exchange == Exchange::kServers) {
    round_ = newcomer_round(members_);
    step_ = round_ * period_;
    plan_rounds();
    pause(Pause::kAnswer, Action::Kind::kExchange, out);
    out.back().weight = 0;  // nothing is pushed, and the clock stands
    out.back().step = round_;
    return true;
  }
  pause(Pause::kAdoption, Action::Kind::kAdopt, out);
  out.back().from = furthest->rank;
  return true;
}

Actions Machine::start() {
  Actions out;
  waiting_ = true;
  resume(out);
  return out;
}

// Begins again what was under way, and waits for it after the step that is being taken, if one is.
void Machine::resume(Actions& out) {
  if (catch_up(out)) {
    waiting_ = true;
    return;
  }
  std::vector<Operation> again = std::exchange(under_way_, {});
  for (const Operation& old : again) {
    const Action& was = old.action;
    if (mode_.eager && !begun_before(was.fragment)) {
      begin_again(was, out);
      continue;
    }
    if (was.what == What::kDeltas) since_[was.fragment] = was.step - was.steps;
    loss_sum_ += was.loss * was.steps;
    lr_ = was.lr;
    lr_sum_ += was.lr_sum;
    if (mode_.threshold > 0) {
      due_[0] = step_;  // not all may know what was voted: once more
      continue;
    }
    begin(was.what, was.fragment, was.weight > 0 ? me().weight : 0, out);
    if (!mode_.eager) under_way_.back().needed = step_ + (waiting_ ? 0 : 1);
  }
  if (!waiting_) return;
  if (under_way_.empty() && local() && step_ >= due_[0]) begin_due(out);
  go_on(out);
}

Actions Machine::stepped(const Step& step) {
  CHECK_MSG(!waiting_, "a step was taken that was not asked for");
  CHECK_MSG(!mode_.control || step.lr >= 0, "control variates need the inner learning rate");
  Actions out;
  waiting_ = true;
  const bool whole = local();
  ++step_;
  loss_sum_ += step.loss;
  lr_ = step.lr;
  lr_sum_ += step.lr;
  if (whole) {
    begin_due(out);
  } else {
    begin(What::kGradients, 0, me().weight, out);
  }
  go_on(out);
  return out;
}

void Machine::pause(Pause why, Action::Kind kind, Actions& out) {
  Action action;
  action.kind = kind;
  // Not every rank adopts, and numbers must stay the same at all of them.
  const bool counted = why == Pause::kVote || why == Pause::kAnswer;
  action.id = (std::uint64_t{epoch_} << 32) | (counted ? operations_++ : 0);
  action.ranks = ranks_;
  action.step = step_;
  if (why == Pause::kAnswer) {
    action.what = What::kDeltas;
    action.step = round_ + 1;
    action.steps = static_cast<std::uint32_t>(step_ - since_[0]);
    action.weight = mode_.buffer > 0 || mode_.backup > 0 ? 1 : me().weight / total_weight_;
  }
  pause_ = why;
  pause_id_ = action.id;
  out.push_back(std::move(action));
}

// Who takes part in an average of parameters: the group of a hierarchy, or neighbours.
void Machine::choose_partners(Action& action) const {
  const std::size_t self = place();
  if (mode_.exchange != Exchange::kNeighbours) {
    const std::size_t first = self / mode_.group * mode_.group;
    const std::size_t last = std::min<std::size_t>(first + mode_.group, members_.size());
    for (std::size_t i = first; i < last; ++i) action.ranks.push_back(members_[i].rank);
    return;
  }
  const auto count = static_cast<std::uint32_t>(members_.size());
  std::vector<std::pair<std::uint32_t, double>> heard;
  for (const MixingEntry& entry : mixing_row(mode_.graph, count, operations_)) {
    heard.emplace_back(members_[(self + count - entry.offset) % count].rank, entry.weight);
    if (entry.offset != 0) action.targets.push_back(members_[(self + entry.offset) % count].rank);
  }
  std::sort(heard.begin(), heard.end());
  for (const auto& [rank, weight] : heard) {
    action.ranks.push_back(rank);
    action.weights.push_back(weight);
  }
  std::sort(action.targets.begin(), action.targets.end());
}

double Machine::weight_of(const std::vector<std::uint32_t>& ranks) const {
  if (ranks.size() == members_.size()) return total_weight_;
  double total = 0;
  auto rank = ranks.begin();
  for (const Member& member : members_) {
    if (rank == ranks.end()) break;
    if (member.rank != *rank) continue;
    total += member.weight;
    ++rank;
  }
  return total;
}

void Machine::begin(What what, std::uint32_t fragment, double weight, Actions& out) {
  Action action;
  action.kind = Action::Kind::kAverage;
  action.what = what;
  action.fragment = fragment;
  if (what == What::kParameters) {
    choose_partners(action);
  } else {
    action.ranks = ranks_;
  }
  action.id = (std::uint64_t{epoch_} << 32) | operations_++;
  action.weight = weight;
  action.member_weight = me().weight;
  action.member_total = weight_of(action.ranks);
  action.step = step_;
  const std::uint64_t taken = step_ - since_[0];
  action.steps = what == What::kDeltas ? static_cast<std::uint32_t>(step_ - since_[fragment]) : 1;
  if (what == What::kGradients) {
    action.loss = loss_sum_;
  } else if (taken > 0) {
    action.loss = loss_sum_ / static_cast<double>(taken);
  }
  action.lr = lr_;
  action.lr_sum = lr_sum_;
  if (what == What::kGradients || (what == What::kDeltas && fragment == 0)) {
    loss_sum_ = lr_sum_ = 0;
  }
  std::uint64_t needed = step_;
  if (what == What::kDeltas) {
    needed += mode_.eager ? own_period() : mode_.overlap;
    since_[fragment] = step_;
  }
  under_way_.push_back({action, needed, false, {}});
  out.push_back(std::move(action));
}

bool Machine::begun_before(std::uint32_t fragment) const {
  return std::any_of(under_way_.begin(), under_way_.end(),
                     [&](const Operation& o) { return o.action.fragment == fragment; });
}

// An eager average: this rank has gone on from its part of it, which it therefore gives once more.
void Machine::begin_again(const Action& was, Actions& out) {
  const std::uint64_t since = since_[was.fragment];
  const double loss_sum = loss_sum_, lr_sum = lr_sum_;
  begin(was.what, was.fragment, me().weight, out);
  since_[was.fragment] = since;
  loss_sum_ = loss_sum, lr_sum_ = lr_sum;
  Action& action = under_way_.back().action;
  action.again = true;
  action.step = was.step, action.steps = was.steps;
  action.loss = was.loss, action.lr = was.lr, action.lr_sum = was.lr_sum;
  under_way_.back().needed = due_[was.fragment];
  out.back() = action;
}

// After a local step: whatever has come to its turn.
void Machine::begin_due(Actions& out) {
  switch (mode_.exchange) {
    case Exchange::kGradients:
      return;
    case Exchange::kServers:
      if (step_ >= due_[0]) pause(Pause::kAnswer, Action::Kind::kExchange, out);
      return;
    case Exchange::kNeighbours:
      if (step_ < due_[0]) return;
      begin(What::kParameters, 0, me().weight, out);
      since_[0] = step_;
      due_[0] = step_ + own_period();
      return;
    case Exchange::kDeltas:
      break;
  }
  if (mode_.threshold > 0) {
    if (step_ >= due_[0]) pause(Pause::kVote, Action::Kind::kVote, out);
    return;
  }
  bool any = false;
  for (std::uint32_t p = 0; p < due_.size(); ++p) {
    if (step_ < due_[p]) continue;
    const bool first = mode_.eager && !begun_before(p);
    begin(What::kDeltas, p, weight_now(), out);
    if (first) {
      out.push_back(out.back());
      out.back().kind = Action::Kind::kApply;
      out.back().alone = true;
      ++round_;
    }
    due_[p] = step_ + own_period();
    any = true;
  }
  if (!any && mode_.group > 0 && step_ > since_[0] && (step_ - since_[0]) % mode_.inner == 0) {
    begin(What::kParameters, 0, me().weight, out);
  }
}

}  // namespace weft::sync

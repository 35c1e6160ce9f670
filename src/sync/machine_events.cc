// What a machine does when others' answers come.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sync/machine.h"

namespace weft::sync {

Actions Machine::arrived(std::uint64_t id, const Totals& totals) {
  Actions out;
  const auto at = std::find_if(under_way_.begin(), under_way_.end(),
                               [&](const Operation& o) { return o.action.id == id; });
  if (at == under_way_.end()) return out;  // of an epoch that is over
  at->arrived = true;
  at->totals = totals;
  if (waiting_) go_on(out);
  return out;
}

Actions Machine::answered(std::uint64_t id, std::uint64_t clock) {
  Actions out;
  if (pause_ != Pause::kAnswer || id != pause_id_) return out;
  pause_ = Pause::kNone;
  if (mode_.backup > 0) {
    step_ = round_ = clock;
    plan_rounds();
  } else if (step_ >= due_[0]) {
    ++round_;
    since_[0] = step_;
    due_[0] = step_ + own_period();
  }
  agreed_ = true;
  members_[place()].joining = false;
  go_on(out);
  return out;
}

Actions Machine::voted(std::uint64_t id, double largest) {
  Actions out;
  if (pause_ != Pause::kVote || id != pause_id_) return out;
  pause_ = Pause::kNone;
  due_[0] = step_ + own_period();
  // Not "largest > threshold": a drift that is no number must not pass for a small one.
  if (!(largest <= mode_.threshold)) begin(What::kDeltas, 0, me().weight, out);
  go_on(out);
  return out;
}

Actions Machine::change_members(std::vector<Member> members, std::uint32_t epoch) {
  CHECK(epoch > epoch_);
  set_members(std::move(members));
  epoch_ = epoch;
  operations_ = 0;
  pause_ = Pause::kNone;
  Actions out;
  resume(out);
  return out;
}

void Machine::set_weights(const std::vector<double>& weights) {
  CHECK(weights.size() == members_.size() && under_way_.empty());
  std::vector<Member> members = members_;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CHECK(weights[i] > 0);
    members[i].weight = weights[i];
  }
  set_members(std::move(members));
}

// The period falls with the root of the loss (Wang and Joshi 2019, AdaComm's basic rule). A loss
// that is no number, or a first one that is not above 0, leaves it as it is.
void Machine::adapt(const Totals& totals) {
  const double loss = totals.weight > 0 ? totals.loss / totals.weight : 0;
  if (!(loss > 0) || !std::isfinite(loss)) return;
  if (first_loss_ == 0) {
    first_loss_ = loss;
    return;
  }
  const double period = std::ceil(std::sqrt(loss / first_loss_) * mode_.period);
  period_ = static_cast<std::uint32_t>(std::clamp<double>(period, 1, mode_.period));
  due_[0] = since_[0] + period_;
}

void Machine::apply_arrived(Actions& out) {
  while (!under_way_.empty()) {
    const Operation& first = under_way_.front();
    if (step_ < first.needed || !first.arrived) return;
    out.push_back(first.action);
    out.back().kind = Action::Kind::kApply;
    ++round_;
    if (mode_.adaptive && first.action.what == What::kDeltas) adapt(first.totals);
    under_way_.erase(under_way_.begin());
  }
}

// Applies what has arrived and is needed, and proceeds unless something is still missing.
void Machine::go_on(Actions& out) {
  if (pause_ == Pause::kAdoption) return;
  apply_arrived(out);
  const bool blocked = !under_way_.empty() && step_ >= under_way_.front().needed;
  if (blocked || pause_ != Pause::kNone) return;
  if (local() && !agreed_ && mode_.exchange != Exchange::kNeighbours) {
    agreed_ = true;
    Action agree;
    agree.kind = Action::Kind::kAgree;
    out.push_back(agree);
  }
  // Outside a round to which it was not chosen a rank only takes part in the average.
  if (local() && mode_.participation < 1 && !all_steps_ && step_ == since_[0] &&
      weight_now() == 0) {
    return begin(What::kDeltas, 0, 0, out);
  }
  waiting_ = false;
  Action proceed;
  proceed.whole = local();
  proceed.step = step_ + 1;
  out.push_back(proceed);
}

}  // namespace weft::sync

#include "runtime/member/reform.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::runtime {

Reform::Reform(View current, MemberInfo self)
    : current_(std::move(current)), self_(std::move(self)) {}

MemberId Reform::coordinator() const {
  MemberId least = self_.id;
  for (const MemberInfo& member : current_.members) {
    if (life_of(member.id) == Life::kAlive) least = std::min(least, member.id);
  }
  return least;
}

Life Reform::life_of(MemberId member) const {
  const auto found = life_.find(member);
  return found == life_.end() ? Life::kAlive : found->second;
}

void Reform::want(const MemberInfo& info) {
  self_ = info;
  const MemberInfo* seated = current_.find(info.id);
  if (seated != nullptr) self_.seat = seated->seat;
  wanted_ = true;
  pledged_to_.reset();
  proposed_.reset();
  advance();
}

void Reform::believe(MemberId member, Life life) {
  if (life == Life::kDead) joiners_.erase(member);
  if (current_.find(member) == nullptr || member == self_.id) return;
  const Life before = life_of(member);
  if (before == Life::kDead || before == life) return;
  if (life == Life::kUnreachable) doubted_[member] = true;
  life_[member] = life;
  if (life != Life::kAlive) ready_.erase(member);
  if (proposed_ && acceptors_.contains(member) && life != Life::kAlive) proposed_.reset();
  advance();
}

void Reform::doubt_all() {
  for (const MemberInfo& member : current_.members) doubted_[member.id] = true;
}

void Reform::add_joiner(const MemberInfo& info) {
  if (current_.find(info.id) != nullptr) return;
  joiners_[info.id] = info;
}

void Reform::drop_joiner(MemberId member) { joiners_.erase(member); }

void Reform::advance() {
  if (!wanted_) return;
  const MemberId leader = coordinator();
  if (pledged_to_ != leader) pledge();
  if (leader == self_.id) coordinate();
}

void Reform::pledge() {
  pledged_to_ = coordinator();
  ++pledge_;
  Ready ready{current_.number, pledge_, self_, accepted_};
  if (*pledged_to_ == self_.id) {
    ready_[self_.id] = std::move(ready);
  } else {
    proposed_.reset();
    say(*pledged_to_, std::move(ready));
  }
}

// Requires: all that are neither dead nor unreachable have pledged.
bool Reform::may_leave_out() const {
  std::size_t left = 0;
  bool confirmed = true;
  for (const MemberInfo& member : current_.members) {
    if (ready_.contains(member.id)) {
      ++left;
      continue;
    }
    const auto doubt = doubted_.find(member.id);
    confirmed &= life_of(member.id) == Life::kDead && (doubt == doubted_.end() || !doubt->second);
  }
  return confirmed || 2 * left > current_.members.size();
}

void Reform::coordinate() {
  if (proposed_) return;
  for (const MemberInfo& member : current_.members) {
    if (life_of(member.id) == Life::kAlive && !ready_.contains(member.id)) return;
  }
  if (!may_leave_out()) return;
  const Accepted* newest = nullptr;
  for (const auto& [member, ready] : ready_) {
    if (ready.accepted && (newest == nullptr || ready.accepted->round > newest->round)) {
      newest = &*ready.accepted;
    }
  }
  propose(newest != nullptr ? newest->view : next_view());
}

View Reform::next_view() const {
  View view{current_.job_epoch, current_.number + 1, {}};
  std::vector<int> taken;
  for (const auto& [member, ready] : ready_) {
    view.members.push_back(ready.info);
    view.members.back().seat = current_.find(member)->seat;
    taken.push_back(view.members.back().seat);
  }
  for (const auto& [member, info] : joiners_) {
    MemberInfo joiner = info;
    joiner.seat = 0;
    while (std::find(taken.begin(), taken.end(), joiner.seat) != taken.end()) ++joiner.seat;
    taken.push_back(joiner.seat);
    view.members.push_back(std::move(joiner));
  }
  std::sort(view.members.begin(), view.members.end(),
            [](const MemberInfo& a, const MemberInfo& b) { return a.seat < b.seat; });
  return view;
}

void Reform::propose(const View& view) {
  std::uint64_t round = 0;
  for (const auto& [member, ready] : ready_) {
    if (ready.accepted) round = std::max(round, ready.accepted->round);
  }
  if (accepted_) round = std::max(round, accepted_->round);
  proposed_ = Accepted{round + 1, view};
  acceptors_.clear();
  for (const auto& [member, ready] : ready_) acceptors_[member] = false;
  const auto asked = ready_;  // accepting our own may end the matter
  for (const auto& [member, ready] : asked) {
    if (!proposed_) return;
    const Propose message{ready.pledge, *proposed_};
    if (member == self_.id) {
      take(self_.id, message);
    } else {
      say(member, message);
    }
  }
}

void Reform::take(MemberId from, const Ready& message) {
  if (current_.find(from) == nullptr || message.info.id != from) return;
  if (message.number > current_.number) {
    // It is ahead of us, and answers what we say of ourselves with what we missed.
    say(from, Ready{current_.number, pledge_, self_, accepted_});
    return;
  }
  if (message.number < current_.number) {
    // It missed the last commit.
    if (current_.find(from) != nullptr) {
      say(from, Commit{current_});
    }
    return;
  }
  const auto before = ready_.find(from);
  if (before != ready_.end() && before->second.pledge >= message.pledge) return;
  ready_[from] = message;
  if (life_of(from) == Life::kUnreachable) life_[from] = Life::kAlive;
  if (acceptors_.contains(from)) proposed_.reset();  // what it was asked under holds no more
  advance();
}

void Reform::take(MemberId from, const Propose& message) {
  const bool ours = wanted_ && pledged_to_ == from && message.pledge == pledge_ &&
                    message.value.view.number == current_.number + 1 &&
                    message.value.view.job_epoch == current_.job_epoch;
  if (!ours || (accepted_ && accepted_->round > message.value.round)) return;
  accepted_ = message.value;
  const Accept accept{message.value.round, message.value.view.number};
  if (from == self_.id) {
    take(self_.id, accept);
  } else {
    say(from, accept);
  }
}

void Reform::take(MemberId from, const Accept& message) {
  if (!proposed_ || message.round != proposed_->round ||
      message.number != proposed_->view.number || !acceptors_.contains(from)) {
    return;
  }
  acceptors_[from] = true;
  const bool all = std::all_of(acceptors_.begin(), acceptors_.end(),
                               [](const auto& entry) { return entry.second; });
  if (all) commit();
}

void Reform::commit() {
  const View view = proposed_->view;
  for (const auto& [member, accepted] : acceptors_) {
    if (member != self_.id) say(member, Commit{view});
  }
  for (const MemberInfo& member : view.members) {
    if (!acceptors_.contains(member.id) && member.id != self_.id) {
      say(member.id, Commit{view});
    }
  }
  install(view);
}

bool Reform::take(const Commit& message) {
  if (message.view.job_epoch != current_.job_epoch || message.view.number <= current_.number ||
      message.view.find(self_.id) == nullptr) {
    return false;
  }
  install(message.view);
  return true;
}

void Reform::install(const View& view) {
  std::map<MemberId, Life> life;
  for (const auto& [member, belief] : life_) {
    if (view.find(member) != nullptr) life[member] = belief;
  }
  life_ = std::move(life);
  doubted_.clear();
  for (const MemberInfo& member : view.members) joiners_.erase(member.id);
  current_ = view;
  self_ = *view.find(self_.id);
  wanted_ = false;
  changed_ = true;
  accepted_.reset();
  proposed_.reset();
  pledged_to_.reset();
  ready_.clear();
  acceptors_.clear();
}

void Reform::nudge() {
  if (!wanted_) return;
  const Ready ready{current_.number, pledge_, self_, accepted_};
  if (coordinator() != self_.id) {
    say(coordinator(), ready);
    return;
  }
  for (const MemberInfo& member : current_.members) {
    if (life_of(member.id) == Life::kAlive && !ready_.contains(member.id)) {
      say(member.id, ready);
    }
  }
}

std::vector<ReformMessage> Reform::outgoing() { return std::exchange(outgoing_, {}); }

bool Reform::changed() { return std::exchange(changed_, false); }

std::string Reform::waits_for() const {
  std::vector<std::string> reasons;
  for (std::size_t rank = 0; rank < current_.members.size(); ++rank) {
    const MemberId member = current_.members[rank].id;
    if (member == self_.id) continue;
    const bool known = coordinator() != self_.id || ready_.contains(member);
    if (life_of(member) == Life::kUnreachable) {
      reasons.push_back(fmt::format("rank {} is unreachable and not confirmed dead", rank));
    } else if (life_of(member) == Life::kAlive && !known) {
      reasons.push_back(fmt::format("rank {} lives but has not asked for it", rank));
    }
  }
  if (coordinator() != self_.id) {
    reasons.push_back(
        fmt::format("rank {} coordinates and has not answered", current_.rank_of(coordinator())));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace weft::runtime

#include "runtime/member/reform.h"

#include <fmt/ranges.h>

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
  proposed_.reset();
  pledge(next_ballot());  // how we are reached has changed
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
  if (current_.find(info.id) != nullptr) {
    say(info.id, Commit{current_});  // it missed that it was taken in
    return;
  }
  joiners_[info.id] = info;
}

void Reform::drop_joiner(MemberId member) { joiners_.erase(member); }

void Reform::advance() {
  if (!wanted_) return;
  const MemberId leader = coordinator();
  if (pledge_ == 0 || coordinator_of(pledge_) != leader) pledge(next_ballot());
  if (leader == self_.id) coordinate();
}

Ballot Reform::next_ballot() const { return ballot_of((pledge_ >> 32) + 1, coordinator()); }

void Reform::pledge(Ballot ballot) {
  pledge_ = ballot;
  const MemberId leader = coordinator_of(ballot);
  if (leader == self_.id) {
    ready_[self_.id] = own_ready();
  } else {
    proposed_.reset();
    say(leader, own_ready());
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
  Ballot highest = used_ == pledge_ ? next_ballot() : pledge_;
  for (const auto& [member, ready] : ready_) highest = std::max(highest, ready.pledge);
  if (highest != pledge_) {
    pledge(highest);
    for (const auto& [member, ready] : ready_) {
      if (ready.pledge != pledge_) say(member, own_ready());
    }
  }
  const bool together = std::all_of(ready_.begin(), ready_.end(), [&](const auto& entry) {
    return entry.second.pledge == pledge_;
  });
  if (!together || !may_leave_out()) return;
  const Accepted* newest = nullptr;
  for (const auto& [member, ready] : ready_) {
    if (ready.accepted && (newest == nullptr || ready.accepted->round > newest->round)) {
      newest = &*ready.accepted;
    }
  }
  propose(newest != nullptr ? newest->view : next_view());
}

View Reform::next_view() const {
  View view{current_.job_epoch, current_.number + 1, {}, current_.links};
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
  used_ = pledge_;
  const Propose message{{pledge_, view}};
  proposed_ = message.value;
  acceptors_.clear();
  for (const auto& [member, ready] : ready_) acceptors_[member] = false;
  for (const auto& [member, accepted] : acceptors_) {
    if (member != self_.id) say(member, message);
  }
  take(self_.id, message);  // last, since it may end the matter
}

void Reform::take(MemberId from, const Ready& message) {
  if (current_.find(from) == nullptr || message.info.id != from || life_of(from) == Life::kDead) {
    return;
  }
  if (message.number > current_.number) {
    // It is ahead of us, and answers what we say of ourselves with what we missed.
    say(from, own_ready());
    return;
  }
  if (message.number < current_.number) {
    say(from, Commit{current_});  // it missed the last one
    return;
  }
  if (life_of(from) == Life::kUnreachable) life_[from] = Life::kAlive;
  if (coordinator_of(message.pledge) == from) {
    asked_by_coordinator(from, message);
    return;
  }
  if (coordinator_of(message.pledge) != self_.id) {
    advance();
    return;
  }
  const auto before = ready_.find(from);
  if (before != ready_.end() && before->second.pledge >= message.pledge) return;
  ready_[from] = message;
  if (acceptors_.contains(from)) proposed_.reset();  // what it was asked under holds no more
  advance();
  if (wanted_ && coordinator() == self_.id && message.pledge < pledge_) say(from, own_ready());
}

// It wants our pledge, or a higher one than it has.
void Reform::asked_by_coordinator(MemberId from, const Ready& message) {
  advance();
  if (!wanted_ || coordinator() != from) return;
  if (message.pledge > pledge_) {
    pledge(message.pledge);
  } else {
    say(from, own_ready());
  }
}

void Reform::take(MemberId from, const Propose& message) {
  const bool ours = wanted_ && message.value.round == pledge_ && coordinator_of(pledge_) == from &&
                    message.value.view.number == current_.number + 1 &&
                    message.value.view.job_epoch == current_.job_epoch;
  if (!ours) return;
  accepted_ = message.value;
  const Accept accept{message.value.round, message.value.view.number};
  if (from == self_.id) {
    take(self_.id, accept);
  } else {
    say(from, accept);
  }
}

void Reform::take(MemberId from, const Accept& message) {
  if (!proposed_ || message.round != proposed_->round || message.number != proposed_->view.number ||
      !acceptors_.contains(from)) {
    return;
  }
  acceptors_[from] = true;
  const bool all = std::all_of(acceptors_.begin(), acceptors_.end(),
                               [](const auto& entry) { return entry.second; });
  if (all) commit();
}

void Reform::commit() {
  const Commit message{proposed_->view};
  for (const auto& [member, accepted] : acceptors_) {
    if (member != self_.id) say(member, message);
  }
  for (const MemberInfo& member : message.view.members) {
    if (!acceptors_.contains(member.id)) say(member.id, message);
  }
  take(message);
}

void Reform::take(const Commit& message) {
  if (message.view.job_epoch != current_.job_epoch || message.view.number <= current_.number) {
    return;
  }
  if (message.view.find(self_.id) != nullptr) {
    install(message.view);
  } else if (current_.find(self_.id) != nullptr) {
    left_out_ = message.view.number;
    wanted_ = false;
  }
}

void Reform::install(const View& view) {
  std::map<MemberId, Life> life;
  doubted_.clear();
  for (const auto& [member, belief] : life_) {
    if (view.find(member) == nullptr) continue;
    life[member] = belief;
    if (belief == Life::kUnreachable) doubted_[member] = true;
  }
  life_ = std::move(life);
  for (const MemberInfo& member : view.members) joiners_.erase(member.id);
  current_ = view;
  self_ = *view.find(self_.id);
  wanted_ = false;
  changed_ = true;
  pledge_ = used_ = 0;
  accepted_.reset();
  proposed_.reset();
  ready_.clear();
  acceptors_.clear();
}

void Reform::nudge() {
  if (!wanted_) return;
  const MemberId leader = coordinator();
  if (leader != self_.id) {
    say(leader, own_ready());
    return;
  }
  for (const MemberInfo& member : current_.members) {
    if (member.id == self_.id || life_of(member.id) != Life::kAlive) continue;
    const auto accepted = acceptors_.find(member.id);
    if (proposed_ && accepted != acceptors_.end() && !accepted->second) {
      say(member.id, Propose{*proposed_});
    } else if (!ready_.contains(member.id) || ready_[member.id].pledge != pledge_) {
      say(member.id, own_ready());
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

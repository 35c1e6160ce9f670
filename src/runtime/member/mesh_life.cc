// The part of Mesh that decides who lives, and what it does with what members say.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/stopwatch.h"
#include "runtime/member/mesh.h"

namespace weft::runtime {
namespace {

constexpr Seconds kGoodbye = 1;      // in which what a leaving member sent should have arrived
constexpr Seconds kLastWords = 0.1;  // the same for one that asked for a new membership
constexpr Seconds kProbes[] = {0.03, 0.2, 0.3};  // how long each call to a lost member may take

}  // namespace

void Mesh::handle(MemberId from, const ControlMessage& message) {
  if (const auto* ready = std::get_if<Ready>(&message)) {
    if (reform_.current().find(from) == nullptr && ready->number < reform_.current().number) {
      send(from, Fenced{reform_.current().number});
      return;
    }
    reform_.take(from, *ready);
  } else if (const auto* propose = std::get_if<Propose>(&message)) {
    reform_.take(from, *propose);
  } else if (const auto* accept = std::get_if<Accept>(&message)) {
    reform_.take(from, *accept);
  } else if (const auto* commit = std::get_if<Commit>(&message)) {
    reform_.take(*commit);
  } else if (const auto* notice = std::get_if<LifeNotice>(&message)) {
    take(from, *notice);
  } else if (const auto* broken = std::get_if<Broken>(&message)) {
    if (broken_.insert({broken->group, broken->epoch}).second) {
      flood(*broken, from);
      events_.on_broken(*broken);
    }
  } else if (const auto* join = std::get_if<Join>(&message)) {
    const std::size_t before = reform_.joiners();
    reform_.add_joiner(join->info);
    if (reform_.joiners() != before) {
      known_.push_back(join->info);
      flood(*join, from);
    }
    joiners_ = static_cast<int>(reform_.joiners());
  } else if (const auto* fenced = std::get_if<Fenced>(&message)) {
    if (fenced->number > reform_.current().number) fence(fenced->number);
  } else if (std::get_if<Leaving>(&message) != nullptr) {
    hear_goodbye(from);
  } else if (const auto* reforming = std::get_if<Reforming>(&message)) {
    take(*reforming, from);
  } else if (const auto* progress = std::get_if<Progress>(&message)) {
    if (progress->answer) {
      events_.on_progress(from, *progress);
    } else {
      send(from, events_.progress(from, *progress));
    }
  }
}

// Operations that it took part in may still end well; those that need it now do not.
void Mesh::hear_goodbye(MemberId from) {
  const auto link = links_.find(from);
  if (link != links_.end()) {
    // It waits for this.
    link->second.connection->close();
    if (link->second.before != nullptr) link->second.before->close();
    links_.erase(link);
  }
  if (!left_.insert(from).second) return;
  reactor_.after(kGoodbye, [this, from, alive = std::weak_ptr(alive_)] {
    const auto strong = alive.lock();
    if (strong == nullptr || !*strong) return;
    judge(from, Life::kDead, "left");
    flush();
  });
}

// What everybody has sent its part of may still end well; what waits for whoever asked does not.
void Mesh::take(const Reforming& news, MemberId from) {
  if (news.epoch != reform_.current().epoch() || !reforming_.insert(news.epoch).second) return;
  flood(news, from);
  reactor_.after(kLastWords, [this, news, alive = std::weak_ptr(alive_)] {
    const auto strong = alive.lock();
    if (strong != nullptr && *strong) events_.on_reforming(news);
  });
}

void Mesh::fence(std::uint32_t number) {
  if (std::exchange(fenced_, true)) return;
  events_.on_fenced(fmt::format(
      "this process (member {}) was left out: membership {} goes on without it", self_, number));
}

void Mesh::take(MemberId from, const LifeNotice& notice) {
  if (notice.member == self_ || reform_.life_of(notice.member) == Life::kDead) return;
  if (reform_.current().find(notice.member) == nullptr && reform_.joiners() == 0) return;
  if (notice.life == Life::kDead) {
    judge(notice.member, Life::kDead, notice.why);
  } else if (notice.life == Life::kUnreachable && !questioned_.contains(notice.member)) {
    question(notice.member, notice.why + fmt::format(" (says member {})", from));
  }
}

void Mesh::question(MemberId member, const std::string& why, bool data) {
  const bool concerns = reform_.current().find(member) != nullptr || info_of(member) != nullptr;
  if (!concerns || fenced_ || left_.contains(member) || questioned_.contains(member) ||
      reform_.life_of(member) == Life::kDead) {
    return;
  }
  questioned_[member] = {0, why, data};
  probe(member);
}

void Mesh::probe(MemberId member) {
  const auto found = questioned_.find(member);
  const MemberInfo* info = info_of(member);
  if (found == questioned_.end() || info == nullptr) return;
  connect(*info, kProbes[found->second.calls], true);
}

void Mesh::probed(MemberId member, End end) {
  const auto found = questioned_.find(member);
  if (found == questioned_.end()) return;  // it has called us meanwhile
  const std::string why = found->second.why;
  if (end == End::kRefused || end == End::kBadProof) {
    questioned_.erase(found);
    judge(member, Life::kDead, why);
  } else if (++found->second.calls < static_cast<int>(std::size(kProbes))) {
    probe(member);
    return;
  } else {
    questioned_.erase(found);
    judge(member, Life::kUnreachable, why);
  }
  flush();
}

void Mesh::judge(MemberId member, Life life, const std::string& why) {
  const bool joiner = reform_.current().find(member) == nullptr;
  const Life before = reform_.life_of(member);
  if (!joiner && (before == Life::kDead || before == life)) return;
  const std::string sentence =
      fmt::format("{} {}: {}", name_of_member(member),
                  life == Life::kDead ? (why == "left" ? "left" : "died") : "is unreachable", why);
  const std::uint32_t epoch = reform_.current().epoch();  // believing may end it
  reform_.believe(member, life);
  joiners_ = static_cast<int>(reform_.joiners());
  if (joiner) return;
  flood(LifeNotice{member, life, why}, member);
  events_.on_lost(epoch, why == "left" ? name_of_member(member) + " left" : sentence);
}

void Mesh::beat() {
  const std::int64_t now = monotonic_ns();
  const auto silence = static_cast<std::int64_t>(options_.silence_s * 1e9);
  timer_ = reactor_.after(options_.beat_s, [this] { beat(); });
  // Who did not run for so long was perhaps given up by the others.
  if (now - last_beat_ns_ > silence / 2) reform_.doubt_all();
  const bool lapsed = now - last_beat_ns_ > silence;
  last_beat_ns_ = now;
  std::vector<MemberId> silent;
  for (auto& [member, link] : links_) {
    if (lapsed) link.heard_ns = now;
    if (now - link.heard_ns > silence) silent.push_back(member);
  }
  for (const auto& connection : open_links(self_)) connection->send(kBeat, "");
  for (const MemberId member : silent) {
    const auto link = links_.find(member);
    if (link == links_.end()) continue;
    link->second.connection->close();
    links_.erase(link);
    question(member, fmt::format("no sign of life for {} s", options_.silence_s));
  }
  // Those that should have called us by now.
  if (!joining_ && now - watched_since_ns_ > silence) {
    for (const MemberInfo& member : neighbours()) {
      if (!links_.contains(member.id) && reform_.life_of(member.id) == Life::kAlive) {
        question(member.id, "it never called");
      }
    }
  }
  // One that cannot be reached may come back.
  for (const MemberInfo& member : std::vector(reform_.current().members)) {
    if (reform_.life_of(member.id) == Life::kUnreachable && !links_.contains(member.id)) {
      connect(member, options_.beat_s * 2, false);
    }
  }
  reform_.nudge();
  if (joining_) {
    for (const MemberInfo& member : std::vector(known_)) {
      if (member.id != self_) send(member.id, Join{own_});
    }
  }
  flush();
}

void Mesh::flush() {
  const View before = reform_.current();
  for (const ReformMessage& message : reform_.outgoing()) {
    std::visit([&](const auto& body) { send(message.to, ControlMessage{body}); }, message.body);
  }
  if (reform_.left_out() > reform_.current().number) fence(reform_.left_out());
  if (reform_.changed()) installed(before);
}

void Mesh::installed(const View& before) {
  const View view = reform_.current();
  joining_ = false;
  joiners_ = static_cast<int>(reform_.joiners());
  std::erase_if(known_, [&](const MemberInfo& info) { return view.find(info.id) != nullptr; });
  for (const MemberInfo& member : before.members) {
    const auto link = links_.find(member.id);
    if (view.find(member.id) != nullptr || link == links_.end()) continue;
    send(member.id, Fenced{view.number});
    link->second.connection->finish();
    links_.erase(member.id);
  }
  watch();
  events_.on_view(view);
  for (const MemberInfo& member : view.members) {
    if (reform_.life_of(member.id) != Life::kAlive) {
      events_.on_lost(view.epoch(), name_of_member(member.id) + " is lost already");
    }
  }
}

}  // namespace weft::runtime

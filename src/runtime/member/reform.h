// How members agree on the next membership: a state machine without clock or sockets, so that tests
// can lose, delay and reorder messages and kill members at any point.
//
// The member with the least number that is believed alive coordinates. Whoever wants a change pledges
// itself to the coordinator with a Ready; a pledge holds until the member pledges anew, to the same
// coordinator or, when that died, to the next. When everyone who is not lost has pledged, and those
// left out are all confirmed dead or the rest is a strict majority of the current membership, the
// coordinator proposes a view; a member accepts under its present pledge only; when all have
// accepted, the view holds. A Ready carries what was accepted before, and the next coordinator must
// propose that again: so two coordinators can never give one number to two views (the argument is
// that of Paxos, Lamport 1998, with the pledge as promise and the rule above as quorum).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/member/view.h"

namespace weft::runtime {

// What a member believes of another. A death is confirmed when its host says that the process is
// gone and it was reachable until then; a member that was unreachable before may have gone on with
// others, so its end confirms nothing.
enum class Life : std::uint8_t { kAlive, kUnreachable, kDead };

struct Accepted {
  std::uint64_t round = 0;
  View view;
  bool operator==(const Accepted&) const = default;
};

struct Ready {
  std::uint32_t number = 0;  // of the membership that the sender has
  std::uint64_t pledge = 0;
  MemberInfo info;           // with the segment for the next membership
  std::optional<Accepted> accepted;
  bool operator==(const Ready&) const = default;
};
struct Propose {
  std::uint64_t pledge = 0;  // of the receiver, under which it is asked
  Accepted value;
  bool operator==(const Propose&) const = default;
};
struct Accept {
  std::uint64_t round = 0;
  std::uint32_t number = 0;  // of the view
  bool operator==(const Accept&) const = default;
};
struct Commit {
  View view;
  bool operator==(const Commit&) const = default;
};

struct ReformMessage {
  MemberId to = 0;
  std::variant<Ready, Propose, Accept, Commit> body;
};

class Reform {
 public:
  Reform(View current, MemberInfo self);

  const View& current() const { return current_; }
  // The local process wants a new membership. `info` is how it is reached there.
  void want(const MemberInfo& info);
  bool wanted() const { return wanted_; }
  // No longer, because the deadline passed.
  void give_up() { wanted_ = false; }
  // A belief changed. Dead stays dead.
  void believe(MemberId member, Life life);
  // All others were silent for so long that they may have gone on without this process.
  void doubt_all();
  Life life_of(MemberId member) const;
  // A process waits to be taken in.
  void add_joiner(const MemberInfo& info);
  void drop_joiner(MemberId member);
  std::size_t joiners() const { return joiners_.size(); }

  void take(MemberId from, const Ready& message);
  void take(MemberId from, const Propose& message);
  void take(MemberId from, const Accept& message);
  // Ensures: afterwards current() is the view, if it is the next one and holds this member.
  bool take(const Commit& message);

  // Says again what may have been lost; to be called now and then while wanted().
  void nudge();
  // What is to be sent since the last call.
  std::vector<ReformMessage> outgoing();
  // A membership was agreed on since the last call; current() is it.
  bool changed();
  // Whom the agreement waits for, for error messages.
  std::string waits_for() const;
  MemberId coordinator() const;

 private:
  template <typename Body>
  void say(MemberId to, Body body) {
    ReformMessage& message = outgoing_.emplace_back();
    message.to = to;
    message.body.emplace<Body>(std::move(body));
  }
  void advance();
  void pledge();
  void coordinate();
  bool may_leave_out() const;
  View next_view() const;
  void propose(const View& view);
  void commit();
  void install(const View& view);

  View current_;
  MemberInfo self_;
  bool wanted_ = false, changed_ = false;
  std::map<MemberId, Life> life_;
  std::map<MemberId, bool> doubted_;  // was unreachable in this membership
  std::map<MemberId, MemberInfo> joiners_;
  std::uint64_t pledge_ = 0;
  std::optional<MemberId> pledged_to_;
  std::optional<Accepted> accepted_;
  // As coordinator.
  std::map<MemberId, Ready> ready_;
  std::optional<Accepted> proposed_;
  std::map<MemberId, bool> acceptors_;  // those asked, and whether they accepted
  std::vector<ReformMessage> outgoing_;
};

}  // namespace weft::runtime

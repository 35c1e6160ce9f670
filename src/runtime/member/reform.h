// How members agree on the next membership: a state machine without clock or sockets, so that tests
// can lose, delay and reorder messages and kill members at any point.
//
// It is Paxos (Lamport 1998), once for each membership number. The member with the least number
// that is believed alive coordinates. Whoever wants a change pledges itself to the coordinator with
// a Ready. A pledge is a ballot: a counter, then the coordinator; a member's pledges only rise, and
// it accepts proposals of its present one alone. The coordinator proposes when everyone it believes
// alive has pledged the same ballot (who is behind is asked to pledge again by the coordinator's
// own Ready), and those left out are all confirmed dead or the rest is a strict majority of the
// current membership; when all who pledged have accepted, the view holds. A ballot is proposed
// under once. A Ready carries what was accepted last, and the coordinator proposes the newest of
// those again. Without faults all pledge the same ballot at once, so nothing is asked twice.
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

// The counter stands in the upper half, the member that coordinates in the lower. 0: none.
using Ballot = std::uint64_t;
constexpr Ballot ballot_of(std::uint64_t counter, MemberId coordinator) {
  return (counter << 32) | coordinator;
}
constexpr MemberId coordinator_of(Ballot ballot) { return static_cast<MemberId>(ballot); }

struct Accepted {
  Ballot round = 0;
  View view;
  bool operator==(const Accepted&) const = default;
};

struct Ready {
  std::uint32_t number = 0;  // of the membership that the sender has
  Ballot pledge = 0;
  MemberInfo info;  // with the segment for the next membership
  std::optional<Accepted> accepted;
  bool operator==(const Ready&) const = default;
};
struct Propose {
  Accepted value;  // under the pledge of the receiver
  bool operator==(const Propose&) const = default;
};
struct Accept {
  Ballot round = 0;
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
  // What the members measured; later memberships keep it.
  void set_links(const LinkSpeeds& links) { current_.links = links; }
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
  // Ensures: afterwards current() is the view, if it is a later one and holds this member.
  void take(const Commit& message);

  // Says again what may have been lost; to be called now and then while wanted().
  void nudge();
  // What is to be sent since the last call.
  std::vector<ReformMessage> outgoing();
  // A membership was agreed on since the last call; current() is it.
  bool changed();
  // The number of a membership that was agreed on without this member; 0: none is known.
  std::uint32_t left_out() const { return left_out_; }
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
  // Requires: the ballot is above the present pledge.
  void pledge(Ballot ballot);
  Ballot next_ballot() const;
  Ready own_ready() const { return {current_.number, pledge_, self_, accepted_}; }
  void asked_by_coordinator(MemberId from, const Ready& message);
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
  std::uint32_t left_out_ = 0;
  Ballot pledge_ = 0;
  std::optional<Accepted> accepted_;
  // As coordinator.
  std::map<MemberId, Ready> ready_;  // pledged to this member; all of them believed alive
  Ballot used_ = 0;                  // the last that something was proposed under
  std::optional<Accepted> proposed_;
  std::map<MemberId, bool> acceptors_;  // those asked, and whether they accepted
  std::vector<ReformMessage> outgoing_;
};

}  // namespace weft::runtime

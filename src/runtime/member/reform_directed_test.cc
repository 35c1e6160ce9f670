// Deaths at chosen moments of an agreement: the test itself decides which message arrives next and
// who hears of which death first, so nothing is left to chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "runtime/member/reform.h"

namespace weft::runtime {
namespace {

struct Letter {
  MemberId from = 0, to = 0;
  std::variant<Ready, Propose, Accept, Commit> body;
  template <typename Body>
  bool is() const {
    return std::holds_alternative<Body>(body);
  }
};

class Stage {
 public:
  explicit Stage(MemberId members) {
    View first{1, 0, {}};
    for (MemberId id = 0; id < members; ++id) first.members.push_back(info(id));
    for (const MemberInfo& member : first.members) nodes_.emplace_back(Reform(first, member));
    alive_.assign(members, true);
  }

  Reform& at(MemberId member) { return nodes_[member]; }
  void want(MemberId member) {
    at(member).want(info(member));
    collect(member);
  }
  void hear(MemberId member, MemberId dead) {
    at(member).believe(dead, Life::kDead);
    collect(member);
  }
  // What it has said is on its way; nothing arrives at it any more.
  void kill(MemberId member) { alive_[member] = false; }

  // The first letter that fits arrives. False: there is none.
  template <typename Body>
  bool deliver(MemberId from, MemberId to) {
    const auto found = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& letter) {
      return letter.from == from && letter.to == to && letter.is<Body>();
    });
    if (found == letters_.end()) return false;
    const Letter letter = *found;
    letters_.erase(found);
    take(letter);
    return true;
  }
  template <typename Body>
  bool deliver_all() {
    bool any = false;
    for (MemberId from = 0; from < nodes_.size(); ++from) {
      for (MemberId to = 0; to < nodes_.size(); ++to) {
        while (deliver<Body>(from, to)) any = true;
      }
    }
    return any;
  }
  void drop_all() { letters_.clear(); }
  // Everything arrives, and everybody says again what may have been lost, until nothing changes.
  void settle() {
    for (int turn = 0; turn < 20; ++turn) {
      while (!letters_.empty()) {
        const Letter letter = letters_.front();
        letters_.pop_front();
        take(letter);
      }
      for (MemberId member = 0; member < nodes_.size(); ++member) {
        if (!alive_[member]) continue;
        at(member).nudge();
        collect(member);
      }
    }
  }
  std::vector<MemberId> members(MemberId of) {
    std::vector<MemberId> ids;
    for (const MemberInfo& member : at(of).current().members) ids.push_back(member.id);
    return ids;
  }
  // Every membership that anybody ever had, by number.
  const std::map<std::uint32_t, View>& chain() const { return chain_; }

 private:
  static MemberInfo info(MemberId id) {
    return {id, static_cast<int>(id), "host", "c" + std::to_string(id), "d", "s"};
  }
  void take(const Letter& letter) {
    if (!alive_[letter.to]) return;
    Reform& reform = at(letter.to);
    if (const auto* m = std::get_if<Ready>(&letter.body)) reform.take(letter.from, *m);
    if (const auto* m = std::get_if<Propose>(&letter.body)) reform.take(letter.from, *m);
    if (const auto* m = std::get_if<Accept>(&letter.body)) reform.take(letter.from, *m);
    if (const auto* m = std::get_if<Commit>(&letter.body)) reform.take(*m);
    collect(letter.to);
  }
  void collect(MemberId member) {
    for (ReformMessage& message : at(member).outgoing()) {
      letters_.push_back({member, message.to, std::move(message.body)});
    }
    if (!at(member).changed()) return;
    const View& view = at(member).current();
    const auto [held, fresh] = chain_.emplace(view.number, view);
    EXPECT_TRUE(fresh || held->second == view) << "two memberships of number " << view.number;
  }

  std::deque<Reform> nodes_;
  std::vector<bool> alive_;
  std::deque<Letter> letters_;
  std::map<std::uint32_t, View> chain_;
};

using Ids = std::vector<MemberId>;

// 0 and 1 die. 2 hears of 0 first and pledges to 1; 3 hears of 1 first and pledges to 0; 4 has
// heard of neither. Only then do they learn the rest, each in another order.
TEST(ReformDirected, SurvivorsThatSawTwoDeathsInAnotherOrderAgree) {
  Stage stage(5);
  stage.kill(0);
  stage.kill(1);
  stage.hear(2, 0);
  stage.hear(3, 1);
  for (const MemberId member : {2, 3, 4}) stage.want(member);
  EXPECT_EQ(stage.at(2).coordinator(), 1u);
  EXPECT_EQ(stage.at(3).coordinator(), 0u);
  EXPECT_EQ(stage.at(4).coordinator(), 0u);
  stage.settle();  // all that they said went to the dead
  EXPECT_TRUE(stage.chain().empty());
  stage.hear(4, 0);  // now it pledges to 1, who is as dead
  stage.settle();
  stage.hear(4, 1);
  stage.settle();
  stage.hear(3, 0);
  stage.settle();
  EXPECT_TRUE(stage.chain().empty()) << "2 still waits for 1, whom it believes alive";
  stage.hear(2, 1);
  stage.settle();
  for (const MemberId member : {2, 3, 4}) EXPECT_EQ(stage.members(member), (Ids{2, 3, 4}));
  EXPECT_EQ(stage.chain().size(), 1u);
}

// Two halves see different deaths and each has a candidate of its own that lives.
TEST(ReformDirected, AFalseViewOfOneRankDoesNotMakeTwoGroups) {
  Stage stage(4);
  stage.kill(0);
  for (const MemberId member : {1, 2, 3}) stage.want(member);
  stage.hear(1, 0);  // 1 coordinates in its own eyes, 2 and 3 still turn to 0
  stage.settle();
  EXPECT_TRUE(stage.chain().empty());
  stage.at(3).believe(1, Life::kUnreachable);  // 3 doubts the one that coordinates
  stage.hear(3, 0);
  EXPECT_EQ(stage.at(3).coordinator(), 2u);
  stage.settle();
  EXPECT_TRUE(stage.chain().empty());
  stage.hear(2, 0);
  stage.at(3).believe(1, Life::kAlive);
  stage.settle();
  for (const MemberId member : {1, 2, 3}) EXPECT_EQ(stage.members(member), (Ids{1, 2, 3}));
}

// 0 has died; 1 coordinates, proposes and dies when one of the two others has accepted.
TEST(ReformDirected, ACoordinatorThatDiesAfterItsProposalIsSucceeded) {
  Stage stage(4);
  stage.kill(0);
  for (const MemberId member : {1, 2, 3}) {
    stage.hear(member, 0);
    stage.want(member);
  }
  stage.deliver_all<Ready>();
  ASSERT_TRUE(stage.deliver<Propose>(1, 2));
  stage.kill(1);
  stage.drop_all();
  stage.hear(3, 1);
  stage.hear(2, 1);
  stage.settle();
  // What 2 accepted may have been agreed on, so it holds, with the dead in it; then comes the next.
  ASSERT_TRUE(stage.chain().contains(1));
  EXPECT_EQ(stage.at(2).current(), stage.at(3).current());
  for (const MemberId member : {2, 3}) {
    if (stage.members(member) == Ids{2, 3}) continue;
    stage.hear(member, 1);
    stage.want(member);
  }
  stage.settle();
  for (const MemberId member : {2, 3}) EXPECT_EQ(stage.members(member), (Ids{2, 3}));
}

// The same, but all had accepted and only one of them heard that it holds.
TEST(ReformDirected, AMembershipThatOneRankHeardOfHoldsForAll) {
  Stage stage(4);
  stage.kill(0);
  for (const MemberId member : {1, 2, 3}) {
    stage.hear(member, 0);
    stage.want(member);
  }
  stage.deliver_all<Ready>();
  stage.deliver_all<Propose>();
  stage.deliver_all<Accept>();
  ASSERT_TRUE(stage.deliver<Commit>(1, 3));
  EXPECT_EQ(stage.members(3), (Ids{1, 2, 3}));
  stage.kill(1);
  stage.drop_all();
  // 3 notices the death in the new membership and asks for the next; 2 is still in the old one.
  stage.hear(3, 1);
  stage.want(3);
  stage.hear(2, 1);
  stage.settle();
  EXPECT_EQ(stage.chain().at(1).find(1)->id, 1u);
  stage.hear(2, 1);
  stage.want(2);
  stage.settle();
  for (const MemberId member : {2, 3}) {
    EXPECT_EQ(stage.members(member), (Ids{2, 3}));
    EXPECT_EQ(stage.at(member).current().number, 2u);
  }
}

// An acceptor dies between its acceptance and the coordinator's word that it holds.
TEST(ReformDirected, ADeathAmongThoseWhoAcceptLeavesOneMembership) {
  Stage stage(4);
  stage.kill(3);
  for (const MemberId member : {0, 1, 2}) {
    stage.hear(member, 3);
    stage.want(member);
  }
  stage.deliver_all<Ready>();
  stage.deliver_all<Propose>();
  ASSERT_TRUE(stage.deliver<Accept>(1, 0));
  stage.kill(2);  // its Accept is lost with it
  stage.drop_all();
  for (const MemberId member : {0, 1}) stage.hear(member, 2);
  stage.settle();
  for (const MemberId member : {0, 1}) {
    if (stage.members(member) == Ids{0, 1}) continue;
    stage.hear(member, 2);
    stage.want(member);
  }
  stage.settle();
  for (const MemberId member : {0, 1}) EXPECT_EQ(stage.members(member), (Ids{0, 1}));
}

}  // namespace
}  // namespace weft::runtime

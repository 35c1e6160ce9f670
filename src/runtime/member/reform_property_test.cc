// Many members agree on memberships while an adversary delays, reorders and loses messages, cuts
// and heals links, kills members and lets new ones in. Whatever it does, a number belongs to one
// membership only: then the memberships that were ever installed form one chain, and whoever goes
// on, goes on along it.
// WEFT_SEED=N tries one seed; WEFT_SOAK=1 tries many more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "base/random.h"
#include "runtime/member/reform.h"

namespace weft::runtime {
namespace {

MemberInfo info_of(MemberId member, int seat) {
  return {member, seat, "host", "c" + std::to_string(member), "d", "s"};
}

struct Seeds {
  std::uint64_t first, end;
};
Seeds seeds(std::uint64_t many) {
  if (const char* one = std::getenv("WEFT_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 10);
    return {seed, seed + 1};
  }
  return {1, 1 + (std::getenv("WEFT_SOAK") != nullptr ? 50 * many : many)};
}

struct FlyingVote {
  MemberId from = 0, to = 0;
  std::variant<Ready, Propose, Accept, Commit> body;
};

class World {
 public:
  World(std::uint64_t seed, int members) : random_(seed) {
    View first{1, 0, {}};
    for (int i = 0; i < members; ++i) {
      first.members.push_back(info_of(static_cast<MemberId>(i), i));
    }
    for (const MemberInfo& info : first.members) nodes_.push_back({Reform(first, info), true});
    chain_[0] = first;
  }

  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_.below(below)); }
  MemberId any() { return static_cast<MemberId>(pick(nodes_.size())); }
  bool lives(MemberId member) const { return nodes_[member].lives; }
  std::size_t size() const { return nodes_.size(); }
  Reform& at(MemberId member) { return nodes_[member].reform; }
  bool cut(MemberId a, MemberId b) const { return cut_.contains(std::minmax(a, b)); }

  void want(MemberId member) {
    if (!lives(member) || at(member).current().find(member) == nullptr) return;
    at(member).want(info_of(member, -1));
    collect(member);
  }
  void nudge(MemberId member) {
    if (!lives(member)) return;
    if (at(member).current().members.empty()) ask_again(member);
    at(member).nudge();
    collect(member);
  }
  // Messages under way are lost, and both sides notice.
  void sever(MemberId a, MemberId b) {
    if (a == b || cut(a, b)) return;
    cut_.insert(std::minmax(a, b));
    std::erase_if(flying_, [&](const FlyingVote& f) {
      return std::minmax(f.from, f.to) == std::minmax(a, b);
    });
    believe(a, b, Life::kUnreachable);
    believe(b, a, Life::kUnreachable);
  }
  void heal(MemberId a, MemberId b) {
    if (cut_.erase(std::minmax(a, b)) == 0) return;
    if (lives(a) && lives(b)) {
      believe(a, b, Life::kAlive);
      believe(b, a, Life::kAlive);
    }
  }
  void heal_all() {
    for (MemberId a = 0; a < size(); ++a) {
      for (MemberId b = 0; b < a; ++b) heal(a, b);
    }
  }
  // The others hear of it one by one, later, unless they cannot reach its host.
  void kill(MemberId member) {
    nodes_[member].lives = false;
    for (MemberId other = 0; other < size(); ++other) {
      if (other != member) news_.push_back({other, member});
    }
  }
  // Somebody must be left to go on.
  bool can_spare(MemberId victim) const {
    bool other = false;
    for (const MemberInfo& member : chain_.rbegin()->second.members) {
      other |= member.id != victim && lives(member.id);
    }
    return other && lives(victim);
  }
  void join() {
    const auto member = static_cast<MemberId>(size());
    nodes_.push_back({Reform(View{1, 0, {}}, info_of(member, -1)), true});
    ask_again(member);
  }
  bool hear() {
    for (std::size_t tries = 0; tries < news_.size(); ++tries) {
      const std::size_t i = pick(news_.size());
      const auto [who, dead] = news_[i];
      if (cut(who, dead)) continue;
      news_.erase(news_.begin() + static_cast<std::ptrdiff_t>(i));
      believe(who, dead, Life::kDead);
      return true;
    }
    return false;
  }
  bool deliver() {
    if (flying_.empty()) return false;
    const std::size_t i = pick(flying_.size());
    const FlyingVote message = flying_[i];
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!lives(message.to)) return true;
    Reform& reform = at(message.to);
    if (const auto* m = std::get_if<Ready>(&message.body)) reform.take(message.from, *m);
    if (const auto* m = std::get_if<Propose>(&message.body)) reform.take(message.from, *m);
    if (const auto* m = std::get_if<Accept>(&message.body)) reform.take(message.from, *m);
    if (const auto* m = std::get_if<Commit>(&message.body)) reform.take(*m);
    collect(message.to);
    return true;
  }
  // Everything under way arrives, everybody says again what it has to say, until nothing changes.
  void settle() {
    for (int quiet = 0; quiet < 4;) {
      if (deliver() || hear()) continue;
      ++quiet;
      for (MemberId member = 0; member < size(); ++member) nudge(member);
    }
  }
  // Everybody asks for the next membership until the newest consists of members that live and have
  // it, and of `all` that live. Whether it ever does.
  bool converge(bool all) {
    for (int round = 0; round < 30; ++round) {
      settle();
      const View& newest = chain_.rbegin()->second;
      bool good = true;
      for (const MemberInfo& member : newest.members) {
        good &= lives(member.id) && at(member.id).current() == newest && !at(member.id).wanted();
      }
      if (good && (!all || everybody_is_in())) return true;
      for (MemberId member = 0; member < size(); ++member) {
        if (!at(member).wanted()) want(member);
      }
    }
    return false;
  }
  bool everybody_is_in() const {
    for (MemberId member = 0; member < size(); ++member) {
      if (lives(member) && chain_.rbegin()->second.find(member) == nullptr) return false;
    }
    return true;
  }
  std::string describe() const {
    std::string text;
    for (MemberId member = 0; member < size(); ++member) {
      const Reform& reform = nodes_[member].reform;
      text += std::to_string(member) + (lives(member) ? " lives" : " is dead") + ", has " +
              std::to_string(reform.current().number) + (reform.wanted() ? ", wants more: " : "") +
              (reform.wanted() ? reform.waits_for() : "") + "\n";
    }
    return text + "newest: " + to_text(chain_.rbegin()->second);
  }
  const std::map<std::uint32_t, View>& chain() const { return chain_; }
  const std::string& wrong() const { return wrong_; }

 private:
  struct Node {
    Reform reform;
    bool lives;
  };

  // A process that waits to be taken in tells everyone it reaches.
  void ask_again(MemberId member) {
    for (MemberId other = 0; other < size(); ++other) {
      if (!lives(other) || other == member || cut(member, other)) continue;
      at(other).add_joiner(info_of(member, -1));
      collect(other);
    }
  }
  void believe(MemberId who, MemberId of, Life life) {
    if (!lives(who)) return;
    at(who).believe(of, life);
    collect(who);
  }
  void collect(MemberId member) {
    for (ReformMessage& message : at(member).outgoing()) {
      if (message.to < size() && !cut(member, message.to)) {
        flying_.push_back({member, message.to, std::move(message.body)});
      }
    }
    if (!at(member).changed()) return;
    const View& view = at(member).current();
    const auto [place, first] = chain_.emplace(view.number, view);
    if (!first && !(place->second == view)) {
      wrong_ = "membership " + std::to_string(view.number) + " is both " + to_text(view) + " and " +
               to_text(place->second);
    }
    if (view.find(member) == nullptr) wrong_ = "a member installed a view without itself";
    // Whom it does not reach any more it hears of when it begins to watch.
    for (const MemberInfo& other : view.members) {
      if (!lives(other.id)) news_.push_back({member, other.id});
    }
  }

  Random random_;
  std::vector<Node> nodes_;
  std::vector<FlyingVote> flying_;
  std::vector<std::pair<MemberId, MemberId>> news_;  // who is to hear of whose death
  std::set<std::pair<MemberId, MemberId>> cut_;
  std::map<std::uint32_t, View> chain_;
  std::string wrong_;
};

struct Chances {  // in a thousand steps
  std::size_t want, nudge, kill, join, sever, heal, split;
};

void disturb(World& world, const Chances& chances, int steps) {
  for (int i = 0; i < steps && world.wrong().empty(); ++i) {
    std::size_t draw = world.pick(1000);
    const auto falls = [&](std::size_t chance) {
      const bool hit = draw < chance;
      draw = hit ? 1000 : draw - chance;
      return hit;
    };
    if (falls(chances.want)) {
      world.want(world.any());
    } else if (falls(chances.nudge)) {
      world.nudge(world.any());
    } else if (falls(chances.kill)) {
      const MemberId victim = world.any();
      if (world.can_spare(victim)) world.kill(victim);
    } else if (falls(chances.join)) {
      if (world.size() < 12) world.join();
    } else if (falls(chances.sever)) {
      world.sever(world.any(), world.any());
    } else if (falls(chances.heal)) {
      world.heal(world.any(), world.any());
    } else if (falls(chances.split)) {
      const std::size_t side = world.pick(1u << world.size());
      for (MemberId a = 0; a < world.size(); ++a) {
        for (MemberId b = 0; b < a; ++b) {
          if (((side >> a) & 1) != ((side >> b) & 1)) world.sever(a, b);
        }
      }
    } else if (world.pick(4) == 0) {
      world.hear();
    } else {
      world.deliver();
    }
  }
}

TEST(ReformProperty, WithoutFaultsAllEndInTheSameViewAtOnce) {
  for (int members = 1; members <= 9; ++members) {
    World world(1, members);
    for (MemberId member = 0; member < world.size(); ++member) world.want(member);
    while (world.deliver()) {
    }
    ASSERT_EQ(world.chain().size(), 2u) << members;
    EXPECT_EQ(world.chain().at(1).members.size(), static_cast<std::size_t>(members));
    for (MemberId member = 0; member < world.size(); ++member) {
      EXPECT_EQ(world.at(member).current(), world.chain().at(1));
    }
  }
}

TEST(ReformProperty, AfterDeathsAllWhoLiveEndInTheSameView) {
  const Seeds all = seeds(3000);
  for (std::uint64_t seed = all.first; seed < all.end; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    World world(seed, 2 + static_cast<int>(seed % 6));
    disturb(world, {150, 50, 10, 5, 0, 0, 0}, 400);
    ASSERT_EQ(world.wrong(), "");
    ASSERT_TRUE(world.converge(true)) << world.describe();
    ASSERT_EQ(world.wrong(), "");
  }
}

TEST(ReformProperty, PartitionsNeverGiveTwoMembershipsOneNumber) {
  const Seeds all = seeds(6000);
  for (std::uint64_t seed = all.first; seed < all.end; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    World world(seed, 3 + static_cast<int>(seed % 5));
    disturb(world, {120, 60, seed % 2 == 0 ? 2u : 0u, 2, 20, 20, 6}, 700);
    ASSERT_EQ(world.wrong(), "");
    world.heal_all();
    const bool agreed = world.converge(false);
    ASSERT_EQ(world.wrong(), "");
    // Where nobody died, those who were not left out go on once all is healed.
    if (seed % 2 != 0) {
      ASSERT_TRUE(agreed) << world.describe();
    }
  }
}

}  // namespace
}  // namespace weft::runtime

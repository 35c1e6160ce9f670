// Ranks in one process under virtual time: drives machines, replicas and shard servers as the live
// runtime does, with delays that a test chooses. For tests of this room and of others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sync/machine.h"
#include "sync/replica.h"
#include "sync/shards_testing.h"
#include "sync/straggler.h"

namespace weft::sync {

struct SwarmOptions {
  Mode mode;
  std::vector<Member> members;
  std::vector<double> start;  // parameters
  double lr = 0.1;            // of the inner optimizer, plain gradient descent
  std::function<void(std::uint32_t rank, std::span<const double> at, std::span<double> out)>
      gradient;
  std::function<double(std::uint32_t rank, std::span<const double> at)> loss;
  std::function<Seconds(std::uint32_t rank)> step_s = [](std::uint32_t) { return 1.0; };
  std::function<Seconds()> message_s = [] { return 0.0; };
  std::uint32_t servers = 1;  // shards, for the modes that have them
  std::string label;          // shown when the ranks are stuck
};

// Under sync modes with all delays 0 everything happens in order of rank.
class Swarm {
 public:
  using Values = std::vector<double>;

  explicit Swarm(SwarmOptions options)
      : options_(std::move(options)),
        shards_(options_.mode, options_.members, options_.start, options_.servers) {
    for (const Member& member : options_.members) {
      auto machine = Machine::make(options_.mode, options_.members, member.rank);
      CHECK_MSG(machine.ok(), machine.error().what.c_str());
      add_rank(member.rank, std::move(*machine), options_.start);
    }
    ballot_.emplace(static_cast<std::uint32_t>(options_.members.size()), options_.mode.backup);
    for (const Member& member : options_.members)
      act(member.rank, rank(member.rank).machine.start());
  }

  struct Rank {
    Machine machine;
    Replica<double> replica;
    Values parameters, gradient;
    std::uint64_t task = 0;            // number of the step being taken; older ones are dropped
    Seconds busy = 0;                  // spent in steps
    std::vector<std::uint64_t> begun;  // clock at the beginning of each step
    std::map<std::uint64_t, Values> sums;
    std::map<std::uint64_t, std::vector<Values>> heard;
    std::map<std::uint64_t, std::uint32_t> shards_missing;
    Action exchange;
    std::uint64_t version = 0;  // of the shards in `parameters`, with backup workers
    bool whole = false;         // the step being taken ends with the optimizer
  };
  Rank& rank(std::uint32_t rank) { return *ranks_.at(rank); }
  Seconds now() const { return now_; }
  std::uint64_t messages() const { return messages_; }  // averages begun, over all ranks
  // Called at the beginning of each step.
  std::function<void(std::uint32_t rank)> on_begin;
  // With backup workers: whenever the ballot has chosen.
  std::function<void(const Ballot::Choice&)> on_choice;
  // Of each shard's answers to `rank`, those to ways that were not dropped.
  std::uint64_t counted(std::uint32_t rank) { return shards_.counted[rank]; }

  // Handles one event; false when nothing is left to happen.
  bool turn() {
    if (queue_.empty()) return false;
    const Entry entry = queue_.top();
    queue_.pop();
    now_ = entry.at;
    (*entry.what)();
    return true;
  }
  // Until every rank has taken so many steps. Requires: the mode lets them.
  void run_steps(std::uint64_t steps) {
    while (!all([&](Rank& r) { return r.machine.step() >= steps; })) go();
  }
  void run_rounds(std::uint64_t rounds) {
    while (!all([&](Rank& r) { return r.machine.round() >= rounds; })) go();
  }
  void run_until(Seconds time) {
    while (!queue_.empty() && queue_.top().at <= time) turn();
    now_ = time;
  }
  // Everything under way is lost; the ranks in `members` go on, new ones begin. With `restart`
  // those that go on do so from what they save, too.
  void change_members(std::vector<Member> members, bool restart = false) {
    ++epoch_;
    queue_ = {};
    sums_.clear(), votes_.clear(), letters_.clear();
    std::map<std::uint32_t, std::unique_ptr<Rank>> before = std::exchange(ranks_, {});
    for (Member& member : members) {
      const auto at = before.find(member.rank);
      member.round = at != before.end() ? at->second->machine.round() : 0;
      member.joining = at == before.end() || at->second->machine.joining();
    }
    options_.members = members;
    for (const Member& member : members) {
      if (auto at = before.find(member.rank); at != before.end()) {
        ranks_[member.rank] = std::move(at->second);
        Machine& machine = rank(member.rank).machine;
        if (restart) machine = restored(machine, member.rank);
      } else {
        auto machine = Machine::make(options_.mode, members, member.rank, epoch_);
        CHECK(machine.ok());
        add_rank(member.rank, std::move(*machine), Values(options_.start.size()));
      }
    }
    shards_.change_members(members, restart);
    ballot_.emplace(static_cast<std::uint32_t>(members.size()), options_.mode.backup,
                    shards_.version());
    std::map<std::uint32_t, Actions> actions;
    for (const Member& member : members) {
      Rank& r = rank(member.rank);
      const bool fresh = restart || before.find(member.rank) == before.end();
      r.sums.clear(), r.heard.clear(), r.shards_missing.clear();
      const bool taking = !fresh && !r.machine.waiting();
      actions[member.rank] = fresh ? r.machine.start() : r.machine.change_members(members, epoch_);
      if (taking && !r.machine.waiting()) take_step(member.rank);  // its event went with the queue
    }
    for (const auto& [number, todo] : actions) {
      for (const Action& action : todo) {
        if (action.kind == Action::Kind::kAdopt) adopt(number, action.from);
      }
    }
    for (const auto& [number, todo] : actions) act(number, todo);
  }

 private:
  struct Entry {
    Seconds at;
    std::uint64_t number;
    std::shared_ptr<std::function<void()>> what;  // shared: the queue hands out copies
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void go() {
    if (turn()) return;
    std::string state = options_.label + " stuck under " + mode_text(options_.mode) + ":";
    for (auto& [number, r] : ranks_) {
      state += " " + std::to_string(number) + (r->machine.waiting() ? " waits" : " works") +
               " at step " + std::to_string(r->machine.step()) + " round " +
               std::to_string(r->machine.round()) + ";";
    }
    CHECK_MSG(false, state.c_str());
  }
  template <typename Test>
  bool all(Test test) {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](auto& r) { return test(*r.second); });
  }
  void later(Seconds delay, std::function<void()> what) {
    queue_.push(
        {now_ + delay, ++entries_, std::make_shared<std::function<void()>>(std::move(what))});
  }
  void add_rank(std::uint32_t number, Machine machine, Values parameters) {
    ranks_[number].reset(new Rank{std::move(machine),
                                  Replica<double>(options_.mode, parameters.size()),
                                  parameters,
                                  Values(parameters.size()),
                                  0,
                                  0,
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  0,
                                  false});
  }
  Machine restored(const Machine& machine, std::uint32_t number) const {
    auto again = Machine::restore(machine.save(), options_.members, number, epoch_);
    CHECK_MSG(again.ok(), again.error().what.c_str());
    return std::move(*again);
  }

  void act(std::uint32_t number, const Actions& actions) {
    for (const Action& action : actions) carry_out(number, action);
  }

  void carry_out(std::uint32_t number, const Action& action) {
    Rank& r = rank(number);
    using Kind = Action::Kind;
    switch (action.kind) {
      case Kind::kAverage:
        ++messages_;
        return action.targets.empty() && action.weights.empty() ? add_to_sum(number, action)
                                                                : tell_neighbours(number, action);
      case Kind::kApply:
        return apply(r, action);
      case Kind::kExchange:
        return exchange(number, action);
      case Kind::kVote:
        return vote(number, action);
      case Kind::kAgree:
        return r.replica.agree(r.parameters);
      case Kind::kAdopt:
        return;  // change_members has seen to it, before anybody went on
      case Kind::kProceed:
        if (on_begin) on_begin(number);
        r.begun.push_back(r.machine.step());
        r.whole = action.whole;
        return take_step(number);
    }
  }

  void take_step(std::uint32_t number) {
    Rank& r = rank(number);
    const std::uint64_t task = ++r.task;
    const Seconds time = options_.step_s(number);
    later(time, [this, number, task, time] {
      Rank& later_rank = rank(number);
      if (later_rank.task != task) return;  // dropped
      later_rank.busy += time;
      finish_step(number);
    });
  }

  void finish_step(std::uint32_t number) {
    Rank& r = rank(number);
    options_.gradient(number, r.parameters, r.gradient);
    const double loss = options_.loss ? options_.loss(number, r.parameters) : 0;
    if (r.whole) {
      r.replica.correct(r.parameters, r.gradient);
      descend(r);
    }
    act(number, r.machine.stepped({loss, options_.lr}));
  }
  void descend(Rank& r) {
    for (std::size_t i = 0; i < r.parameters.size(); ++i) {
      r.parameters[i] -= options_.lr * r.gradient[i];
    }
  }

  void add_to_sum(std::uint32_t number, const Action& action) {
    Rank& r = rank(number);
    Values own(r.replica.contribution_size(action));
    r.replica.contribute(action, action.what == What::kGradients ? r.gradient : r.parameters, own);
    // Groups of a hierarchy have operations of the same number: their first rank tells them apart.
    auto& parts = sums_[{action.id, action.ranks.front()}];
    parts[number] = std::move(own);
    if (parts.size() < action.ranks.size()) return;
    Values sum(parts.begin()->second.size());
    for (const auto& [from, part] : parts) {
      CHECK(part.size() == sum.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    sums_.erase({action.id, action.ranks.front()});
    for (const std::uint32_t to : action.ranks) {
      later(options_.message_s(), [this, to, id = action.id, sum] {
        rank(to).sums[id] = sum;
        act(to, rank(to).machine.arrived(id, Replica<double>::totals(sum)));
      });
    }
  }

  void tell_neighbours(std::uint32_t number, const Action& action) {
    hear(number, number, action.id, rank(number).parameters, action.ranks.size());
    for (const std::uint32_t to : action.targets) {
      later(options_.message_s(), [this, to, number, action, values = rank(number).parameters] {
        hear(to, number, action.id, values, action.ranks.size());
      });
    }
  }
  void hear(std::uint32_t to, std::uint32_t from, std::uint64_t id, const Values& values,
            std::size_t wanted) {
    auto& letters = letters_[{to, id}];
    letters[from] = values;
    if (letters.size() < wanted) return;
    Rank& r = rank(to);
    for (auto& [sender, letter] : letters) r.heard[id].push_back(letter);
    letters_.erase({to, id});
    later(0, [this, to, id] { act(to, rank(to).machine.arrived(id, {})); });
  }

  void apply(Rank& r, const Action& action) {
    if (!action.weights.empty()) {
      const std::vector<Values> heard = std::move(r.heard[action.id]);
      r.heard.erase(action.id);
      const std::vector<std::span<const double>> views(heard.begin(), heard.end());
      return r.replica.mix(action, views, r.parameters);
    }
    if (action.alone) return r.replica.apply(action, {}, r.parameters);
    const Values sum = std::move(r.sums.at(action.id));
    r.sums.erase(action.id);
    const bool gradients = action.what == What::kGradients;
    r.replica.apply(action, sum, gradients ? r.gradient : r.parameters);
    if (gradients) descend(r);
  }

  void exchange(std::uint32_t number, const Action& action) {
    Rank& r = rank(number);
    r.exchange = action;
    r.shards_missing[action.id] = options_.servers;
    for (std::uint32_t k = 0; k < options_.servers; ++k) {
      const Range part = part_of(r.parameters.size(), options_.servers, k);
      Values way(part.size);
      r.replica.way(action, r.parameters, part, way);
      later(options_.message_s(), [this, number, k, way, clock = action.step] {
        give(shards_.push(k, number, clock, way));
      });
    }
    if (options_.mode.backup == 0) return;
    later(options_.message_s(), [this, number, clock = action.step] {
      if (const auto choice = ballot_->ready(number, clock)) tell_choice(*choice);
    });
  }
  void tell_choice(const Ballot::Choice& choice) {
    if (on_choice) on_choice(choice);
    for (std::uint32_t k = 0; k < options_.servers; ++k) {
      later(options_.message_s(), [this, k, choice] { give(shards_.choose(k, choice)); });
    }
  }
  void give(const std::vector<TestShards::Answer>& answers) {
    for (const auto& answer : answers) {
      later(options_.message_s(), [this, answer] { take_shard(answer); });
    }
  }
  void take_shard(const TestShards::Answer& answer) {
    Rank& r = rank(answer.rank);
    const Range part = part_of(r.parameters.size(), options_.servers, answer.shard);
    std::copy(answer.values.begin(), answer.values.end(),
              r.parameters.begin() + static_cast<std::ptrdiff_t>(part.from));
    const std::uint64_t id = r.exchange.id;
    CHECK(options_.mode.backup == 0 || r.shards_missing.at(id) == options_.servers ||
          r.version == answer.version);  // all shards of one update
    r.version = answer.version;
    if (--r.shards_missing.at(id) > 0) return;
    r.shards_missing.erase(id);
    r.replica.agree(r.parameters);
    act(answer.rank, r.machine.answered(id, answer.version));
  }

  void vote(std::uint32_t number, const Action& action) {
    auto& votes = votes_[action.id];
    votes.push_back(rank(number).replica.drift(rank(number).parameters));
    if (votes.size() < action.ranks.size()) return;
    const double largest = *std::max_element(votes.begin(), votes.end());
    for (const std::uint32_t to : action.ranks) {
      later(options_.message_s(),
            [this, to, id = action.id, largest] { act(to, rank(to).machine.voted(id, largest)); });
    }
  }
  void adopt(std::uint32_t number, std::uint32_t from) {
    ++rank(number).task;
    Rank& source = rank(from);
    std::vector<Values> vectors;
    for (const auto& vector : source.replica.vectors()) vectors.push_back(*vector.values);
    later(options_.message_s(),
          [this, number, saved = source.machine.save(), vectors, parameters = source.parameters] {
            Rank& r = rank(number);
            r.parameters = parameters;
            auto mine = r.replica.vectors();
            for (std::size_t i = 0; i < mine.size(); ++i) {
              if (mine[i].replicated) *mine[i].values = vectors[i];
            }
            auto actions = r.machine.adopt(saved);
            CHECK(actions.ok());
            act(number, *actions);
          });
  }

  SwarmOptions options_;
  std::map<std::uint32_t, std::unique_ptr<Rank>> ranks_;
  TestShards shards_;
  std::optional<Ballot> ballot_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::map<std::uint32_t, Values>> sums_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::map<std::uint32_t, Values>> letters_;
  std::map<std::uint64_t, std::vector<double>> votes_;
  std::priority_queue<Entry> queue_;
  std::uint64_t entries_ = 0, messages_ = 0;
  std::uint32_t epoch_ = 0;
  Seconds now_ = 0;
};

}  // namespace weft::sync

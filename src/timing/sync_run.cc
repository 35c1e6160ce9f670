#include "timing/sync_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/random.h"
#include "sync/machine.h"
#include "sync/server.h"
#include "sync/straggler.h"
#include "timing/sync_links.h"

namespace weft {
namespace {

class SyncRun {
 public:
  SyncRun(const SyncTask& task, std::vector<sync::Machine> machines)
      : task_(task),
        averages_(task.links),
        shards_(task.links, task.parameters * task.bytes_per_value),
        server_(task.mode, machines.front().members()),
        ballot_(task.ranks, task.mode.backup) {
    steps_[0] = task.ranks;
    for (sync::Machine& machine : machines) {
      const std::uint64_t purpose = std::uint64_t{machine.self()} << 32;
      ranks_.emplace_back(std::move(machine), Random(task.seed ^ purpose));
    }
  }

  SyncOutcome run() {
    for (std::uint32_t rank = 0; rank < task_.ranks; ++rank) {
      ranks_[rank].machine.take_all_steps();
      act(rank, ranks_[rank].machine.start());
    }
    const Seconds end = task_.seconds > 0 ? task_.seconds : kNever;
    // All of the last instant happens: ranks that go on together have taken equally many steps.
    while (!queue_.empty() && queue_.top().at <= (ended_ ? now_ : end)) {
      const Event event = queue_.top();
      queue_.pop();
      now_ = event.at;
      ++handled_;
      handle(event);
    }
    CHECK_MSG(ended_ || end < kNever, "all ranks wait for each other");
    if (!ended_) now_ = end;
    return outcome();
  }

 private:
  enum class What : std::uint8_t { kStepped, kAveraged, kLetter, kPushed, kChosen, kAnswered };
  struct Event {
    Seconds at = 0;
    std::uint64_t number = 0;
    What what = What::kStepped;
    std::uint32_t rank = 0;
    std::uint64_t id = 0;  // of the operation, or the clock of a push, or the number of a choice

    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Rank {
    Rank(sync::Machine made, Random drawn) : machine(std::move(made)), random(drawn) {}
    sync::Machine machine;
    Random random;
    std::uint64_t done = 0;  // steps after which it was let go on
    Seconds done_at = 0;
    bool begun = false, computing = false;
    Seconds waits_since = 0, waited = 0;
    Seconds links_free = 0;  // of averages
    Seconds letters_out_free = 0, letters_in_free = 0;
    double sent_bytes = 0;
    std::uint64_t exchange = 0, clock = 0;         // under way with the servers
    std::uint64_t answers = 0;                     // from them, so far
    std::map<std::uint64_t, std::uint32_t> heard;  // letters by operation, its own one too
  };
  // Ranks that have come to an average.
  struct Gathering {
    std::vector<std::uint32_t> ranks;
    std::size_t came = 0;
    sync::Totals totals;
  };

  void later(Seconds at, What what, std::uint32_t rank, std::uint64_t id) {
    queue_.push({at, ++entries_, what, rank, id});
  }

  void handle(const Event& event) {
    switch (event.what) {
      case What::kStepped:
        return stepped(event.rank);
      case What::kAveraged:
        return averaged(event.id, event.rank);
      case What::kLetter:
        return hear(event.rank, event.id);
      case What::kPushed:
        return pushed(event.rank, event.id);
      case What::kChosen:
        return carry_out(server_.chosen(choices_.extract(event.id).mapped()));
      case What::kAnswered: {
        Rank& r = ranks_[event.rank];
        return act(event.rank, r.machine.answered(r.exchange, r.clock));
      }
    }
  }

  void act(std::uint32_t rank, const sync::Actions& actions) {
    using Kind = sync::Action::Kind;
    for (const sync::Action& action : actions) {
      switch (action.kind) {
        case Kind::kAverage:
          action.weights.empty() ? gather(action) : tell_neighbours(rank, action);
          break;
        case Kind::kExchange:
          push(rank, action);
          break;
        case Kind::kProceed:
          proceed(rank);
          break;
        case Kind::kApply:
        case Kind::kAgree:
          break;  // numbers only
        case Kind::kVote:
        case Kind::kAdopt:
          CHECK_MSG(false, "an action that needs values, or members that change");
      }
    }
  }

  void proceed(std::uint32_t rank) {
    Rank& r = ranks_[rank];
    if (r.begun) {
      ++r.done;
      r.done_at = now_;
      ended_ = ended_ || (task_.steps > 0 && r.done >= task_.steps);
    }
    r.begun = r.computing = true;
    r.waited += now_ - r.waits_since;
    if (task_.mode.exchange != sync::Exchange::kServers) {
      widest_ = std::max(widest_, r.machine.step() - steps_.begin()->first);
    }
    Seconds time = task_.step_s * (task_.slow.empty() ? 1 : task_.slow[rank]);
    if (task_.jitter > 0) {
      const double sigma = task_.jitter;
      time *= r.random.log_normal(-sigma * sigma / 2, sigma);
    }
    later(now_ + time, What::kStepped, rank, 0);
  }

  void stepped(std::uint32_t rank) {
    Rank& r = ranks_[rank];
    r.computing = false;
    r.waits_since = now_;
    const std::uint64_t step = r.machine.step();
    sync::Machine::Step taken{0, 1};
    if (task_.loss_half_steps > 0) {
      taken.loss = std::exp2(-static_cast<double>(step) / task_.loss_half_steps);
    }
    const sync::Actions actions = r.machine.stepped(taken);
    if (task_.mode.exchange != sync::Exchange::kServers) {
      const auto at = steps_.find(step);
      if (--at->second == 0) steps_.erase(at);
      ++steps_[step + 1];
    }
    act(rank, actions);
  }

  // Averages.
  double values_of(const sync::Action& action) const {
    if (action.what != sync::What::kDeltas) return task_.parameters;
    return task_.parameters / task_.mode.fragments * (task_.mode.control ? 2 : 1);
  }
  bool coded(const sync::Action& action) const { return action.what != sync::What::kParameters; }

  void gather(const sync::Action& action) {
    // Groups of a hierarchy have operations of the same number: their first rank tells them apart.
    Gathering& gathering = gatherings_[{action.id, action.ranks.front()}];
    if (gathering.came++ == 0) gathering.ranks = action.ranks;
    gathering.totals.weight += action.weight;
    gathering.totals.steps += action.weight * action.steps;
    gathering.totals.loss += action.weight * action.loss;
    if (gathering.came < action.ranks.size()) return;
    const double values = values_of(action);
    const Seconds coding = coded(action) ? values * task_.coding_s_per_value : 0;
    const double bytes = values * (coded(action) ? task_.bytes_per_value : kPlainValueBytes);
    const AverageClock::Cost& cost = averages_.cost(gathering.ranks, bytes);
    if (gathering.ranks.size() == ranks_.size()) algorithm_ = cost.algorithm;
    Seconds begin = now_ + coding / 2;
    for (const std::uint32_t each : gathering.ranks) {
      begin = std::max(begin, ranks_[each].links_free);
    }
    for (const std::uint32_t each : gathering.ranks) {
      ranks_[each].links_free = begin + cost.time_s;
      ranks_[each].sent_bytes += cost.sent_bytes;
    }
    later(begin + cost.time_s + coding / 2, What::kAveraged, action.ranks.front(), action.id);
  }

  void averaged(std::uint64_t id, std::uint32_t first) {
    const Gathering gathering = std::move(gatherings_.extract({id, first}).mapped());
    for (const std::uint32_t rank : gathering.ranks) {
      act(rank, ranks_[rank].machine.arrived(id, gathering.totals));
    }
  }

  // Neighbours: one letter after the other out of a link, and into one.
  void tell_neighbours(std::uint32_t rank, const sync::Action& action) {
    const double bytes = task_.parameters * kPlainValueBytes;
    Rank& r = ranks_[rank];
    letters_wanted_ = static_cast<std::uint32_t>(action.ranks.size());  // the same at all ranks
    for (const std::uint32_t to : action.targets) {
      const RankLink &from_link = task_.links[rank], &to_link = task_.links[to];
      Rank& target = ranks_[to];
      const Seconds begin = std::max(now_, r.letters_out_free);
      r.letters_out_free = begin + bytes / from_link.bytes_per_s;
      const Seconds taken_in =
          std::max(begin, target.letters_in_free) + bytes / to_link.bytes_per_s;
      target.letters_in_free = std::max(taken_in, r.letters_out_free);
      r.sent_bytes += bytes;
      const Seconds latency = (from_link.latency_s + to_link.latency_s) / 2;
      later(target.letters_in_free + latency, What::kLetter, to, action.id);
    }
    later(now_, What::kLetter, rank, action.id);
  }

  // A letter may be of an operation to which this rank has not come yet; its own one comes then.
  void hear(std::uint32_t rank, std::uint64_t id) {
    Rank& r = ranks_[rank];
    if (++r.heard[id] < letters_wanted_) return;
    r.heard.erase(id);
    act(rank, r.machine.arrived(id, {}));
  }

  // Shard servers.
  Seconds half_coding() const { return task_.parameters * task_.coding_s_per_value / 2; }

  void push(std::uint32_t rank, const sync::Action& action) {
    Rank& r = ranks_[rank];
    r.exchange = action.id;
    r.clock = action.step;
    r.sent_bytes += shards_.part_bytes() * (task_.ranks - 1);
    later(shards_.push(rank, now_ + half_coding()), What::kPushed, rank, action.step);
  }

  void pushed(std::uint32_t rank, std::uint64_t clock) {
    carry_out(server_.pushed(rank, clock));
    if (task_.mode.backup == 0) return;
    if (auto choice = ballot_.ready(rank, clock)) {
      const std::uint64_t number = choice->number;
      choices_.emplace(number, std::move(*choice));
      later(now_ + shards_.latency_s(), What::kChosen, 0, number);
    }
  }

  void carry_out(const Result<sync::ServerActions>& actions) {
    CHECK_MSG(actions.ok(), actions.error().what.c_str());
    for (const sync::ServerAction& action : *actions) {
      if (action.kind == sync::ServerAction::Kind::kAnswer) answer(action);
    }
  }

  void answer(const sync::ServerAction& action) {
    Rank& r = ranks_[action.rank];
    if (task_.mode.backup > 0) r.clock = action.clock;
    widest_ = std::max(widest_, r.clock - std::min(r.clock, server_.slowest()));
    ++answers_;
    ++r.answers;
    later(shards_.answer(action.rank, now_) + half_coding(), What::kAnswered, action.rank, 0);
  }

  SyncOutcome outcome() const {
    SyncOutcome out;
    out.time_s = now_;
    out.widest = widest_;
    out.algorithm = algorithm_;
    out.events = handled_;
    double bytes = 0, steps = 0;
    for (const Rank& r : ranks_) {
      SyncRank rank;
      rank.steps = r.done;
      const auto done = static_cast<double>(r.done);
      const double sent =
          r.sent_bytes + static_cast<double>(answers_ - r.answers) * shards_.part_bytes();
      rank.waiting_s = r.waited + (r.computing ? 0 : now_ - r.waits_since);
      if (r.done > 0) {
        rank.steps_per_s = done / r.done_at;
        rank.bytes_per_step = sent / done;
      }
      bytes += sent;
      steps += done;
      out.ranks.push_back(rank);
    }
    if (steps > 0) out.bytes_per_step = bytes / steps;
    return out;
  }

  const SyncTask& task_;
  AverageClock averages_;
  ShardLinks shards_;
  sync::ShardServer server_;
  sync::Ballot ballot_;
  std::vector<Rank> ranks_;
  std::map<std::uint64_t, std::uint32_t> steps_;  // taken, and by how many ranks each
  std::map<std::pair<std::uint64_t, std::uint32_t>, Gathering> gatherings_;
  std::map<std::uint64_t, sync::Ballot::Choice> choices_;  // on their way, by number
  std::uint32_t letters_wanted_ = 0;
  std::priority_queue<Event> queue_;
  std::uint64_t entries_ = 0, handled_ = 0, answers_ = 0, widest_ = 0;
  std::string algorithm_;
  Seconds now_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<SyncOutcome> run_sync(const SyncTask& task) {
  if (const Status status = check_sync(task); !status.ok()) return status.error();
  std::vector<sync::Member> members(task.ranks);
  for (std::uint32_t rank = 0; rank < task.ranks; ++rank) members[rank].rank = rank;
  std::vector<sync::Machine> machines;
  for (std::uint32_t rank = 0; rank < task.ranks; ++rank) {
    auto machine = sync::Machine::make(task.mode, members, rank);
    if (!machine.ok()) return machine.error();
    machines.push_back(std::move(*machine));
  }
  return SyncRun(task, std::move(machines)).run();
}

Result<SyncComparison> compare_sync(const SyncTask& task) {
  SyncComparison out;
  auto slowed = run_sync(task);
  if (!slowed.ok()) return slowed.error();
  out.slowed = std::move(*slowed);
  SyncTask without = task;
  without.slow.clear();
  auto even = run_sync(without);
  if (!even.ok()) return even.error();
  out.even = std::move(*even);
  const double least =
      task.slow.empty() ? 1 : *std::min_element(task.slow.begin(), task.slow.end());
  for (std::uint32_t rank = 0; rank < task.ranks; ++rank) {
    if (!task.slow.empty() && task.slow[rank] > least) continue;
    out.others.push_back(rank);
    out.even_steps_per_s += out.even.ranks[rank].steps_per_s;
    out.slowed_steps_per_s += out.slowed.ranks[rank].steps_per_s;
    out.waiting += out.slowed.ranks[rank].waiting_s / out.slowed.time_s;
  }
  const auto count = static_cast<double>(out.others.size());
  out.even_steps_per_s /= count;
  out.slowed_steps_per_s /= count;
  out.waiting /= count;
  if (out.even_steps_per_s == 0) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("under sync mode '{}' no rank ended a step within {:g} s",
                             sync::mode_text(task.mode), out.even.time_s),
                 "run longer, or with fewer parameters"};
  }
  return out;
}

}  // namespace weft

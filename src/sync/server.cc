#include "sync/server.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sync/state_text.h"

namespace weft::sync {
namespace {

constexpr std::string_view kShardHeading = "weft-sync-shard 1";
constexpr std::uint64_t kMostWorkers = 1 << 20;

}  // namespace

ShardServer::ShardServer(const Mode& mode, const std::vector<Member>& members) : mode_(mode) {
  for (const Member& member : members) {
    workers_[member.rank].weight = member.weight;
    ++clocks_[0];
  }
}

std::uint64_t ShardServer::slowest() const { return clocks_.empty() ? 0 : clocks_.begin()->first; }

void ShardServer::forget_clock(std::uint64_t clock) {
  const auto at = clocks_.find(clock);
  if (--at->second == 0) clocks_.erase(at);
}

void ShardServer::set_clock(Worker& worker, std::uint64_t clock) {
  forget_clock(worker.clock);
  ++clocks_[clock];
  worker.clock = clock;
}

void ShardServer::answer_if_near(std::uint32_t rank, Worker& worker, ServerActions& out) {
  if (!worker.waiting || worker.clock - slowest() > mode_.bound) return;
  worker.waiting = false;
  worker.version = version_;
  out.push_back({ServerAction::Kind::kAnswer, rank, 1});
}

void ShardServer::answer_ready(ServerActions& out) {
  for (auto& [rank, worker] : workers_) answer_if_near(rank, worker, out);
}

Result<ServerActions> ShardServer::pushed(std::uint32_t rank, std::uint64_t clock) {
  const auto at = workers_.find(rank);
  if (at == workers_.end() || clock > at->second.clock + 1) {
    return Error{ErrorKind::kInvalidInput,
                 at == workers_.end()
                     ? fmt::format("rank {} pushed to a shard; it is not a member", rank)
                     : fmt::format("rank {} pushed for clock {}; its last was {}", rank, clock,
                                   at->second.clock),
                 "give all ranks the same members"};
  }
  ServerActions out;
  Worker& worker = at->second;
  if (mode_.backup > 0) {
    if (worker.waiting) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("rank {} pushed for clock {} before it was answered for {}", rank,
                               clock, worker.clock),
                   ""};
    }
    set_clock(worker, std::max(worker.clock, clock));
    worker.waiting = true;
    out.push_back({ServerAction::Kind::kKeep, rank, 1});
    carry_out_choices(out);
    return out;
  }
  const std::uint64_t slowest_before = slowest();
  if (clock > worker.clock) {
    set_clock(worker, clock);
    if (mode_.buffer == 0) {
      out.push_back({ServerAction::Kind::kAdd, rank, 1});
      ++version_;
    } else {
      // Ways that started from an older shard count less (Nguyen et al. 2022, staleness scaling).
      const auto stale = static_cast<double>(version_ - worker.version);
      out.push_back({ServerAction::Kind::kCollect, rank, 1 / std::sqrt(1 + stale)});
      if (++collected_ >= mode_.buffer) {
        out.push_back({ServerAction::Kind::kMove, rank, mode_.outer.lr / mode_.buffer});
        collected_ = 0;
        ++version_;
      }
    }
  }
  worker.waiting = true;
  // Others wait for the slowest alone.
  if (slowest() == slowest_before) {
    answer_if_near(rank, worker, out);
  } else {
    answer_ready(out);
  }
  return out;
}

Result<ServerActions> ShardServer::chosen(const Ballot::Choice& choice) {
  for (const std::uint32_t rank : choice.ranks) {
    if (workers_.contains(rank)) continue;
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {} was chosen for an update; it is not a member", rank),
                 "give all ranks the same members"};
  }
  ServerActions out;
  choices_[choice.number] = choice;
  carry_out_choices(out);
  return out;
}

void ShardServer::carry_out_choices(ServerActions& out) {
  for (auto next = choices_.begin(); next != choices_.end() && next->first == carried_out_ + 1;
       next = choices_.begin()) {
    const Ballot::Choice& choice = next->second;
    const bool all_there = std::all_of(choice.ranks.begin(), choice.ranks.end(),
                                       [&](auto rank) { return workers_.at(rank).waiting; });
    if (!all_there) return;
    if (!choice.late) update(choice, out);
    for (const std::uint32_t rank : choice.ranks) {
      Worker& worker = workers_.at(rank);
      worker.waiting = false;
      set_clock(worker, version_);
      worker.version = version_;
      out.push_back({ServerAction::Kind::kAnswer, rank, 1, version_, !choice.late});
    }
    ++carried_out_;
    choices_.erase(next);
  }
}

void ShardServer::update(const Ballot::Choice& choice, ServerActions& out) {
  double total = 0;
  for (const std::uint32_t rank : choice.ranks) total += workers_.at(rank).weight;
  for (const std::uint32_t rank : choice.ranks) {
    out.push_back({ServerAction::Kind::kTake, rank, workers_.at(rank).weight / total});
  }
  ++version_;
}

ServerActions ShardServer::left(std::uint32_t rank) {
  if (const auto at = workers_.find(rank); at != workers_.end()) {
    forget_clock(at->second.clock);
    workers_.erase(at);
  }
  ServerActions out;
  if (mode_.backup == 0) answer_ready(out);
  return out;
}

void ShardServer::settle(std::uint64_t version) { version_ = std::max(version_, version); }

void ShardServer::change_members(const std::vector<Member>& members) {
  std::map<std::uint32_t, Worker> now;
  for (const Member& member : members) {
    const auto at = workers_.find(member.rank);
    Worker& worker = now[member.rank];
    if (at != workers_.end() && !member.joining) {
      worker = at->second;
    } else {
      worker = {member.joining ? newcomer_round(members) : member.round, version_};
    }
    worker.waiting = false;
    worker.weight = member.weight;
  }
  workers_ = std::move(now);
  clocks_.clear();
  for (const auto& [rank, worker] : workers_) ++clocks_[worker.clock];
  carried_out_ = 0;
  choices_.clear();
}

std::string ShardServer::save() const {
  std::string text =
      fmt::format("{}\nmode {}\nversion {}\ncollected {}\nworkers {}\n", kShardHeading,
                  mode_text(mode_), version_, collected_, workers_.size());
  for (const auto& [rank, worker] : workers_) {
    text += fmt::format("worker {} {} {}\n", rank, worker.clock, worker.version);
  }
  return seal(std::move(text));
}

Result<ShardServer> ShardServer::restore(std::string_view saved,
                                         const std::vector<Member>& members) {
  StateReader reader(saved, kShardHeading);
  const auto mode = parse_mode(reader.line("mode"));
  if (!mode.ok() || mode->exchange != Exchange::kServers) {
    reader.refuse(mode.ok() ? "its mode has no shard servers" : mode.error().what);
    return *reader.finish();
  }
  ShardServer server(*mode, {});
  server.version_ = reader.whole("version", 0, kMostInState);
  server.collected_ = static_cast<std::uint32_t>(
      reader.whole("collected", 0, mode->buffer > 0 ? mode->buffer - 1 : 0));
  const std::uint64_t count = reader.whole("workers", 0, kMostWorkers);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto v = reader.wholes("worker", 3, kMostInState);
    if (v.size() != 3 || v[0] >= kUnbounded || v[2] > server.version_) {
      reader.refuse("a worker of the shard has values that cannot be");
      break;
    }
    server.workers_[static_cast<std::uint32_t>(v[0])] = {v[1], v[2]};
  }
  if (auto error = reader.finish()) return *error;
  server.change_members(members);
  return server;
}

std::vector<ShardMove> reshard(std::size_t size, std::uint32_t servers_before,
                               std::uint32_t servers_after) {
  std::vector<ShardMove> moves;
  std::uint32_t from = 0;
  for (std::uint32_t to = 0; to < servers_after; ++to) {
    const Range wanted = part_of(size, servers_after, to);
    const std::size_t end = wanted.from + wanted.size;
    for (std::size_t at = wanted.from; at < end;) {
      Range held = part_of(size, servers_before, from);
      while (held.from + held.size <= at) held = part_of(size, servers_before, ++from);
      const std::size_t until = std::min(end, held.from + held.size);
      if (from != to) moves.push_back({from, to, {at, until - at}});
      at = until;
    }
  }
  return moves;
}

}  // namespace weft::sync

// The shards of sync/swarm_testing.h: servers with their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sync/server.h"

namespace weft::sync {

struct TestShards {
  using Values = std::vector<double>;

  TestShards(const Mode& mode, const std::vector<Member>& members, const Values& start,
             std::uint32_t count)
      : backup(mode.backup > 0) {
    if (mode.exchange != Exchange::kServers) return;
    for (std::uint32_t k = 0; k < count; ++k) {
      servers.emplace_back(mode, members);
      const Range part = part_of(start.size(), count, k);
      const auto from = start.begin() + static_cast<std::ptrdiff_t>(part.from);
      values.emplace_back(from, from + static_cast<std::ptrdiff_t>(part.size));
      buffers.emplace_back(part.size);
      kept.emplace_back();
    }
  }

  struct Answer {
    std::uint32_t rank = 0, shard = 0;
    Values values;
    std::uint64_t version = 0;
  };
  // A way comes to shard `k`. Returns who gets an answer.
  std::vector<Answer> push(std::uint32_t k, std::uint32_t rank, std::uint64_t clock,
                           const Values& way) {
    return carry_out(k, servers[k].pushed(rank, clock), way);
  }
  // With backup workers: a choice of the ballot comes to shard `k`.
  std::vector<Answer> choose(std::uint32_t k, const Ballot::Choice& choice) {
    return carry_out(k, servers[k].chosen(choice), {});
  }

  std::vector<Answer> carry_out(std::uint32_t k, const Result<ServerActions>& actions,
                                const Values& way) {
    using Kind = ServerAction::Kind;
    CHECK_MSG(actions.ok(), actions.error().what.c_str());
    std::vector<Answer> answers;
    for (const ServerAction& action : *actions) {
      if (action.kind == Kind::kAnswer) {
        answers.push_back({action.rank, k, values[k], action.clock});
        counted[action.rank] += action.counted ? 1 : 0;
        continue;
      }
      if (action.kind == Kind::kKeep) {
        kept[k][action.rank] = way;
        continue;
      }
      Values& target = action.kind == Kind::kCollect ? buffers[k] : values[k];
      const Values& source = action.kind == Kind::kMove   ? buffers[k]
                             : action.kind == Kind::kTake ? kept[k].at(action.rank)
                                                          : way;
      const double scale = action.kind == Kind::kCollect ? action.scale : -action.scale;
      for (std::size_t i = 0; i < target.size(); ++i) target[i] += scale * source[i];
      if (action.kind == Kind::kMove) std::fill(buffers[k].begin(), buffers[k].end(), 0.0);
    }
    return answers;
  }

  void change_members(const std::vector<Member>& members, bool restart) {
    for (ShardServer& server : servers) {
      if (restart) server = *ShardServer::restore(server.save(), members);
      server.change_members(members);
    }
    for (ShardServer& server : servers) {
      if (backup) server.settle(version());
    }
  }
  // The last update that any shard has made.
  std::uint64_t version() const {
    std::uint64_t most = 0;
    for (const ShardServer& server : servers) most = std::max(most, server.version());
    return most;
  }

  std::vector<ShardServer> servers;
  std::vector<Values> values, buffers;
  std::vector<std::map<std::uint32_t, Values>> kept;  // by shard and rank
  std::map<std::uint32_t, std::uint64_t> counted;     // answers to ways that were not dropped
  const bool backup;
};

}  // namespace weft::sync

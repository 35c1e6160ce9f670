// The shards of sync/swarm_testing.h: servers with their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sync/server.h"

namespace weft::sync {

struct TestShards {
  using Values = std::vector<double>;

  TestShards(const Mode& mode, const std::vector<Member>& members, const Values& start,
             std::uint32_t count) {
    if (mode.exchange != Exchange::kServers) return;
    for (std::uint32_t k = 0; k < count; ++k) {
      servers.emplace_back(mode, members);
      const Range part = part_of(start.size(), count, k);
      const auto from = start.begin() + static_cast<std::ptrdiff_t>(part.from);
      values.emplace_back(from, from + static_cast<std::ptrdiff_t>(part.size));
      buffers.emplace_back(part.size);
    }
  }

  // A way comes to shard `k`. Returns who gets an answer.
  std::vector<std::uint32_t> push(std::uint32_t k, std::uint32_t rank, std::uint64_t clock,
                                  const Values& way) {
    using Kind = ServerAction::Kind;
    const auto actions = servers[k].pushed(rank, clock);
    CHECK_MSG(actions.ok(), actions.error().what.c_str());
    std::vector<std::uint32_t> answers;
    for (const ServerAction& action : *actions) {
      if (action.kind == Kind::kAnswer) {
        answers.push_back(action.rank);
        continue;
      }
      Values& target = action.kind == Kind::kCollect ? buffers[k] : values[k];
      const Values& source = action.kind == Kind::kMove ? buffers[k] : way;
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
  }

  std::vector<ShardServer> servers;
  std::vector<Values> values, buffers;
};

}  // namespace weft::sync

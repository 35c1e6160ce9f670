#include "live/daemon/frozen_runs.h"

#include <fmt/core.h>

#include <utility>

#include "base/check.h"
#include "live/daemon/run_numbers.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

Bytes memory_of(const std::vector<Json>& ranks) {
  Bytes sum = 0;
  for (const Json& rank : ranks) sum += rank.value("memory", Bytes{0});
  return sum;
}

std::set<int> devices_of(const std::vector<Json>& ranks) {
  std::set<int> devices;
  for (const Json& rank : ranks) {
    for (const Json& device : rank.at("devices")) devices.insert(device.get<int>());
  }
  return devices;
}

}  // namespace

bool FrozenRuns::has_room(const RunShape& shape) const {
  for (const auto& [node, ranks] : shape.ranks) {
    const std::set<int> wanted = devices_of(ranks);
    Bytes memory = memory_of(ranks);
    for (const auto& [uuid, run] : runs_) {
      const auto there = run.shape.ranks.find(node);
      if (there == run.shape.ranks.end() || run.gone.contains(node)) continue;
      memory += memory_of(there->second);
      for (const int device : devices_of(there->second)) {
        if (wanted.contains(device)) return false;
      }
    }
    const Bytes most = cluster_.nodes[node].memory / 2;
    if (most > 0 && memory > most) return false;
  }
  return true;
}

void FrozenRuns::keep(const std::string& uuid, FrozenRun run) {
  const bool fresh = runs_.emplace(uuid, std::move(run)).second;
  CHECK(fresh);
}

const FrozenRun* FrozenRuns::find(const std::string& uuid) const {
  const auto found = runs_.find(uuid);
  return found == runs_.end() ? nullptr : &found->second;
}

bool FrozenRuns::thaw(const std::string& uuid, const RunShape& shape) {
  FrozenRun& run = runs_.at(uuid);
  if (run.state == FrozenRun::State::kEnding || !run.gone.empty() || run.shape != shape) {
    return false;
  }
  run.state = FrozenRun::State::kThawing;
  return true;
}

void FrozenRuns::end(const std::string& uuid, const std::string& why) {
  const auto found = runs_.find(uuid);
  if (found == runs_.end() || found->second.state == FrozenRun::State::kEnding) return;
  FrozenRun& run = found->second;
  run.state = FrozenRun::State::kEnding;
  run.why = why;
  for (const auto& [node, ranks] : run.shape.ranks) {
    if (!run.gone.contains(node)) send_stop(node, uuid, run);
  }
  settle(uuid);
}

void FrozenRuns::send_stop(NodeId node, const std::string& uuid, const FrozenRun& run) {
  links_.send(node, {{"op", "stop"},
                     {"term", term_},
                     {"uuid", uuid},
                     {"epoch", run.epoch},
                     {"number", kLastNumber},
                     {"signal", run.checkpoint.signal},
                     {"grace_s", run.checkpoint.grace}});
}

void FrozenRuns::settle(const std::string& uuid) {
  const auto found = runs_.find(uuid);
  if (found == runs_.end() || found->second.gone.size() < found->second.shape.ranks.size()) return;
  const FrozenRun run = std::move(found->second);
  runs_.erase(found);
  for (const auto& [node, ranks] : run.shape.ranks) {
    links_.send(node, {{"op", "forget"}, {"term", term_}, {"uuid", uuid}, {"epoch", run.epoch}});
  }
  links_.left(uuid, run);
}

void FrozenRuns::part_is_gone(const std::string& uuid, NodeId node, const std::string& why) {
  FrozenRun& run = runs_.at(uuid);
  run.gone.insert(node);
  // The start that thaws it fails there, and ends the rest.
  if (run.state == FrozenRun::State::kThawing) return;
  if (run.state == FrozenRun::State::kHeld) return end(uuid, why);
  settle(uuid);
}

bool FrozenRuns::outcome(NodeId node, const std::string& uuid, std::uint32_t epoch,
                         std::uint32_t number, const std::string& result) {
  const auto found = runs_.find(uuid);
  if (found == runs_.end() || found->second.epoch != epoch) return false;
  if (found->second.state == FrozenRun::State::kEnding && number == kLastNumber &&
      result == "done" && found->second.shape.ranks.contains(node)) {
    part_is_gone(uuid, node, "");
  }
  return true;
}

bool FrozenRuns::ended(NodeId node, const std::string& uuid, std::uint32_t epoch,
                       const std::string& how) {
  const auto found = runs_.find(uuid);
  if (found == runs_.end() || found->second.epoch != epoch) return false;
  // The others could not go on without it.
  if (found->second.state == FrozenRun::State::kHeld) {
    end(uuid, fmt::format("on {} {}", cluster_.nodes[node].name, how));
  }
  return true;
}

void FrozenRuns::resume(NodeId node, const std::set<std::pair<std::string, std::uint32_t>>& there) {
  std::vector<std::string> mine;
  for (const auto& [uuid, run] : runs_) {
    if (run.shape.ranks.contains(node) && !run.gone.contains(node)) mine.push_back(uuid);
  }
  for (const std::string& uuid : mine) {
    const FrozenRun& run = runs_.at(uuid);
    if (run.state == FrozenRun::State::kThawing) continue;  // its start is sent again
    if (!there.contains({uuid, run.epoch})) {
      part_is_gone(uuid, node, fmt::format("node {} has lost it", cluster_.nodes[node].name));
    } else if (run.state == FrozenRun::State::kEnding) {
      send_stop(node, uuid, run);
    }
  }
}

void FrozenRuns::gone(NodeId node, bool all, const std::string& why) {
  std::vector<std::string> there;
  for (const auto& [uuid, run] : runs_) {
    if (!run.shape.ranks.contains(node) || run.gone.contains(node)) continue;
    if (all || run.on_controller_loss == ControllerLoss::kStop) there.push_back(uuid);
  }
  for (const std::string& uuid : there) {
    part_is_gone(uuid, node, fmt::format("node {}: {}", cluster_.nodes[node].name, why));
  }
}

}  // namespace weft::live

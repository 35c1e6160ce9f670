// What follows for runs when nodes come and go.
#include <fmt/core.h>

#include <set>

#include "live/daemon/run_numbers.h"
#include "live/daemon/runs.h"

namespace weft::live {

void Runs::resume(NodeId node, const Json& runs) {
  std::map<Key, const Json*> there;
  for (const Json& run : runs) there[{run.at("uuid"), run.at("epoch")}] = &run;
  std::set<Key> keys;
  for (const auto& [key, run] : there) {
    keys.insert(key);
    const FrozenRun* held = frozen_.find(key.first);
    const auto found = runs_.find(key);
    const bool frozen = held != nullptr && held->epoch == key.second;
    const bool ours = found != runs_.end() && found->second.parts.contains(node);
    if (!frozen && !ours) stop_stranger(node, *run);
  }
  frozen_.resume(node, keys);
  std::vector<Key> mine;
  for (const auto& [key, run] : runs_) {
    if (run.parts.contains(node) && !run.told) mine.push_back(key);
  }
  for (const Key& key : mine) {
    const auto found = runs_.find(key);
    if (found == runs_.end()) continue;
    Run& run = found->second;
    Part& part = run.parts.at(node);
    if (part.gone) continue;
    const auto here = there.find(key);
    if (run.aim == Run::Aim::kFreeze) {
      if (here == there.end()) {
        part.gone = true;
        stop_instead(key, run);
      } else if (!part.frozen) {
        send_freeze(node, key);
      }
    } else if (run.aim != Run::Aim::kRun) {
      send_stop(node, key, run);
    } else if (here == there.end()) {
      if (!part.started) {
        if (run.number > 0) send_start(node, key, run);
      } else {
        part.gone = true;
        abandon(key, run, node, fmt::format("node {} has lost it", cluster_.nodes[node].name));
      }
    } else if (!part.started) {
      if (run.number > 0) send_start(node, key, run);  // answered again, not done again
    }
    // Ends of ranks are told by the agent once more after its welcome.
  }
}

// A run that the controller has given up or never heard of: its ranks must not stay.
void Runs::stop_stranger(NodeId node, const Json& run) {
  links_.send(node, {{"op", "stop"},
                     {"term", term_},
                     {"uuid", run.at("uuid")},
                     {"epoch", run.at("epoch")},
                     {"number", kLastNumber},
                     {"signal", "SIGTERM"},
                     {"grace_s", 5.0}});
}

void Runs::gone(NodeId node, bool all, const std::string& why) {
  frozen_.gone(node, all, why);
  std::vector<Key> keys;
  for (const auto& [key, run] : runs_) keys.push_back(key);
  for (const Key& key : keys) {
    const auto found = runs_.find(key);
    if (found == runs_.end()) continue;
    Run& run = found->second;
    if (!run.parts.contains(node) || run.parts.at(node).gone || run.told) continue;
    if (!all && run.spec.on_controller_loss != ControllerLoss::kStop) continue;
    run.parts.at(node).gone = true;
    abandon(key, run, node, fmt::format("node {}: {}", cluster_.nodes[node].name, why));
  }
}

}  // namespace weft::live

// Runs that were preempted by freezing: their ranks are held where they are, until their job starts
// again in the same shape and they go on, or until they have to go. Nothing of a job starts while
// it has such ranks, so it never overlaps itself. Holds no socket, thread or clock.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "live/job/job_spec.h"
#include "model/cluster.h"

namespace weft::live {

// What a run has of each node, as agents are told, and what its configuration is called. Two runs
// of a job with the same shape could stand in for each other.
struct RunShape {
  std::map<NodeId, std::vector<nlohmann::json>> ranks;
  std::string codec, sync;
  bool operator==(const RunShape&) const = default;
};

struct FrozenRun {
  std::uint32_t epoch = 0;
  JobId job = kNoJob;
  CheckpointRule checkpoint;  // how its ranks are ended
  ControllerLoss on_controller_loss = ControllerLoss::kContinue;
  RunShape shape;
  enum class State : std::uint8_t { kHeld, kThawing, kEnding } state = State::kHeld;
  std::string why;        // it ends
  std::set<NodeId> gone;  // nodes that have nothing of it any more
};

class FrozenRuns {
 public:
  struct Links {
    std::function<void(NodeId, const nlohmann::json&)> send;
    // Nothing of it is left; it is forgotten already.
    std::function<void(const std::string& uuid, const FrozenRun& run)> left;
  };
  // Requires: the cluster outlives this.
  FrozenRuns(const Cluster& cluster, std::uint64_t term, Links links)
      : cluster_(cluster), term_(term), links_(std::move(links)) {}

  // Whether one more may be held: memory of frozen ranks stays taken. At most one on each device,
  // and all of a node have asked for at most half of its memory.
  bool has_room(const RunShape& shape) const;
  // Requires: the job has none. From now on its ranks are held here.
  void keep(const std::string& uuid, FrozenRun run);
  // Nothing if the job has none.
  const FrozenRun* find(const std::string& uuid) const;
  const std::map<std::string, FrozenRun>& all() const { return runs_; }

  // A start in that shape is sent, which its ranks shall become: from now on they are its affair,
  // until drop() or end(). False if they cannot.
  bool thaw(const std::string& uuid, const RunShape& shape);
  // They have become a later run.
  void drop(const std::string& uuid) { runs_.erase(uuid); }
  // Its ranks are asked to save and end; left() is called once they are gone, perhaps at once.
  void end(const std::string& uuid, const std::string& why);

  // What an agent says; false: not of a frozen run.
  bool outcome(NodeId node, const std::string& uuid, std::uint32_t epoch, std::uint32_t number,
               const std::string& result);
  bool ended(NodeId node, const std::string& uuid, std::uint32_t epoch, const std::string& how);
  // The node is (back) here, and has these runs, (uuid, epoch).
  void resume(NodeId node, const std::set<std::pair<std::string, std::uint32_t>>& there);
  // Nothing runs on the node any more; with `all` false only what ends with its controller.
  void gone(NodeId node, bool all, const std::string& why);

 private:
  void send_stop(NodeId node, const std::string& uuid, const FrozenRun& run);
  void part_is_gone(const std::string& uuid, NodeId node, const std::string& why);
  // Ends what is left of it, or tells that nothing is.
  void settle(const std::string& uuid);

  const Cluster& cluster_;
  std::uint64_t term_;
  Links links_;
  std::map<std::string, FrozenRun> runs_;  // by uuid
};

}  // namespace weft::live

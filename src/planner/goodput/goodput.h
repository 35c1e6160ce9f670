// How much of a cluster's time is training when machines fail: recovery policies in closed form.
// docs/goodput.md derives the formulas.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::planner {

enum class Recovery {
  kRestart,     // checkpoints to a store; every failure restarts the job from the last
  kOverlapped,  // the same with snapshots written beside training (CheckFreq)
  kInMemory,    // checkpoints in the memory of other nodes (Gemini); the store is the last resort
  kTemplates,   // the nodes that are left form pipelines of other depths (Oobleck)
  kRedundant,   // the stage before a lost one runs it as well (Bamboo)
  kRerouted,    // replicas of a lost stage take over its micro-batches (ReCycle)
};
inline constexpr int kRecoveries = 6;

struct RecoveryInfo {
  Recovery policy;
  std::string_view name, rule, source;
};
const std::array<RecoveryInfo, kRecoveries>& recoveries();
Result<Recovery> recovery_named(const std::string& name);

// Things of one kind that fail alike: `count` of them in the job, each once in `mtbf_h` hours.
struct FailingPart {
  std::string name;
  double count = 0;
  double mtbf_h = 0;
};

struct GoodputCase {
  int nodes = 1;           // that the job runs on
  double node_mtbf_s = 0;  // of one node, whatever of it fails
  int spares = 0;          // nodes that stand by
  double repair_s = 0;     // mean time until a failed node is back
  // Racks, or whatever takes neighbouring nodes with it when it fails: a switch, a power supply.
  int rack_nodes = 0;           // nodes of each; 0: nodes fail alone
  double rack_mtbf_s = 0;       // of one rack, beside what its nodes fail by themselves
  double rack_repair_s = 0;     // mean time until a failed rack's nodes are back, all at once
  double detect_s = 0;          // from a failure to its discovery; nothing is done meanwhile
  double restart_s = 0;         // from discovery to the first step after a restart from the store
  double checkpoint_s = 0;      // to write a checkpoint to the store
  double interval_s = 0;        // work between checkpoints; 0: the best
  double step_s = 1;            // of one training step
  double snapshot_s = 0;        // overlapped: standstill for the copy into host memory
  double persist_slowdown = 0;  // overlapped: part by which training slows while it is written
  double memory_checkpoint_s = 0;  // in-memory: standstill per step
  double memory_restart_s = 0;     // in-memory: from discovery to the first step
  int copies = 2;                  // in-memory: nodes that hold a checkpoint, its owner among them
  bool copies_apart = false;       // in-memory: no two of a checkpoint's copies in one rack
  int stages = 1;                  // nodes of one pipeline
  int micro_batches = 1;           // per pipeline and step
  int least_nodes = 0;             // templates: below this nothing fits; 0: one pipeline
  double reconfigure_s = 0;        // templates, redundant, rerouted: per failure and per return
  double redundancy = 0;           // redundant: part by which doing work twice slows training

  double rack_failures_per_s() const {
    return rack_nodes > 0 ? double(nodes) / rack_nodes / rack_mtbf_s : 0;
  }
  // Of the job: nodes and racks.
  double failures_per_s() const { return nodes / node_mtbf_s + rack_failures_per_s(); }
  int pipelines() const { return nodes / stages; }
};

// The mistakes of a case for the given policy, as one error.
Status check_case(const GoodputCase& goodput_case, Recovery policy);

struct Goodput {
  double goodput = 0;     // work kept, over the time it would take on `nodes` that never fail
  double interval_s = 0;  // of checkpoints to the store; infinite: none are needed
  // What the rest of the time goes to; with `goodput` they add up to 1.
  double checkpoints = 0;  // standstill and slowing for checkpoints or redundant work
  double lost = 0;         // work done twice
  double recovery = 0;     // detection, restart, reconfiguration
  double waiting = 0;      // for a node to come back from repair
  double degraded = 0;     // nodes that are missing or idle while training goes on
};

// Whether expected_goodput() is more than a guide: what lacks while several nodes of a rack are
// away has no closed form; that takes the simulation.
bool has_closed_form(const GoodputCase& goodput_case);

// Requires: check_case() is ok.  Cost: O(spares + nodes that are ever missing at once).
Goodput expected_goodput(const GoodputCase& goodput_case, Recovery policy);

// The part of the time that a restarting job waits for a node because no spare is left: Erlang's
// loss formula with spares + 1 servers and failures_per_s * repair_s offered.
double waiting_part(const GoodputCase& goodput_case, int spares);
// The least number of spares that keeps it at or below `part`.
int spares_for(const GoodputCase& goodput_case, double part);

}  // namespace weft::planner

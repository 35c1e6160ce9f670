#include "planner/goodput/goodput.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/goodput/elastic.h"
#include "planner/goodput/interval.h"

namespace weft::planner {
namespace {

constexpr std::array<RecoveryInfo, kRecoveries> kInfo = {{
    {Recovery::kRestart, "restart", "checkpoints to a store, restart from the last", "Daly 2006"},
    {Recovery::kOverlapped, "overlapped", "snapshots written beside training",
     "Mohan 2021 (CheckFreq)"},
    {Recovery::kInMemory, "in-memory", "a checkpoint per step in other nodes' memory",
     "Wang 2023 (Gemini)"},
    {Recovery::kTemplates, "templates", "nodes that are left form pipelines of other depths",
     "Jang 2023 (Oobleck)"},
    {Recovery::kRedundant, "redundant", "the stage before a lost one runs it as well",
     "Thorpe 2023 (Bamboo)"},
    {Recovery::kRerouted, "rerouted", "replicas of a lost stage take its micro-batches",
     "Gandhi 2024 (ReCycle)"},
}};

bool elastic(Recovery policy) { return policy >= Recovery::kTemplates; }

// Splits what is not goodput of a checkpointing job that never waits.
Goodput split(const Checkpointing& c, double interval_s) {
  Goodput out;
  out.interval_s = interval_s;
  out.goodput = goodput_of(c, interval_s);
  const double running = std::exp(-c.rate * c.recovery_s);
  const double overhead = c.slowdown * c.delay_s + c.blocking_s;
  out.recovery = 1 - running;
  out.checkpoints = std::isinf(interval_s) ? 0 : running * overhead / (interval_s + overhead);
  out.lost = std::max(0.0, running - out.checkpoints - out.goodput);
  return out;
}

// Checkpoints are taken between steps, one at a time.
double interval_for(const GoodputCase& c, const Checkpointing& checkpointing) {
  const double wanted = c.interval_s > 0 ? c.interval_s : best_interval(checkpointing);
  return std::max({wanted, checkpointing.delay_s, c.step_s});
}

// Scales all parts to make room for a part of the time in which the job waits.
Goodput with_waiting(Goodput g, double waiting) {
  for (double* part : {&g.goodput, &g.checkpoints, &g.lost, &g.recovery}) *part *= 1 - waiting;
  g.waiting = waiting;
  return g;
}

Goodput restarting(const GoodputCase& c, bool overlapped) {
  Checkpointing k{c.failures_per_s(), c.checkpoint_s, 0, 0, c.detect_s + c.restart_s};
  if (overlapped) {
    k.blocking_s = c.snapshot_s;
    k.delay_s = c.checkpoint_s;
    k.slowdown = c.persist_slowdown;
  }
  return with_waiting(split(k, interval_for(c, k)), waiting_part(c, c.spares));
}

// Two levels. A failure is mended from other nodes' memory unless one of the nodes that hold the
// copies fails too before the job runs again; then the store is needed. The inner level's time
// takes the place of time in the outer one.
Goodput in_memory(const GoodputCase& c) {
  const double rate = c.failures_per_s();
  const double pause = c.detect_s + c.memory_restart_s;
  const double recovering = std::expm1(rate * pause) / rate;  // failures begin it anew
  const double both = -std::expm1(-(c.copies - 1) / c.node_mtbf_s * recovering);
  // A rack takes all copies of some checkpoint with it, unless they are kept apart.
  const double racks = loses_copies(c) ? c.rack_failures_per_s() : 0;
  const Checkpointing memory{(rate - racks) * (1 - both), c.memory_checkpoint_s, 0, 0, pause};
  const Goodput inner = split(memory, c.step_s);
  const Checkpointing store{(rate - racks) * both + racks, c.checkpoint_s, 0, 0,
                            c.detect_s + c.restart_s};
  const double interval = interval_for(c, store);
  Goodput out = split(store, interval);
  const double useful = out.goodput;
  out.goodput = useful * inner.goodput;
  out.checkpoints += useful * inner.checkpoints;
  out.lost += useful * inner.lost;
  out.recovery += useful * inner.recovery;
  return with_waiting(out, waiting_part(c, c.spares));
}

// Pauses after failures and returns overlap, so the chance of not being in one is that of no event
// in the time one takes. A failure also loses the step that was under way, half of it on average.
Goodput going_on(const GoodputCase& c, Recovery policy) {
  const Shortage shortage = shortage_of(c);
  double fatal_rate = 0, up = 0, trained = 0, working = 0;
  double lost_steps = 0, redundant = 0;
  const double racks = c.rack_failures_per_s();
  const double fatal_racks = rack_is_fatal(c, policy) ? racks : 0;
  for (std::size_t away = 0; away < shortage.away.size(); ++away) {
    const int missing = std::max(0, static_cast<int>(away) - c.spares);
    const double alone = (c.nodes - missing) / c.node_mtbf_s;
    const double failing = alone + racks;
    const double fatal = alone * fatal_probability(c, policy, missing) + fatal_racks;
    const double returning =
        missing > 0 && c.repair_s > 0 ? static_cast<double>(away) / c.repair_s : 0;
    const double speed = elastic_speed(c, policy, missing);
    const double free =
        std::exp(-(failing - fatal) * (c.detect_s + c.reconfigure_s) - returning * c.reconfigure_s);
    const double whole_steps =
        speed > 0 ? std::exp(-(failing - fatal) * c.step_s / (2 * speed)) : 1;
    const double p = shortage.away[away];
    fatal_rate += p * fatal;
    up += p * free;
    if (speed > 0) working += p * free;
    trained += p * free * speed * whole_steps;
    lost_steps += p * free * speed * (1 - whole_steps);
    redundant += p * free * speed * c.redundancy;
  }
  const Checkpointing store{fatal_rate, c.checkpoint_s, 0, 0, c.detect_s + c.restart_s};
  Goodput out = split(store, interval_for(c, store));
  const double useful = out.goodput;
  if (policy != Recovery::kRedundant) redundant = 0;
  out.goodput = useful * trained;
  out.recovery += useful * (1 - up);
  out.waiting = useful * (up - working);
  out.lost += useful * lost_steps;
  out.checkpoints += useful * redundant;
  out.degraded = useful * (working - trained - lost_steps - redundant);
  return out;
}

void check_number(Complaints& complaints, const char* name, double value, bool above_zero) {
  if (std::isfinite(value) && (above_zero ? value > 0 : value >= 0)) return;
  complaints.add(fmt::format("{} is {}; it must be finite and {}", name, value,
                             above_zero ? "above 0" : "not negative"));
}

}  // namespace

const std::array<RecoveryInfo, kRecoveries>& recoveries() { return kInfo; }

Result<Recovery> recovery_named(const std::string& name) {
  std::vector<std::string> known;
  for (const RecoveryInfo& info : kInfo) {
    if (info.name == name) return info.policy;
    known.emplace_back(info.name);
  }
  const std::string near = near_miss(name, known);
  return Error{ErrorKind::kNotFound, fmt::format("there is no recovery policy called '{}'", name),
               near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                            : fmt::format("did you mean '{}'?", near)};
}

Status check_case(const GoodputCase& c, Recovery policy) {
  Complaints complaints;
  if (c.nodes < 1 || c.nodes > 1 << 24) {
    complaints.add(fmt::format("nodes is {}; it must lie in 1 .. {}", c.nodes, 1 << 24));
  }
  if (c.spares < 0 || c.spares > 1 << 24) {
    complaints.add(fmt::format("spares is {}; it must lie in 0 .. {}", c.spares, 1 << 24));
  }
  check_number(complaints, "the mean time between failures of a node", c.node_mtbf_s, true);
  check_number(complaints, "step", c.step_s, true);
  for (const auto& [name, value] : {std::pair{"repair", c.repair_s},
                                    {"detect", c.detect_s},
                                    {"restart", c.restart_s},
                                    {"checkpoint", c.checkpoint_s},
                                    {"interval", c.interval_s},
                                    {"snapshot", c.snapshot_s},
                                    {"persist-slowdown", c.persist_slowdown},
                                    {"memory-checkpoint", c.memory_checkpoint_s},
                                    {"memory-restart", c.memory_restart_s},
                                    {"reconfigure", c.reconfigure_s},
                                    {"redundancy", c.redundancy}}) {
    check_number(complaints, name, value, false);
  }
  if (c.rack_nodes < 0 || c.rack_nodes > c.nodes ||
      (c.rack_nodes > 0 && c.nodes % c.rack_nodes != 0)) {
    complaints.add(fmt::format("{} nodes cannot be racks of {} nodes each", c.nodes, c.rack_nodes));
  }
  if (c.rack_nodes > 0) {
    check_number(complaints, "the mean time between failures of a rack", c.rack_mtbf_s, true);
    check_number(complaints, "rack-repair", c.rack_repair_s, false);
  }
  if (policy == Recovery::kInMemory && (c.copies < 2 || c.copies > c.nodes)) {
    complaints.add(
        fmt::format("copies is {}; it must lie in 2 .. {} (the nodes)", c.copies, c.nodes));
  }
  if (elastic(policy)) {
    if (c.stages < 1 || c.nodes % c.stages != 0) {
      complaints.add(
          fmt::format("{} nodes cannot be pipelines of {} nodes each", c.nodes, c.stages));
    }
    if (c.micro_batches < 1) {
      complaints.add(fmt::format("micro-batches is {}; it must be at least 1", c.micro_batches));
    }
    if (c.least_nodes < 0 || c.least_nodes > c.nodes) {
      complaints.add(
          fmt::format("least-nodes is {}; it must lie in 0 .. {}", c.least_nodes, c.nodes));
    }
  }
  return complaints.empty() ? Status() : Status(complaints.error());
}

bool has_closed_form(const GoodputCase& c) {
  return c.rack_nodes == 0 || (c.repair_s == 0 && c.rack_repair_s == 0);
}

Goodput expected_goodput(const GoodputCase& c, Recovery policy) {
  switch (policy) {
    case Recovery::kRestart:
      return restarting(c, false);
    case Recovery::kOverlapped:
      return restarting(c, true);
    case Recovery::kInMemory:
      return in_memory(c);
    default:
      return going_on(c, policy);
  }
}

double waiting_part(const GoodputCase& c, int spares) {
  const double offered = c.failures_per_s() * c.repair_s;
  double blocked = 1;
  for (int servers = 1; servers <= spares + 1; ++servers) {
    blocked = offered * blocked / (servers + offered * blocked);
  }
  return offered > 0 ? blocked : 0;
}

int spares_for(const GoodputCase& c, double part) {
  const double offered = c.failures_per_s() * c.repair_s;
  double blocked = 1;
  for (int servers = 1; servers < 1 << 24; ++servers) {
    blocked = offered > 0 ? offered * blocked / (servers + offered * blocked) : 0;
    if (blocked <= part) return servers - 1;
  }
  return 1 << 24;
}

}  // namespace weft::planner

// What the agent says of its runs: outcomes, ends, lists, usage.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "live/agent/process_tree.h"
#include "live/agent/run_table.h"

namespace weft::live {
namespace {

constexpr double kIdleShare = 0.01;

}  // namespace

// Answers the last command once what it asked for is so.
void RunTable::conclude(Run& run) {
  if (!run.result.empty()) return;
  std::string failed;
  for (const auto& [number, rank] : run.ranks) {
    if (run.op == "start") {
      if ((!rank.executed || rank.behind) && !rank.end) return;
      if (!rank.executed && failed.empty()) {
        failed = fmt::format("rank {}: {}", number, rank.end->why);
      }
    } else if (run.op == "stop") {
      if (!rank.end) return;
    } else if (!rank.end && rank.frozen != (run.op == "freeze")) {
      return;
    }
  }
  answer(run, failed.empty() ? "done" : "failed", failed);
}

void RunTable::answer(Run& run, const std::string& result, const std::string& why) {
  run.result = result;
  run.why = why;
  run.active = false;
  remember(run);
  say_outcome(run.order.key, run.number, result, why);
}

void RunTable::remember(const Run& run) {
  const Json json = {{"epoch", run.order.key.epoch},
                     {"number", run.number},
                     {"op", run.op},
                     {"result", run.result},
                     {"why", run.why}};
  const Status written = write_whole(settings_.paths.outcome(run.order.key), json.dump());
  if (!written.ok()) settings_.log(written.error().what);
}

void RunTable::say_outcome(const RunKey& key, std::uint64_t number, const std::string& result,
                           const std::string& why) {
  settings_.say({{"op", "outcome"},
                 {"uuid", key.uuid},
                 {"epoch", key.epoch},
                 {"number", number},
                 {"result", result},
                 {"why", why}});
}

void RunTable::say_end(const Run& run, const Rank& rank) {
  settings_.say({{"op", "ended"},
                 {"uuid", run.order.key.uuid},
                 {"epoch", run.order.key.epoch},
                 {"rank", rank.share.rank},
                 {"code", rank.end->code},
                 {"signal", rank.end->signal},
                 {"why", rank.end->why},
                 {"at_s", rank.end->at_s}});
}

void RunTable::tell_ends() {
  for (const auto& [key, run] : runs_) {
    for (const auto& [number, rank] : run.ranks) {
      if (rank.end) say_end(run, rank);
    }
  }
}

std::vector<std::string> RunTable::can() const {
  std::vector<std::string> can = settings_.groups.can();
  can.insert(can.end(), {"freeze", "bandwidth", "exec"});
  if (settings_.traffic.works() && settings_.groups.has("traffic")) can.push_back("guarantee");
  if (geteuid() == 0) can.push_back("user");
  return can;
}

RunTable::Json RunTable::runs() const {
  Json list = Json::array();
  for (const auto& [key, run] : runs_) {
    Json ranks = Json::array();
    for (const auto& [number, rank] : run.ranks) {
      Json row = {{"rank", number}, {"pid", rank.command}};
      row["state"] = rank.end        ? "ended"
                     : rank.frozen   ? "frozen"
                     : rank.executed ? "running"
                                     : "starting";
      if (rank.end) {
        row["code"] = rank.end->code;
        row["signal"] = rank.end->signal;
        row["why"] = rank.end->why;
        row["at_s"] = rank.end->at_s;
      }
      ranks.push_back(row);
    }
    list.push_back(
        {{"uuid", key.uuid}, {"epoch", key.epoch}, {"number", run.number}, {"ranks", ranks}});
  }
  return list;
}

void RunTable::measure(Rank& rank) {
  if (const auto usage = usage_of_groups(rank.setup)) {
    rank.cpu_s = usage->cpu_s;
    rank.memory = usage->memory;
    return;
  }
  const TreeUsage usage = usage_of(descendants_of(rank.keeper));
  // What processes used that have ended since counts only where their parents waited for them.
  rank.cpu_s = std::max(rank.cpu_s, usage.cpu_s);
  rank.memory = usage.memory;
}

void RunTable::tell_usage() {
  const std::int64_t now = monotonic_ns();
  Json list = Json::array();
  for (auto& [key, run] : runs_) {
    double cpu_s = 0, share = 0;
    Bytes memory = 0;
    bool lives = false;
    for (auto& [number, rank] : run.ranks) {
      if (!rank.end && rank.executed && !rank.frozen) {
        measure(rank);
        lives = true;
        memory += rank.memory;
      }
      cpu_s += rank.cpu_s;
      share += rank.share.cpu_milli > 0 ? 1e-3 * rank.share.cpu_milli : 1;
    }
    if (!lives) continue;
    const double passed_s = 1e-9 * static_cast<double>(now - run.measured_at_ns);
    if (run.measured_at_ns == 0 || cpu_s - run.seen_cpu_s >= kIdleShare * share * passed_s) {
      run.used_at_ns = now;
    }
    run.measured_at_ns = now;
    run.seen_cpu_s = cpu_s;
    list.push_back({{"uuid", key.uuid},
                    {"epoch", key.epoch},
                    {"cpu_s", cpu_s},
                    {"memory", memory},
                    {"idle_s", 1e-9 * static_cast<double>(now - run.used_at_ns)}});
  }
  if (!list.empty()) settings_.say({{"op", "usage"}, {"runs", list}});
}

}  // namespace weft::live

// What a simulated run under a synchronisation mode can be asked for.
#include <fmt/core.h>

#include <algorithm>

#include "timing/sync_run.h"

namespace weft {
namespace {

// What a run cannot know.
Status check_mode(const SyncTask& task) {
  const std::string name = sync::mode_text(task.mode);
  if (task.mode.threshold > 0) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("sync mode '{}' averages when values have drifted, and a timing run "
                             "has no values",
                             name),
                 "local:period=N averages every N steps"};
  }
  if (task.mode.adaptive && task.loss_half_steps == 0) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("sync mode '{}' follows the loss, and a timing run has none", name),
                 "give a synthetic loss, or a fixed period"};
  }
  const bool coded = task.bytes_per_value != kPlainValueBytes;
  if (coded && (task.mode.exchange == sync::Exchange::kNeighbours || task.mode.control)) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("sync mode '{}' takes no codec, and {:g} bytes a value are asked for",
                             name, task.bytes_per_value),
                 "run it without a codec"};
  }
  return {};
}

Status check_numbers(const SyncTask& task) {
  Complaints complaints;
  const auto number = [&](const char* what, double value, double low, double high) {
    if (value >= low && value <= high) return;
    complaints.add(fmt::format("{} is {:g}; it must be from {:g} to {:g}", what, value, low, high));
  };
  constexpr double kTiny = 1e-9, kHuge = 1e15;
  number("the number of ranks", task.ranks, 1, kMostSyncRanks);
  number("the number of parameters", task.parameters, 0, kHuge);
  number("bytes of a value on the wire", task.bytes_per_value, 0, 64);
  number("the coding time of a value", task.coding_s_per_value, 0, 1);
  number("the time of a step in seconds", task.step_s, kTiny, kHuge);
  number("the jitter", task.jitter, 0, 2);
  number("the half-life of the loss in steps", task.loss_half_steps, 0, kHuge);
  double fastest = 1;
  for (const double factor : task.slow) {
    number("a slow rank's factor", factor, 1e-3, 1e6);
    fastest = std::min(fastest, factor);
  }
  for (const RankLink& link : task.links) {
    number("a link's bandwidth in bytes a second", link.bytes_per_s, 1, kHuge);
    number("a link's latency in seconds", link.latency_s, 0, 1e6);
  }
  if (task.links.size() != task.ranks || (!task.slow.empty() && task.slow.size() != task.ranks)) {
    complaints.add(fmt::format("there are {} links and {} factors for {} ranks", task.links.size(),
                               task.slow.size(), task.ranks));
  }
  if (!complaints.empty()) return complaints.error();
  if (task.steps == 0 && !(task.seconds > 0)) {
    return Error{ErrorKind::kInvalidInput, "a run needs a number of steps or of seconds", ""};
  }
  const double by_time = task.seconds > 0 ? task.seconds / (task.step_s * fastest) : kNever;
  const double by_count = task.steps > 0 ? static_cast<double>(task.steps) : kNever;
  if (std::min(by_time, by_count) * task.ranks > kMostSyncSteps) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} ranks would take {:g} steps; it must be at most {:g}", task.ranks,
                             std::min(by_time, by_count) * task.ranks, kMostSyncSteps),
                 "ask for fewer steps or seconds"};
  }
  return {};
}

}  // namespace

Status check_sync(const SyncTask& task) {
  const Status numbers = check_numbers(task);
  return numbers.ok() ? check_mode(task) : numbers;
}

}  // namespace weft

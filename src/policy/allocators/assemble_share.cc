// From a composition to a policy of time shares.
#include <fmt/core.h>

#include "policy/allocators/allocators.h"
#include "policy/allocators/time_share.h"

namespace weft {
namespace {

using Assembled = Result<std::unique_ptr<Policy>>;
using ShareObjective = TimeShareOptions::Objective;
using Pairs = TimeShareOptions::Pairs;

const std::map<std::string, ShareObjective>& objectives() {
  static const std::map<std::string, ShareObjective> all = {
      {"max-min", ShareObjective::kMaxMin},    {"finish-time", ShareObjective::kFinishTime},
      {"makespan", ShareObjective::kMakespan}, {"throughput", ShareObjective::kThroughput},
      {"cost", ShareObjective::kCost},         {"isolated", ShareObjective::kIsolated}};
  return all;
}

Error mistake(std::string what, std::string hint) {
  return Error{ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
}

// Sharing of time shares: none, the solver's pairs, or pairs by trial.
Status read_pairs(const Composition& c, TimeShareOptions& options) {
  Settings settings(c.share);
  if (c.share.name == "pairs") {
    options.pairs = Pairs::kSolved;
    if (!options.aware || (options.objective != ShareObjective::kMaxMin &&
                           options.objective != ShareObjective::kMakespan)) {
      return mistake("share 'pairs' goes with objective max-min or makespan, and aware of types",
                     "leave it out, or change the settings of allocate");
    }
  } else if (c.share.name == "trial") {
    options.pairs = Pairs::kTrial;
    if (options.objective != ShareObjective::kIsolated) {
      return mistake("share 'trial' goes with objective isolated",
                     "every pair on trial has the same time");
    }
  } else if (c.share.name != "none") {
    return mistake(fmt::format("share '{}' does not go with allocate 'share'; it must be none, "
                               "pairs or trial",
                               c.share.name),
                   "pack and stages go with allocate 'list'");
  }
  if (options.pairs != Pairs::kNone) {
    options.device_memory = static_cast<Bytes>(settings.number("memory-gib", 24) * kGiB);
  }
  return settings.done();
}

}  // namespace

Result<PackedPlace> packed_place(const Part& part) {
  const std::map<std::string, NodeOrder> orders = {{"first-fit", NodeOrder::kFirst},
                                                   {"best-fit", NodeOrder::kBest},
                                                   {"worst-fit", NodeOrder::kWorst}};
  const auto order = orders.find(part.name);
  if (order == orders.end() || !part.settings.empty()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("place '{}' does not go with allocate 'share'; it must be first-fit, "
                             "best-fit or worst-fit without settings",
                             part.name),
                 ""};
  }
  return PackedPlace(order->second);
}

Assembled assemble_share(const Composition& c) {
  std::vector<std::string> names;
  for (const auto& [name, objective] : objectives()) names.push_back(name);
  Settings settings(c.allocate);
  TimeShareOptions options;
  options.objective = objectives().at(settings.word("objective", "max-min", names));
  options.aware = settings.flag("aware", true);
  options.deadlines = settings.flag("deadlines", false);
  options.round = settings.number("round", options.round);
  options.refresh = settings.number("refresh", options.refresh);
  if (const Status status = settings.done(); !status.ok()) return status.error();
  if (options.round < 1) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("setting 'round' of part 'share' is {}; it must be at least 1 second",
                             options.round),
                 ""};
  }
  if (const Status status = read_pairs(c, options); !status.ok()) return status.error();
  auto place = packed_place(c.place);
  if (!place.ok()) return place.error();
  return std::unique_ptr<Policy>(std::make_unique<TimeSharePolicy>(c.name, options, *place));
}

}  // namespace weft

#include "timing/iteration/scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "base/delimited.h"
#include "timing/iteration/bound.h"
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

// NAME or NAME:VALUE/VALUE.
struct Part {
  std::string name;
  std::vector<double> values;
};

Error bad_scheduler(std::string_view text, std::string_view why) {
  return {ErrorKind::kInvalidInput, fmt::format("scheduler {}: {}", shown(text), why),
          "WITHIN, BETWEEN or WITHIN+BETWEEN, such as p3 or bytescheduler+cassini"};
}

Result<Part> parse_part(std::string_view whole, std::string_view text) {
  Part part;
  const std::size_t colon = text.find(':');
  part.name = text.substr(0, colon);
  if (colon == std::string_view::npos) return part;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const auto value = parse_number(rest.substr(0, slash));
    if (!value || !(*value >= 1) || *value > 1e15) {
      return bad_scheduler(
          whole, fmt::format("{} is not a number from 1 to 1e15", shown(rest.substr(0, slash))));
    }
    part.values.push_back(*value);
    if (slash == std::string_view::npos) return part;
    rest = rest.substr(slash + 1);
  }
}

// How many values a scheduler takes: as many as its list names, separated by slashes.
std::size_t taken(std::string_view values) {
  return values.empty()
             ? 0
             : 1 + static_cast<std::size_t>(std::count(values.begin(), values.end(), '/'));
}

template <typename Scheduler>
const Scheduler* find(const std::vector<Scheduler>& all, std::string_view name) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Scheduler& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

Error unknown_scheduler(std::string_view whole, const std::string& name) {
  std::vector<std::string> known;
  for (const WithinScheduler& one : within_schedulers()) known.emplace_back(one.name);
  for (const BetweenScheduler& one : between_schedulers()) known.emplace_back(one.name);
  const std::string near = near_miss(name, known);
  return bad_scheduler(whole, fmt::format("{} is unknown{}; known: {}", shown(name),
                                          near.empty() ? "" : fmt::format(", {}?", shown(near)),
                                          fmt::join(known, ", ")));
}

std::string describe_setting(const IterationSetting& setting) {
  const TransferPlan& plan = setting.plan;
  double largest = 0;
  for (const MessageBlock& block : plan.blocks) {
    double bytes = 0;
    for (const Piece& piece : block.pieces) bytes += piece.bytes;
    largest = std::max(largest, bytes);
  }
  std::string text = fmt::format("{} messages up to {:.3g} MB", plan.blocks.size(), largest / 1e6);
  if (plan.concurrent) {
    text += ", all at once";
  } else if (plan.credit_bytes <= kOneMessage) {
    text += ", one at a time";
  } else if (plan.credit_bytes < kNoLimit) {
    text += fmt::format(", credit {:.3g} MB", plan.credit_bytes / 1e6);
  }
  if (setting.rate.rank > 0) text += fmt::format(", rank {}", setting.rate.rank);
  if (setting.shift.period > 0) {
    text += fmt::format(", delay {:.3g} ms, period {:.4g} ms", 1e3 * setting.shift.delay,
                        1e3 * setting.shift.period);
  }
  return text;
}

SoloRun run_alone(const TrainingFile& file, const IterationSetting& setting) {
  IterationSetting alone = setting;
  alone.start = 0;
  IterationRun run = simulate_iterations(file.link_bytes_per_s, {&alone, 1}, {2, 20, true});
  const std::vector<Seconds>& ends = run.jobs[0].ends;
  SoloRun solo{ends[1] - ends[0], {}};
  for (IterationSpan span : run.spans) {
    if (span.iteration != 1) continue;
    span.begin -= ends[0];
    span.data -= ends[0];
    span.end -= ends[0];
    solo.spans.push_back(span);
  }
  return solo;
}

}  // namespace

const std::vector<WithinScheduler>& within_schedulers() {
  static const std::vector<WithinScheduler> kAll = {
      {"fifo", "whole tensors as the backward pass makes them", "baseline", "", plan_fifo},
      {"per-flow", "whole tensors, each a flow; all that are ready share", "baseline", "",
       plan_per_flow},
      {"p3", "fixed slices, first needed first, one at a time", "Jayarajan et al., MLSys '19",
       "slice bytes", plan_p3},
      {"tic", "whole tensors in an order from the graph alone", "Hashemi et al., MLSys '19", "",
       plan_tic},
      {"tac", "whole tensors in an order from graph and times", "Hashemi et al., MLSys '19", "",
       plan_tac},
      {"bytescheduler", "slices and credit found by search, first needed first",
       "Peng et al., SOSP '19", "slice bytes/credit bytes", plan_bytescheduler},
      {"prophet", "blocks that fit the gaps between gradients", "Zhang et al., ICPP '21", "",
       plan_prophet},
      {"echelon", "earliest ideal finish first, on every link", "Pan et al., HotNets '22", "",
       plan_echelon},
  };
  return kAll;
}

const std::vector<BetweenScheduler>& between_schedulers() {
  static const std::vector<BetweenScheduler> kAll = {
      {"fair", "max-min shares", "baseline", "", apply_fair},
      {"shares", "guaranteed and limited shares", "weighted max-min with caps", "", apply_shares},
      {"srpt", "least remaining work first", "shortest remaining time", "", apply_srpt},
      {"jpas", "earliest stage of training first", "Zhou et al., JNCA 2020", "", apply_jpas},
      {"cassini", "delays that interleave communication", "Rajasekaran et al., NSDI '24", "",
       apply_cassini},
      {"crux", "most computation per network time first, few levels", "Cao et al., SIGCOMM '24",
       "levels", apply_crux},
      {"mltcp", "weight grows with the bytes sent of the iteration",
       "Rajasekaran et al., arXiv 2402.09589", "", apply_mltcp},
  };
  return kAll;
}

Result<FlowScheduler> parse_flow_scheduler(std::string_view text) {
  FlowScheduler scheduler;
  scheduler.text = text;
  std::string_view rest = text;
  while (true) {
    const std::size_t plus = rest.find('+');
    Result<Part> part = parse_part(text, rest.substr(0, plus));
    if (!part.ok()) return part.error();
    const WithinScheduler* const within = find(within_schedulers(), part->name);
    const BetweenScheduler* const between = find(between_schedulers(), part->name);
    if (within == nullptr && between == nullptr) return unknown_scheduler(text, part->name);
    if (within != nullptr ? scheduler.within != nullptr : scheduler.between != nullptr) {
      return bad_scheduler(text, "it names two schedulers of one kind");
    }
    const std::size_t most = taken(within != nullptr ? within->values : between->values);
    if (part->values.size() > most) {
      return bad_scheduler(
          text, fmt::format("{} takes {} values, not {}", part->name, most, part->values.size()));
    }
    if (within != nullptr) {
      scheduler.within = within;
      scheduler.within_values = part->values;
    } else {
      scheduler.between = between;
      scheduler.between_values = part->values;
    }
    if (plus == std::string_view::npos) break;
    rest = rest.substr(plus + 1);
  }
  if (scheduler.within == nullptr) scheduler.within = find(within_schedulers(), "fifo");
  if (scheduler.between == nullptr) scheduler.between = find(between_schedulers(), "fair");
  const std::string_view name = scheduler.within->name;
  if (scheduler.between->name == "shares" && (name == "echelon" || name == "per-flow")) {
    return bad_scheduler(text, "a share is one flow's at a time, and this sends many at once");
  }
  return scheduler;
}

SchedulerRun run_flow_scheduler(const TrainingFile& file, const FlowScheduler& scheduler,
                                std::uint32_t iterations, bool record) {
  std::vector<IterationSetting> settings;
  std::vector<SoloRun> solo;
  for (const TrainingJob& job : file.jobs) {
    IterationSetting& setting = settings.emplace_back();
    setting.graph = &job.graph;
    setting.plan =
        scheduler.within->plan({job.graph, file.link_bytes_per_s, scheduler.within_values});
    setting.start = job.start;
    solo.push_back(run_alone(file, setting));
  }
  scheduler.between->apply({file, solo, scheduler.between_values}, settings);
  SchedulerRun result{scheduler.text, {}, {}};
  result.run = simulate_iterations(file.link_bytes_per_s, settings, {iterations, 20, record});
  for (std::size_t j = 0; j < settings.size(); ++j) {
    const Seconds ideal = ideal_iteration(file.jobs[j].graph, file.link_bytes_per_s);
    const Seconds iteration = steady_iteration(result.run.jobs[j]);
    // Differences of late times are only as exact as the times; what is below the bound by rounding
    // alone is reported as the bound.
    const std::vector<Seconds>& ends = result.run.jobs[j].ends;
    const Seconds rounding = 1e-9 * ideal + (ends.empty() ? 0 : 1e-12 * ends.back());
    CHECK_MSG(std::min(iteration, solo[j].iteration) >= ideal - rounding,
              "no scheduler is faster than the bound");
    result.jobs.push_back({std::max(iteration, ideal), ideal, std::max(solo[j].iteration, ideal),
                           describe_setting(settings[j])});
  }
  return result;
}

}  // namespace weft

#include "sim_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/wrap.h"
#include "sim/options.h"

namespace weft {
namespace {

double mean_jct(const RunResult& run) { return run.jct_s.mean; }

std::string with_spread(const RunGroup& group, double (*value)(const RunResult&)) {
  const double middle = group.mean(value);
  // Counts are shown whole.
  const bool whole = middle == std::floor(middle) && std::abs(middle) < 1e9;
  const std::string mean = whole ? fmt::format("{:.0f}", middle) : three_digits(middle);
  if (group.runs.size() < 2) return mean;
  return fmt::format("{} ± {}", mean, three_digits(group.deviation(value)));
}

struct MetricColumn {
  const char* heading;
  double (*value)(const RunResult&);
  bool (*wanted)(const RunResult&) = nullptr;  // has a column if any run wants it; null: always
  // For people: what is left out first where there is no room, the largest; 0: never. And whether a
  // column of zeros is left out.
  int dispensable = 0;
  bool if_any = false;
};

constexpr auto kNetworked = [](const RunResult& r) { return r.networked; };
constexpr MetricColumn kMetrics[] = {
    {"p50\nJCT s", [](const RunResult& r) { return r.jct_s.p50; }, nullptr, 3},
    {"p99\nJCT s", [](const RunResult& r) { return r.jct_s.p99; }},
    {"mean\nqueue s", [](const RunResult& r) { return r.queue_s.mean; }},
    {"makespan\ns", [](const RunResult& r) { return r.makespan_s; }, nullptr, 1},
    {"util", [](const RunResult& r) { return r.utilization; }},
    {"worst\nrho", [](const RunResult& r) { return r.rho.max; }, nullptr, 2},
    {"restarts", [](const RunResult& r) { return static_cast<double>(r.restarts); }, nullptr, 0,
     true},
    {"misses", [](const RunResult& r) { return static_cast<double>(r.deadline_misses); }, nullptr,
     0, true},
    {"rejected", [](const RunResult& r) { return static_cast<double>(r.rejected); },
     [](const RunResult& r) { return r.rejected > 0; }},
    {"cost", [](const RunResult& r) { return r.cost; }, nullptr, 4, true},
    {"kWh", [](const RunResult& r) { return r.energy_kwh; }, nullptr, 5, true},
    {"contended", contended_part, kNetworked, 6},
    {"mean\nlink use", [](const RunResult& r) { return r.mean_link_use; }, kNetworked, 8},
    {"busiest\nlink", [](const RunResult& r) { return r.busiest_link_use; }, kNetworked, 7},
    {"decision\np99 ms", [](const RunResult& r) { return 1e3 * r.decision_p99_s; }, nullptr, 9},
};

bool any_run(const std::vector<RunGroup>& groups, const std::function<bool(const RunResult&)>& is) {
  return std::any_of(groups.begin(), groups.end(), [&](const RunGroup& group) {
    return std::any_of(group.runs.begin(), group.runs.end(),
                       [&](const RunResult* run) { return is(*run); });
  });
}

std::vector<MetricColumn> metrics_for(const std::vector<RunGroup>& groups) {
  std::vector<MetricColumn> columns;
  for (const MetricColumn& column : kMetrics) {
    if (column.wanted == nullptr || any_run(groups, column.wanted)) columns.push_back(column);
  }
  return columns;
}

// By estimates of durations.
bool guided(const RunGroup& group) { return group.runs.front()->uses_estimates; }

EstimateMode estimates_of(const RunGroup& group) {
  const auto mode = parse_estimates(group.runs.front()->estimates);
  return mode.ok() ? *mode : EstimateMode{};
}

// What the policy was told of durations; empty: nothing it looks at.
std::string knowledge(const RunGroup& group) {
  if (!guided(group)) return "";
  switch (const EstimateMode mode = estimates_of(group); mode.kind) {
    case EstimateMode::Kind::kUser:
      return "by users' estimates";
    case EstimateMode::Kind::kHistory:
      return "by estimates from jobs that ended";
    case EstimateMode::Kind::kNoisy:
      return fmt::format("by true durations with noise of sigma {}", mode.sigma);
    case EstimateMode::Kind::kOracle:
      break;
  }
  return "with true durations known";
}

// From the truth, which no scheduler has.
bool clairvoyant(const RunGroup& group) {
  const EstimateMode::Kind kind = estimates_of(group).kind;
  return guided(group) &&
         (kind == EstimateMode::Kind::kOracle || kind == EstimateMode::Kind::kNoisy);
}

const RunGroup& best_of(const std::vector<RunGroup>& groups) {
  return *std::min_element(groups.begin(), groups.end(), [](const RunGroup& a, const RunGroup& b) {
    return a.mean(mean_jct) < b.mean(mean_jct);
  });
}

Table table_of(const std::vector<RunGroup>& groups, const std::vector<MetricColumn>& columns,
               bool page) {
  std::vector<std::string> headings{"<policy", "mean\nJCT s", "vs\nfirst"};
  for (const MetricColumn& column : columns) headings.emplace_back(column.heading);
  if (!page) headings.emplace_back("<estimates");
  Table table(std::move(headings));
  const double base = groups.front().mean(mean_jct);
  const RunGroup& best = best_of(groups);
  for (const RunGroup& g : groups) {
    std::string label = g.label;
    if (page && guided(g)) label += "*";
    if (groups.size() > 1 && &g == &best) label += " ✓";
    std::vector<std::string> row{std::move(label), with_spread(g, mean_jct),
                                 base > 0 ? fmt::format("{:.2f}x", g.mean(mean_jct) / base) : "-"};
    for (const MetricColumn& column : columns) row.push_back(with_spread(g, column.value));
    if (!page) row.push_back(guided(g) ? g.runs.front()->estimates : "none");
    table.row(std::move(row));
  }
  return table;
}

}  // namespace

Table comparison_table(const std::vector<RunGroup>& groups) {
  return table_of(groups, metrics_for(groups), false);
}

std::string comparison_page(const std::vector<RunGroup>& groups) {
  std::vector<MetricColumn> columns = metrics_for(groups);
  std::erase_if(columns, [&](const MetricColumn& column) {
    return column.if_any &&
           !any_run(groups, [&](const RunResult& run) { return column.value(run) != 0; });
  });
  std::vector<std::string> left_out;
  std::string text = table_of(groups, columns, true).text();
  while (widest_line(text) > kPageColumns) {
    const auto least = std::max_element(
        columns.begin(), columns.end(),
        [](const MetricColumn& a, const MetricColumn& b) { return a.dispensable < b.dispensable; });
    if (least == columns.end() || least->dispensable == 0) break;
    left_out.emplace_back(least->heading);
    std::replace(left_out.back().begin(), left_out.back().end(), '\n', ' ');
    columns.erase(least);
    text = table_of(groups, columns, true).text();
  }
  const auto user = std::find_if(groups.begin(), groups.end(), guided);
  std::string notes;
  if (user != groups.end()) {
    notes += fmt::format("* decides {} (--estimates {})\n", knowledge(*user),
                         user->runs.front()->estimates);
  }
  if (!left_out.empty()) {
    notes += wrapped(fmt::format("left out for want of room: {}; --csv and --json have everything",
                                 fmt::join(left_out, ", ")),
                     kPageColumns) +
             "\n";
  }
  return text + notes + "\n" + wrapped(verdict(groups), kPageColumns) + "\n";
}

std::string verdict(const std::vector<RunGroup>& groups) {
  const RunGroup& first = groups.front();
  const RunGroup& best = best_of(groups);
  const double base = first.mean(mean_jct);
  std::string known = knowledge(best);
  if (!known.empty()) known = ", " + known;
  const std::string seeds =
      first.runs.size() > 1
          ? fmt::format(" (± {}, {} seeds)",
                        three_digits(best.deviation(mean_jct) / std::max(1e-9, base)),
                        first.runs.size())
          : "";
  if (groups.size() == 1) {
    return fmt::format("{}: mean JCT {} s{}{}", first.label, three_digits(base), seeds, known);
  }
  if (&best == &first) {
    return fmt::format("nothing beats {} on mean JCT{}{}", first.label, seeds, known);
  }
  std::string text = fmt::format("{} beats {}: mean JCT {:.2f}x{}{}", best.label, first.label,
                                 best.mean(mean_jct) / base, seeds, known);
  if (!clairvoyant(best)) return text;
  const RunGroup* honest = nullptr;
  for (const RunGroup& group : groups) {
    if (clairvoyant(group) || &group == &first) continue;
    if (honest == nullptr || group.mean(mean_jct) < honest->mean(mean_jct)) honest = &group;
  }
  if (honest != nullptr) {
    text += fmt::format("; {} without: {:.2f}x", honest->label, honest->mean(mean_jct) / base);
  }
  return text;
}

}  // namespace weft

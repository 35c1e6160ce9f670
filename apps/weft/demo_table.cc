// The table that `weft demo` prints: three runs side by side.
#include <fmt/core.h>

#include <algorithm>

#include "demo_report.h"

namespace weft {
namespace {

constexpr DemoLook kDemoLooks[] = {
    {"fifo", "fifo, plain DDP", "fifo, plain DDP", "#9aa7b5"},
    {"placed", "placed, plain DDP", "Weft's placement, plain DDP", "#5b8fd0"},
    {"weft", "weft", "Weft: placement, codec and sync together", "#2f7d4a"},
};

constexpr std::size_t kRunsAbreast = 3;
constexpr int kRunColumns = 20;  // predicted, measured, error

// The runs from `first` on, as many as fit; the last of all with what was chosen for each job.
std::string runs_abreast(const DemoSummary& summary, std::size_t first) {
  const std::size_t end = std::min(first + kRunsAbreast, summary.runs.size());
  const bool last = end == summary.runs.size();
  std::string head = fmt::format("{:<10}", ""), names = fmt::format("{:<10}", "job"), body;
  for (std::size_t i = first; i < end; ++i) {
    head += fmt::format("  {:>{}}", demo_look_of(summary.runs[i]).head, kRunColumns);
    names += fmt::format("  {:>5} {:>6} {:>7}", "pred.", "meas.", "error");
  }
  if (last) names += summary.equal_runs() ? "  spread" : "  chosen";
  for (const DemoJob& job : demo_jobs()) {
    std::string line = fmt::format("{:<10}", job.name), how;
    for (std::size_t i = first; i < end; ++i) {
      const DemoOutcome* row = demo_outcome_of(summary.runs[i], job.name);
      const bool ended = row != nullptr && row->finished();
      line += ended
                  ? fmt::format("  {:>5.1f} {:>6.1f} {:>+6.1f}%", row->predicted, row->measured(),
                                row->error_pct())
                  : fmt::format("  {:>{}}", row == nullptr ? "not there" : row->state, kRunColumns);
      if (ended) how = row->how;
    }
    if (summary.equal_runs()) how = fmt::format("{:.1f} %", summary.spread_pct(job.name));
    if (last) line += "  " + how;
    body += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  body += fmt::format("{:<10}", "mean");
  for (std::size_t i = first; i < end; ++i) {
    body += fmt::format("  {:>5} {:>6.1f} {:>6.1f}%", "", summary.runs[i].mean_time(),
                        summary.runs[i].mean_error_pct());
  }
  if (last && summary.equal_runs()) body += fmt::format("  {:.1f} %", summary.spread_pct());
  return head + "\n" + names + "\n" + body + "\n";
}

}  // namespace

const DemoLook& demo_look_of(const DemoResult& run) {
  return *std::find_if(std::begin(kDemoLooks), std::end(kDemoLooks) - 1,
                       [&](const DemoLook& look) { return look.run == run.name; });
}

const DemoOutcome* demo_outcome_of(const DemoResult& run, const std::string& job) {
  const auto at = std::find_if(run.jobs.begin(), run.jobs.end(),
                               [&](const DemoOutcome& row) { return row.job == job; });
  return at == run.jobs.end() ? nullptr : &*at;
}

std::string demo_table(const DemoSummary& summary) {
  std::string text =
      "seconds from submission to end: predicted before the first job ran, and measured\n\n";
  for (std::size_t first = 0; first < summary.runs.size(); first += kRunsAbreast) {
    text += (first == 0 ? "" : "\n") + runs_abreast(summary, first);
  }
  return text;
}

}  // namespace weft

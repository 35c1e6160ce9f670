#include "demo_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "page_style.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr const char* kOwnStyle = R"(
.verdict { font-size: 17px; color: #1c2128; }
.begin { border-left: 1px solid #d5dae1; padding-left: 14px; } text { font-size: 12px; }
)";

// The jobs of a run along time: waiting pale, from its first start in colour.
std::string timeline(const DemoResult& run, const char* color, Seconds longest) {
  constexpr double kLeft = 110, kWidth = 900, kRow = 22;
  std::string text;
  double y = 6;
  for (const DemoOutcome& job : run.jobs) {
    const auto x = [&](Seconds at) { return kLeft + kWidth * at / longest; };
    const Seconds started = std::isfinite(job.started) ? job.started : job.ended;
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                        y + 13, job.job);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"#e8ebef\"/>\n",
        x(job.submitted), y, std::max(0.0, x(started) - x(job.submitted)));
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"{}\"><title>{}</title>"
        "</rect>\n",
        x(started), y, std::max(1.0, x(job.ended) - x(started)), color,
        fmt::format("{}: {:.1f} s, {}", job.job, job.measured(), job.how));
    const double expected = x(job.submitted + job.predicted);
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#c0392b\" "
        "stroke-width=\"2\"/>\n",
        expected, y - 2, y + 18);
    text +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", std::max(x(job.ended), expected) + 6,
                    y + 13, job.how.empty() ? "" : job.how);
    y += kRow;
  }
  for (double at = 0; at <= longest; at += 20) {
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" fill=\"#5a6472\">{:.0f} s</text>\n",
                        kLeft + kWidth * at / longest, y + 14, at);
  }
  return fmt::format(
      "<svg viewBox=\"0 0 1160 {0:.0f}\" width=\"1160\" height=\"{0:.0f}\">{1}</svg>\n", y + 20,
      text);
}

std::string page_table(const DemoSummary& summary) {
  std::string head = "<tr><th class=\"left\">job</th>", second = "<tr><th></th>", body;
  for (const DemoResult& run : summary.runs) {
    head += fmt::format("<th colspan=\"4\" class=\"begin\">{}</th>", demo_look_of(run).says);
    second += "<th class=\"begin\">predicted</th><th>measured</th><th>error</th><th>last loss</th>";
  }
  for (const DemoJob& job : demo_jobs()) {
    body += fmt::format("<tr><td class=\"left\">{}</td>", job.name);
    for (const DemoResult& run : summary.runs) {
      const DemoOutcome* row = demo_outcome_of(run, job.name);
      body += row == nullptr ? "<td class=\"begin\" colspan=\"4\"></td>"
                             : fmt::format(
                                   "<td class=\"begin\">{:.1f} s</td><td>{:.1f} s</td>"
                                   "<td>{:+.1f} %</td><td>{:.3f}</td>",
                                   row->predicted, row->measured(), row->error_pct(), row->loss);
    }
    body += "</tr>\n";
  }
  body += "<tr><td class=\"left\"><b>mean</b></td>";
  for (const DemoResult& run : summary.runs) {
    body +=
        fmt::format("<td class=\"begin\"></td><td><b>{:.1f} s</b></td><td>{:.1f} %</td><td></td>",
                    run.mean_time(), run.mean_error_pct());
  }
  return "<table>" + head + "</tr>\n" + second + "</tr>\n" + body + "</tr></table>\n";
}

}  // namespace

double DemoSummary::spread_pct(const std::string& job) const {
  double sum = 0, count = 0;
  for (const DemoJob& each : demo_jobs()) {
    if (!job.empty() && each.name != job) continue;
    double mean = 0, n = 0;
    for (const DemoResult& run : runs) {
      const DemoOutcome* row = demo_outcome_of(run, each.name);
      if (row == nullptr || !row->finished()) continue;
      mean += row->measured();
      ++n;
    }
    mean /= std::max(n, 1.0);
    for (const DemoResult& run : runs) {
      const DemoOutcome* row = demo_outcome_of(run, each.name);
      if (row == nullptr || !row->finished()) continue;
      sum += std::abs(row->measured() - mean) / mean;
      ++count;
    }
  }
  return count > 0 ? 100 * sum / count : 0;
}

bool DemoSummary::all_well() const {
  return std::all_of(runs.begin(), runs.end(),
                     [](const DemoResult& r) { return r.all_finished(); });
}

std::string demo_verdict(const DemoSummary& summary) {
  if (!summary.all_well()) return "verdict: not every job finished; see above";
  if (summary.equal_runs()) {
    double error = 0;
    for (const DemoResult& run : summary.runs) error += run.mean_error_pct();
    return fmt::format(
        "verdict: times of a job in {} equal runs are {:.1f} % from their mean on average; "
        "predictions are off by {:.1f} %",
        summary.runs.size(), summary.spread_pct(),
        error / static_cast<double>(summary.runs.size()));
  }
  std::string text = fmt::format(
      "verdict: jobs end {:.2f}x as fast as under fifo with plain DDP, {:.2f}x by placement alone; "
      "predictions are off by {:.1f} % (fifo) and {:.1f} % (weft) on average",
      summary.gain(summary.last()), summary.gain(summary.runs[summary.runs.size() > 1 ? 1 : 0]),
      summary.first().mean_error_pct(), summary.last().mean_error_pct());
  const DemoOutcome* victim = demo_outcome_of(summary.last(), demo_jobs()[kDemoVictim].name);
  if (!summary.last().killed.empty() && victim != nullptr) {
    text += fmt::format("; {} was killed, and the job went on ({} restart{})",
                        summary.last().killed, victim->restarts, victim->restarts == 1 ? "" : "s");
  }
  for (const DemoJob& job : demo_jobs()) {
    const DemoOutcome* row = demo_outcome_of(summary.last(), job.name);
    if (job.deadline <= 0 || row == nullptr) continue;
    text += fmt::format("; {} {} its deadline of {:.0f} s", job.name,
                        row->measured() <= job.deadline ? "kept" : "missed", job.deadline);
  }
  return text;
}

Json demo_json(const DemoSummary& summary) {
  Json runs = Json::array();
  for (const DemoResult& run : summary.runs) {
    Json jobs = Json::array();
    for (const DemoOutcome& row : run.jobs) {
      jobs.push_back({{"job", row.job},
                      {"state", row.state},
                      {"predicted_s", row.predicted},
                      {"predicted_start_s", row.predicted_start},
                      {"predicted_restarts", row.predicted_restarts},
                      {"measured_s", row.measured()},
                      {"error_pct", row.error_pct()},
                      {"started_s", row.started - row.submitted},
                      {"restarts", row.restarts},
                      {"way", row.how},
                      {"loss", row.loss}});
    }
    runs.push_back({{"run", run.name},
                    {"what", demo_look_of(run).says},
                    {"jobs", jobs},
                    {"mean_s", run.mean_time()},
                    {"mean_error_pct", run.mean_error_pct()},
                    {"gain", summary.gain(run)},
                    {"killed", run.killed}});
  }
  Json json = {{"runs", runs},
               {"gain", summary.gain(summary.last())},
               {"links_shaped", summary.park.shaped},
               {"took_s", summary.took},
               {"seed", summary.seed},
               {"all_finished", summary.all_well()}};
  if (summary.equal_runs()) json["spread_pct"] = summary.spread_pct();
  return json;
}

std::string demo_page(const DemoSummary& summary) {
  Seconds longest = 1;
  for (const DemoResult& run : summary.runs) {
    for (const DemoOutcome& job : run.jobs) {
      if (std::isfinite(job.ended)) longest = std::max(longest, job.ended);
      longest = std::max(longest, job.submitted + job.predicted);
    }
  }
  std::string sections = fmt::format(
      "<section><h2>From submission to end</h2>{}<p>Predictions were written to the journal before "
      "the first job of a run was submitted. Loss is the last one reported.</p></section>\n",
      page_table(summary));
  for (const DemoResult& run : summary.runs) {
    sections += fmt::format(
        "<section><h2>{}: {:.1f} s on average ({:.2f}x)</h2>{}<p>Pale: waiting. Red: the predicted "
        "end. {}</p></section>\n",
        demo_look_of(run).says, run.mean_time(), summary.gain(run),
        timeline(run, demo_look_of(run).color, longest),
        run.killed.empty() ? "" : "Killed: " + run.killed + ".");
  }
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>weft demo</title>"
      "<style>{}{}</style></head><body><main><h1>Eight training jobs on four nodes</h1>"
      "<p class=\"verdict\">{}</p><p>{} nodes with {} devices of {:.3f} processors each; links of "
      "{:.0f} Mbit/s{}. {:.0f} s in all.</p>\n{}</main></body></html>\n",
      kPageStyle, kOwnStyle, demo_verdict(summary), summary.park.nodes, summary.park.devices,
      0.001 * summary.park.device_milli, summary.park.link_bytes_per_s * 8e-6,
      summary.park.shaped ? "" : " (not shaped: only Weft's runtime keeps to them)", summary.took,
      sections);
}

}  // namespace weft

#include "report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "report_stays.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kHole = "{{WEFT_DATA}}";
constexpr size_t kNameBytes = 72;           // longer names are cut
constexpr size_t kNamedNodes = 20'000;      // larger clusters show numbers
constexpr size_t kCurvePoints = 400;        // of a distribution
constexpr size_t kSeriesBins = 900;         // of a series over time
constexpr size_t kCellsPerRun = 1'000'000;  // one byte each
constexpr size_t kCellsInAll = 4'000'000;

// Where the page's time begins, and its grid: times are whole numbers of ticks.
struct TimeAxis {
  Seconds origin = 0, end = 0, tick = 1;

  std::int64_t ticks(Seconds at) const {
    return static_cast<std::int64_t>(std::llround((at - origin) / tick));
  }
};

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;  // JSON writes null for what is not finite
  const double scale = std::pow(10.0, 8 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::string cut(std::string_view name) {
  if (name.size() <= kNameBytes) return std::string(name);
  size_t end = kNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "…";
}

Json summary(const Summary& s) {
  return {{"mean", rounded(s.mean)},
          {"p50", rounded(s.p50)},
          {"p95", rounded(s.p95)},
          {"p99", rounded(s.p99)},
          {"max", rounded(s.max)}};
}

class Page {
 public:
  explicit Page(const ReportInput& input) : input_(input), rows_of_job_(job_count(), kNoJob) {
    Seconds begin = kNever, end = 0;
    for (const RunResult* run : input.runs) {
      for (const JobRecord& record : run->records) {
        begin = std::min(begin, record.submit);
        if (std::isfinite(record.end)) end = std::max(end, record.end);
      }
      for (const Span& span : run->timeline) {
        begin = std::min(begin, span.from);
        end = std::max(end, span.to);
      }
      if (!run->samples.empty()) end = std::max(end, run->samples.back().at);
    }
    if (!std::isfinite(begin)) begin = 0;
    const double range = std::max(end - begin, 1.0);
    time_ = {begin, begin + range, std::max(1e-3, std::pow(10, std::floor(std::log10(range)) - 6))};
  }

  std::string data() {
    Json runs = Json::array();
    for (size_t i = 0; i < input_.runs.size(); ++i) {
      runs.push_back(run_json(*input_.runs[i]));
      if (!input_.labels.empty()) runs.back()["label"] = cut(input_.labels[i]);
    }
    const Json all = {
        {"trace", trace_json()},
        {"cluster", cluster_json()},
        {"time",
         {{"origin", rounded(time_.origin)},
          {"tick", time_.tick},
          {"end", time_.ticks(time_.end)}}},
        {"jobs",
         {{"name", names_}, {"tenant", tenants_}, {"submit", submits_}, {"devices", requests_}}},
        {"runs", std::move(runs)}};
    // Inside a script element only `<` could end the data; it stands in strings alone.
    const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
      if (c == '<') {
        safe += "\\u003c";
      } else {
        safe += c;
      }
    }
    return safe;
  }

 private:
  size_t job_count() const { return input_.trace->jobs.size() * input_.replicate; }
  bool of_cluster(const RunResult& run) const { return run.cluster == input_.cluster->text; }
  const Submission& submission(size_t job) const {
    return *input_.trace->jobs[job / input_.replicate].submission;
  }

  // The row of the page's table of jobs; made when a job is first drawn.
  std::uint32_t row_of(JobId job, std::int64_t submitted) {
    std::uint32_t& row = rows_of_job_[job];
    if (row == kNoJob) {
      row = static_cast<std::uint32_t>(names_.size());
      const Submission& spec = submission(job);
      const std::uint32_t copy = job % input_.replicate;  // named as in the CSV of jobs
      names_.push_back(cut(spec.name) + (copy > 0 ? "#" + std::to_string(copy) : ""));
      tenants_.push_back(spec.tenant);
      submits_.push_back(submitted);
      requests_.push_back(spec.menu && !spec.menu->configurations.empty() ? spec.requested().devices
                                                                          : std::uint32_t{0});
    }
    return row;
  }

  Json trace_json() const {
    std::vector<std::string> tenants;
    for (const std::string& tenant : input_.trace->tenants) tenants.push_back(cut(tenant));
    return {{"path", input_.trace->path},
            {"format", input_.trace->format},
            {"jobs", job_count()},
            {"replicate", input_.replicate},
            {"tenants", std::move(tenants)}};
  }

  Json cluster_json() const {
    const Cluster& cluster = *input_.cluster;
    Json types = Json::array(), runs = Json::array(), names = Json::array();
    for (TypeId type = 0; type < cluster.types.size(); ++type) {
      types.push_back({cut(cluster.types[type].name), cluster.device_count(type)});
    }
    for (size_t i = 0; i < cluster.nodes.size();) {
      const Node& first = cluster.nodes[i];
      size_t next = i;
      while (next < cluster.nodes.size() && cluster.nodes[next].devices == first.devices &&
             cluster.nodes[next].type == first.type) {
        ++next;
      }
      runs.push_back({next - i, first.devices, first.type});
      i = next;
    }
    if (cluster.nodes.size() <= kNamedNodes) {
      for (const Node& node : cluster.nodes) names.push_back(cut(node.name));
    }
    return {{"text", cluster.text},
            {"devices", cluster.device_count()},
            {"types", types},
            {"nodes", runs},
            {"names", std::move(names)}};
  }

  // Null where jobs do not share a network.
  static Json network_json(const RunResult& run) {
    if (!run.networked) return nullptr;
    return {{"spanning_jobs", run.spanning_jobs},
            {"contended_jobs", run.contended_jobs},
            {"mean_link_use", rounded(run.mean_link_use)},
            {"busiest_link_use", rounded(run.busiest_link_use)}};
  }

  Json run_json(const RunResult& run) {
    return {{"policy", cut(run.policy)},
            {"place", cut(run.place)},
            {"estimates", cut(run.estimates)},
            {"seed", run.seed},
            {"jobs", run.jobs},
            {"unfinished", run.unfinished},
            {"rejected", run.rejected},
            {"restarts", run.restarts},
            {"deadline_misses", run.deadline_misses},
            {"with_deadline", run.with_deadline},
            {"events", run.events},
            {"jct_s", summary(run.jct_s)},
            {"queue_s", summary(run.queue_s)},
            {"rho", summary(run.rho)},
            {"makespan_s", rounded(run.makespan_s)},
            {"utilization", rounded(run.utilization)},
            {"fragmentation", rounded(run.fragmentation)},
            {"gpu_hours", rounded(run.gpu_hours)},
            {"lost_gpu_hours", rounded(run.lost_gpu_hours)},
            {"cost", rounded(run.cost)},
            {"energy_kwh", rounded(run.energy_kwh)},
            {"network", network_json(run)},
            {"decision_p50_s", rounded(run.decision_p50_s)},
            {"decision_p99_s", rounded(run.decision_p99_s)},
            {"curve", curve_json(run)},
            {"series", series_json(run)},
            {"timeline", timeline_json(run)}};
  }

  // Completion times in ascending order, and the part of the jobs done by then.
  Json curve_json(const RunResult& run) const {
    std::vector<double> jct;
    for (size_t i = 0; i < run.records.size(); ++i) {
      const JobRecord& record = run.records[i];
      const bool service = submission(i).kind == WorkloadKind::kService;
      if (service || record.rejected || !std::isfinite(record.end)) continue;
      jct.push_back(record.end - record.submit);
    }
    std::sort(jct.begin(), jct.end());
    Json at = Json::array(), part = Json::array();
    const size_t points = std::min(jct.size(), kCurvePoints);
    for (size_t i = 0; i < points; ++i) {
      const size_t rank = points == 1 ? 0 : i * (jct.size() - 1) / (points - 1);
      at.push_back(std::round(jct[rank] * 1e3) / 1e3);
      part.push_back(
          std::round(1e5 * static_cast<double>(rank + 1) / static_cast<double>(jct.size())) / 1e5);
    }
    return {{"s", std::move(at)}, {"part", std::move(part)}, {"jobs", jct.size()}};
  }

  // Means over equal bins of the page's time, until the run ends.
  Json series_json(const RunResult& run) const {
    std::vector<double> busy(kSeriesBins), waiting(kSeriesBins);
    const double bin_s = (time_.end - time_.origin) / static_cast<double>(kSeriesBins);
    size_t used = 0;
    for (size_t i = 0; i + 1 < run.samples.size(); ++i) {
      const Sample& sample = run.samples[i];
      const Seconds to = run.samples[i + 1].at;
      const double from_bin = std::max(0.0, (sample.at - time_.origin) / bin_s);
      for (size_t bin = static_cast<size_t>(from_bin); bin < kSeriesBins; ++bin) {
        const Seconds begin = time_.origin + static_cast<double>(bin) * bin_s;
        const Seconds s = std::min(to, begin + bin_s) - std::max(sample.at, begin);
        if (s <= 0 && begin > sample.at) break;
        if (s <= 0) continue;
        busy[bin] += s * sample.busy_devices;
        waiting[bin] += s * sample.waiting;
        used = std::max(used, bin + 1);
      }
    }
    Json busy_permille = Json::array(), mean_waiting = Json::array();
    const double devices = std::max<double>(input_.cluster->device_count(), 1);
    for (size_t bin = 0; bin < used; ++bin) {
      busy_permille.push_back(std::llround(busy[bin] / bin_s / devices * 1000));
      mean_waiting.push_back(std::round(waiting[bin] / bin_s * 10) / 10);
    }
    if (!of_cluster(run)) busy_permille.clear();  // nobody says how many devices it had
    return {{"bins", kSeriesBins},
            {"busy_permille", std::move(busy_permille)},
            {"waiting", std::move(mean_waiting)}};
  }

  Json timeline_json(const RunResult& run) {
    const size_t runs = input_.runs.size();
    if (!of_cluster(run)) return {{"other_cluster", cut(run.cluster)}};
    std::vector<Stay> stays = joined(run.timeline);
    Json out = {{"stays", stays.size()}};
    const size_t limit = std::min(kReportSpansPerRun, kReportSpansInAll / runs);
    if (stays.size() > limit) {
      const std::vector<Stay> small = take_small(stays, limit);
      const Grid grid = grid_for(*input_.cluster, time_.origin, time_.end,
                                 std::min(kCellsPerRun, kCellsInAll / runs));
      double drawn_s = 0, small_s = 0;
      for (const Stay& stay : stays) drawn_s += stay.device_s();
      for (const Stay& stay : small) small_s += stay.device_s();
      out["cells"] = {{"group", grid.group},
                      {"rows", grid.rows},
                      {"bins", grid.bins},
                      {"drawn_part", rounded(drawn_s / (drawn_s + small_s))},
                      {"occupancy", occupancy(grid, stays, small)}};
    }
    add_columns(run, stays, out);
    if (!run.gaps.empty()) out["outages"] = outages_json(run, kReportOutagesInAll / runs);
    return out;
  }

  Json outages_json(const RunResult& run, size_t limit) const {
    std::vector<std::int64_t> device, devices, from, length;
    for (const Absence& a : absences(*input_.cluster, run.gaps, time_.origin, time_.end, limit)) {
      device.push_back(a.device);
      devices.push_back(a.devices);
      from.push_back(time_.ticks(a.from));
      length.push_back(time_.ticks(a.to) - from.back());
    }
    return {{"all", run.gaps.size()},
            {"device", device},
            {"devices", devices},
            {"from", from},
            {"length", length}};
  }

  // Rectangles by column; `step` counts from the begin of the one before.
  void add_columns(const RunResult& run, const std::vector<Stay>& stays, Json& out) {
    std::vector<std::int64_t> job, device, devices, milli, step, length, submit;
    std::int64_t last = 0;
    bool shared = false, rescaled = false;
    for (const Stay& stay : stays) {
      CHECK(stay.job < rows_of_job_.size() && stay.job < run.records.size());
      const std::int64_t from = time_.ticks(stay.from);
      const std::int64_t submitted = time_.ticks(run.records[stay.job].submit);
      const std::uint32_t row = row_of(stay.job, submitted);
      job.push_back(row);
      device.push_back(stay.device);
      devices.push_back(stay.devices);
      milli.push_back(stay.milli);
      step.push_back(from - last);
      length.push_back(time_.ticks(stay.to) - from);
      submit.push_back(submitted);
      last = from;
      shared |= stay.milli != kWhole;
      rescaled |= submits_[row] != submitted;
    }
    out.update({{"job", job},
                {"device", device},
                {"devices", devices},
                {"step", step},
                {"length", length}});
    if (shared) out["milli"] = milli;
    if (rescaled) out["submit"] = submit;
  }

  const ReportInput& input_;
  TimeAxis time_;
  std::vector<std::uint32_t> rows_of_job_;
  std::vector<std::string> names_;
  std::vector<TenantId> tenants_;
  std::vector<std::int64_t> submits_;
  std::vector<std::uint32_t> requests_;
};

}  // namespace

std::string report_html(const ReportInput& input) {
  CHECK(input.cluster != nullptr && input.trace != nullptr && !input.runs.empty());
  CHECK(input.replicate > 0);
  CHECK(input.labels.empty() || input.labels.size() == input.runs.size());
  const std::string_view page = report_page();
  const size_t hole = page.find(kHole);
  CHECK(hole != std::string_view::npos);
  std::string html(page.substr(0, hole));
  html += Page(input).data();
  html += page.substr(hole + kHole.size());
  return html;
}

}  // namespace weft

#include "demo_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/random.h"
#include "demo_forecast.h"
#include "live/http/poll.h"
#include "live/job/job_json.h"
#include "live/store/notes.h"
#include "rank_processes.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kCalibrationLooks = 1500, kRunLooks = 3000;  // tenths of a second
constexpr const char* kNote = "forecast";

// A process of rank 1 of the job, by the mark that its environment has.
pid_t rank_process(const std::string& uuid) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1) continue;
    const auto words = read_file(entry.path() / "cmdline", 64 << 10);
    if (!words.ok() || words->find("weft.demo_training") == std::string::npos) continue;
    const auto variables = read_file(entry.path() / "environ", 1 << 20);
    if (variables.ok() && variables->find("WEFT_RUN=" + uuid + ".") != std::string::npos &&
        variables->find(std::string("\0RANK=1\0", 8)) != std::string::npos) {
      return pid;
    }
  }
  return -1;
}

class StyleRun {
 public:
  StyleRun(DemoCluster& cluster, const DemoStyle& style, const DemoPark& park,
           const Calibration& calibration, std::string folder, std::uint64_t seed)
      : cluster_(cluster),
        style_(style),
        park_(park),
        calibration_(calibration),
        folder_(std::move(folder)) {
    // Its moment: a share of its work.
    fatal_share_ = Random(seed).uniform(0.25, 0.75);
  }

  Status forecast() {
    const auto expected = demo_forecast(style_, park_, calibration_, folder_);
    if (!expected.ok()) return expected.error();
    Json jobs = Json::object();
    for (const auto& [job, of] : *expected) {
      jobs[job] = {{"start_s", of.start}, {"end_s", of.end}, {"restarts", of.restarts}};
    }
    const Json note = {
        {"run", style_.name},
        {"jobs", jobs},
        {"a worker starts in s", calibration_.start("small", kDemoPlain, 1, 1, 100, 0)},
        {"a rank dies in", demo_jobs()[kDemoVictim].name}};
    const auto kept = cluster_.ask("POST", "/v1/notes", {{"name", kNote}, {"text", note.dump()}});
    if (!kept.ok()) return kept.error();
    return {};
  }

  // The first job comes just before a round of the policy, as in the forecast.
  Status align() {
    Status status;
    live::poll_until(
        [&] {
          const auto answer = cluster_.ask("GET", "/v1/jobs");
          if (!answer.ok()) {
            status = answer.error();
            return true;
          }
          const double now = answer->at("now_s").get<double>();
          const double to_next = kDemoRound - std::fmod(now, kDemoRound);
          begin_ = now;
          return to_next < kDemoLead + 0.1 && to_next > kDemoLead - 0.1;
        },
        100);
    return status;
  }

  // Once in a tenth of a second. True: over.
  bool tick(const DemoShow& show) {
    const auto answer = cluster_.ask("GET", "/v1/jobs?all=1");
    if (!answer.ok()) {
      problem_ = answer.error();
      return true;
    }
    const Seconds now = answer->at("now_s").get<double>() - begin_;
    while (next_ < demo_jobs().size() && demo_jobs()[next_].submit <= now + 0.05) {
      if (problem_ = submit(demo_jobs()[next_++]); !problem_.ok()) return true;
    }
    Json mine = Json::array();
    std::size_t ended = 0;
    for (const Json& job : answer->at("jobs")) {
      if (!uuids_.contains(job.at("name"))) continue;
      mine.push_back(job);
      ended += !job.at("ended_s").is_null();
      if (job.at("name") == demo_jobs()[kDemoVictim].name) strike(job, now);
      if (const std::string way = job.at("way"); !way.empty()) ways_[job.at("name")] = way;
    }
    if (looks_++ % 5 == 0) show(mine, now);
    last_ = std::move(mine);
    return ended == demo_jobs().size();
  }

  Result<DemoResult> result() {
    if (!problem_.ok()) return problem_.error();
    // What was expected stands in the journal, from before the first job.
    const auto notes = live::read_notes(cluster_.store(), kNote);
    if (!notes.ok()) return notes.error();
    if (notes->empty()) return Error{ErrorKind::kNotFound, "the journal has no forecast", ""};
    const Json expected = Json::parse(notes->back().note.text, nullptr, false);
    DemoResult out;
    out.name = style_.name;
    out.killed = killed_;
    for (const Json& job : last_) {
      DemoOutcome row;
      row.job = job.at("name");
      row.state = job.at("state");
      row.how = ways_[row.job];
      const auto when = [&](const char* name) {
        return job.at(name).is_null() ? kNever : job.at(name).get<double>() - begin_;
      };
      row.submitted = when("submitted_s");
      row.started = when("started_s");
      row.ended = when("ended_s");
      row.restarts = job.at("restarts");
      row.loss = job.at("loss");
      const Json& of = expected.at("jobs").at(row.job);
      row.predicted = of.at("end_s");
      row.predicted_start = of.at("start_s");
      row.predicted_restarts = of.at("restarts");
      out.jobs.push_back(row);
    }
    return out;
  }

 private:
  Status submit(const DemoJob& job) {
    const Json body = {{"spec", live::to_json(demo_spec(job, style_, park_, folder_))},
                       {"profile", demo_profile(job, style_, park_, calibration_)}};
    const auto made = cluster_.ask("POST", "/v1/jobs", body);
    if (!made.ok()) return made.error();
    uuids_[job.name] = made->at("jobs").at(0).at("uuid").get<std::string>();
    return {};
  }

  // Kills a rank once it has done its share.
  void strike(const Json& job, Seconds now) {
    if (!killed_.empty() || job.at("state") != "running") return;
    if (job.at("step").get<double>() < fatal_share_ * demo_jobs()[kDemoVictim].batches) return;
    const pid_t pid = rank_process(job.at("uuid"));
    if (pid <= 1 || kill(pid, SIGKILL) != 0) return;
    killed_ = fmt::format("rank 1 of {} at {:.1f} s", job.at("name").get<std::string>(), now);
  }

  DemoCluster& cluster_;
  const DemoStyle& style_;
  const DemoPark& park_;
  const Calibration& calibration_;
  std::string folder_;
  double fatal_share_ = 0.5;
  Seconds begin_ = 0;
  std::size_t next_ = 0, looks_ = 0;
  std::map<std::string, std::string> uuids_, ways_;
  std::string killed_;
  Json last_;
  Status problem_;
};

}  // namespace

bool DemoResult::all_finished() const {
  return std::all_of(jobs.begin(), jobs.end(), [](const DemoOutcome& j) { return j.finished(); });
}

Seconds DemoResult::mean_time() const {
  Seconds sum = 0;
  for (const DemoOutcome& job : jobs) sum += job.measured();
  return sum / static_cast<double>(jobs.size());
}

double DemoResult::mean_error_pct() const {
  double sum = 0;
  for (const DemoOutcome& job : jobs) sum += std::abs(job.error_pct());
  return sum / static_cast<double>(jobs.size());
}

Result<Calibration> demo_calibrate(DemoCluster& cluster, const DemoPark& park,
                                   const std::string& folder) {
  const std::string file = path_in(folder, "calibration.json");
  live::JobSpec spec =
      demo_spec({"calibration", "small", 1, 1}, demo_styles().front(), park, folder);
  spec.num_nodes = static_cast<std::uint32_t>(park.nodes);
  spec.resources.accelerators = {{"", static_cast<std::uint32_t>(park.devices)}};
  spec.resources.cpus = 0.001 * park.device_milli * park.devices;
  spec.retries.max = 0;
  spec.run = fmt::format(
      "exec /usr/bin/python3 -W ignore -m weft.demo_training --calibrate '{}' --ways {}", file,
      fmt::join(demo_ways(), ","));
  const auto made = cluster.ask("POST", "/v1/jobs", {{"spec", live::to_json(spec)}});
  if (!made.ok()) return made.error();
  const std::string uuid = made->at("jobs").at(0).at("uuid");
  std::string state, why;
  live::poll_until(
      [&] {
        const auto job = cluster.ask("GET", "/v1/jobs/" + uuid);
        if (!job.ok()) return false;
        state = job->at("state");
        why = job->at("why");
        return !job->at("ended_s").is_null();
      },
      kCalibrationLooks);
  if (state != "finished") {
    const auto log = cluster.ask("GET", "/v1/jobs/" + uuid + "/logs?rank=0");
    return Error{ErrorKind::kIo, fmt::format("the calibration is {}: {}", state, why),
                 log.ok() ? log->at("text").get<std::string>() : ""};
  }
  const auto text = read_file(file, 1 << 20);
  if (!text.ok()) return text.error();
  return Calibration::from_json(Json::parse(*text, nullptr, false));
}

Result<DemoResult> demo_run(DemoCluster& cluster, const DemoStyle& style, const DemoPark& park,
                            const Calibration& calibration, const std::string& folder,
                            std::uint64_t seed, const DemoShow& show) {
  StyleRun run(cluster, style, park, calibration, folder, seed);
  if (const Status s = run.forecast(); !s.ok()) return s.error();
  if (const Status s = run.align(); !s.ok()) return s.error();
  if (!live::poll_until([&] { return run.tick(show); }, kRunLooks)) {
    return Error{ErrorKind::kIo, fmt::format("the run '{}' did not end in 300 s", style.name),
                 "its store is kept"};
  }
  return run.result();
}

}  // namespace weft

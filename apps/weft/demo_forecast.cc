#include "demo_forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "fabric/topology.h"
#include "live/job/profile.h"
#include "live/job/submission.h"
#include "model/cluster_yaml.h"
#include "policy/composition.h"
#include "sim/engine.h"

namespace weft {
namespace {

constexpr Seconds kCheckpointEvery = 3;  // of demo_training.py
constexpr Seconds kNoticed = 0.05;       // a crash
constexpr Seconds kStopping = 0.5;       // a checkpoint and the way out
constexpr int kForecastPasses = 3;       // until times follow from what runs beside
constexpr int kTrafficSamples = 16;      // at the traffic beside a job

// One run of a job on its devices.
struct DemoStay {
  JobId job = kNoJob;
  Seconds from = 0, to = 0;
  std::set<NodeId> nodes;
};

// How much others fill their links, from 0 to 1, while a job loads and while it trains.
struct StayTraffic {
  double loading = 0, training = 0;
};

class StyleForecast {
 public:
  StyleForecast(const DemoStyle& style, const DemoPark& park, const Calibration& calibration)
      : style_(style), park_(park), calibration_(calibration) {}

  Status prepare(const std::string& folder) {
    auto cluster = parse_cluster_yaml({"demo", park_.yaml()});
    if (!cluster.ok()) return cluster.error();
    cluster_ = std::move(*cluster);
    const auto composition = parse_composition(style_.policy, "demo");
    if (!composition.ok()) return composition.error();
    auto policy = assemble(*composition);
    if (!policy.ok()) return policy.error();
    policy_ = std::move(*policy);
    const auto network = read_topology(fmt::format("switch:hosts={},bandwidth={:.0f}b/s",
                                                   park_.nodes, park_.link_bytes_per_s * 8));
    if (!network.ok()) return network.error();
    network_ = std::make_shared<const Topology>(*network);
    trace_.tenants = {"default"};
    for (const DemoJob& job : demo_jobs()) {
      if (const Status s = add(job, folder); !s.ok()) return s;
    }
    return {};
  }

  // How long each job loads and computes follows from who sends meanwhile, and that from a
  // forecast.
  Result<RunResult> run(double crash_share) {
    std::vector<StayTraffic> beside(demo_jobs().size());
    Result<RunResult> result = RunResult{};
    for (int pass = 0; pass < kForecastPasses; ++pass) {
      for (JobId job = 0; job < beside.size(); ++job) {
        Truth& truth = trace_.jobs[job].truth;
        truth.loading = start_of(job, beside[job].loading);
        truth.work = demo_jobs()[job].batches * slowed(job, beside[job].training);
      }
      result = simulated({});
      if (!result.ok()) return result;
      result = simulated({crash_of(kDemoVictim, crash_share, *result)});
      if (!result.ok()) return result;
      beside = traffic_beside(*result);
    }
    return result;
  }

 private:
  Status add(const DemoJob& job, const std::string& folder) {
    const live::JobSpec spec = demo_spec(job, style_, park_, folder);
    const Seconds at = kDemoRound - kDemoLead + job.submit;
    auto submission = live::make_submission(spec, cluster_, 0, {at, 0});
    if (!submission.ok()) return submission.error();
    const auto profile = live::profile_from_json(demo_profile(job, style_, park_, calibration_));
    if (!profile.ok()) return profile.error();
    if (const Status s = live::apply_profile(*profile, spec, *submission); !s.ok()) return s;
    TraceJob entry;
    entry.submission = std::make_shared<const Submission>(std::move(*submission));
    trace_.jobs.push_back(std::move(entry));
    return {};
  }

  Seconds start_of(JobId id, double traffic) const {
    const DemoJob& job = demo_jobs()[id];
    return calibration_.start(job.model, run_as(style_.ways.front(), park_), job.workers,
                              nodes_of(job.workers, park_), job.percent, traffic);
  }

  Result<RunResult> simulated(std::vector<Outage> crashes) const {
    SimRequest request;
    request.cluster = &cluster_;
    request.trace = &trace_;
    request.policy = policy_.get();
    request.network = network_;
    request.options.restart_cost = kStopping;
    request.options.checkpoint_interval = kCheckpointEvery;
    request.options.record_timeline = true;
    request.options.faults.recorded = std::move(crashes);
    return simulate(request);
  }

  // One of the job's devices fails, and is there again when the crash has been noticed.
  Outage crash_of(JobId job, double share, const RunResult& run) const {
    const JobRecord& record = run.records[job];
    const Seconds ready = record.first_start + trace_.jobs[job].truth.loading;
    Outage crash;
    crash.at = ready + (record.end - ready) * share;
    crash.duration = kNoticed;
    for (const Span& span : run.timeline) {
      if (span.job == job && span.from <= crash.at && crash.at < span.to) {
        crash.device = span.device;
      }
    }
    crash.node = cluster_.node_of(crash.device == kNoDevice ? 0 : crash.device);
    return crash;
  }

  std::vector<DemoStay> stays_of(const RunResult& run) const {
    std::map<std::pair<JobId, Seconds>, DemoStay> stays;
    for (const Span& span : run.timeline) {
      DemoStay& stay = stays[{span.job, span.from}];
      stay.job = span.job;
      stay.from = span.from;
      stay.to = span.to;
      stay.nodes.insert(cluster_.node_of(span.device));
    }
    std::vector<DemoStay> all;
    for (auto& [key, stay] : stays) all.push_back(std::move(stay));
    return all;
  }

  // The way of the job's menu that is fastest on so many nodes.
  std::string way_of(const DemoJob& job, std::uint32_t nodes) const {
    const auto exposed = [&](const std::string& way) {
      return calibration_.exposed(job.model, run_as(way, park_), job.workers, nodes);
    };
    return run_as(*std::min_element(style_.ways.begin(), style_.ways.end(),
                                    [&](const std::string& a, const std::string& b) {
                                      return exposed(a) < exposed(b);
                                    }),
                  park_);
  }

  // By how much steps take longer beside so much traffic: their computation does.
  double slowed(JobId id, double traffic) const {
    const DemoJob& job = demo_jobs()[id];
    const std::uint32_t nodes = nodes_of(job.workers, park_);
    const Seconds computes = calibration_.compute(job.model),
                  sends = calibration_.exposed(job.model, way_of(job, nodes), job.workers, nodes);
    return 1 + traffic * (calibration_.slowdown() - 1) * computes / (computes + sends);
  }

  // How much of its links the job fills while it trains.
  double link_share(const DemoStay& stay) const {
    const DemoJob& job = demo_jobs()[stay.job];
    const auto nodes = static_cast<std::uint32_t>(stay.nodes.size());
    return calibration_.link_share(job.model, way_of(job, nodes), job.workers, nodes,
                                   park_.link_bytes_per_s);
  }

  // How much others than the job fill their links in this time.
  double traffic(const std::vector<DemoStay>& stays, JobId job, Seconds from, Seconds to) const {
    double seen = 0;
    for (int look = 0; look < kTrafficSamples; ++look) {
      const Seconds at = from + (to - from) * (look + 0.5) / kTrafficSamples;
      double most = 0;
      for (const DemoStay& other : stays) {
        const Seconds sends_from = other.from + trace_.jobs[other.job].truth.loading;
        if (other.job == job || at < sends_from || at >= other.to) continue;
        most = std::max(most, link_share(other));
      }
      seen += most / kTrafficSamples;
    }
    return seen;
  }

  // Beside every job, the mean over its starts.
  std::vector<StayTraffic> traffic_beside(const RunResult& run) const {
    const std::vector<DemoStay> stays = stays_of(run);
    std::vector<StayTraffic> beside(demo_jobs().size());
    std::vector<double> starts(demo_jobs().size(), 0);
    for (const DemoStay& stay : stays) {
      const Seconds trains_from = stay.from + trace_.jobs[stay.job].truth.loading;
      beside[stay.job].loading += traffic(stays, stay.job, stay.from, trains_from);
      beside[stay.job].training +=
          traffic(stays, stay.job, trains_from, std::max(trains_from, stay.to));
      ++starts[stay.job];
    }
    for (std::size_t job = 0; job < beside.size(); ++job) {
      beside[job].loading /= std::max(1.0, starts[job]);
      beside[job].training /= std::max(1.0, starts[job]);
    }
    return beside;
  }

  const DemoStyle& style_;
  const DemoPark& park_;
  const Calibration& calibration_;
  Cluster cluster_;
  std::unique_ptr<Policy> policy_;
  std::shared_ptr<const Topology> network_;
  Trace trace_;
};

}  // namespace

Result<std::map<std::string, DemoExpectation>> demo_forecast(const DemoStyle& style,
                                                             const DemoPark& park,
                                                             const Calibration& calibration,
                                                             const std::string& folder,
                                                             double crash_share) {
  StyleForecast forecast(style, park, calibration);
  if (const Status s = forecast.prepare(folder); !s.ok()) return s.error();
  const auto result = forecast.run(crash_share);
  if (!result.ok()) return result.error();
  std::map<std::string, DemoExpectation> expected;
  for (std::size_t i = 0; i < result->records.size(); ++i) {
    const JobRecord& record = result->records[i];
    expected[demo_jobs()[i].name] = {record.first_start - record.submit, record.end - record.submit,
                                     record.restarts};
  }
  return expected;
}

}  // namespace weft

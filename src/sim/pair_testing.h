// What tests of policies that share devices have in common: jobs of models, runs with a pair table,
// and who sat beside whom.
#pragma once

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "model/pairs.h"
#include "sim/sim_testing.h"

namespace weft {

inline JobRow modelled(Seconds submit, std::uint32_t devices, Seconds duration, ModelId model) {
  JobRow row{submit, devices, duration};
  row.edit = [model](Submission& s, Menu&, Truth&) { s.model = model; };
  return row;
}

// Models of 4 GiB that all run at `speed` beside each other, but for the last, which fits beside
// none.
inline std::shared_ptr<PairTable> even_pairs(size_t models, double speed) {
  auto table = std::make_shared<PairTable>();
  for (size_t i = 0; i < models; ++i) {
    ModelProfile model;
    model.name = std::string(1, static_cast<char>('A' + i));
    model.memory = 4 * kGiB;
    table->models.push_back(model);
  }
  table->speed.assign(models, std::vector<PairSpeed>(models, PairSpeed{0, 0, 0}));
  for (size_t a = 0; a + 1 < models; ++a) {
    for (size_t b = 0; b + 1 < models; ++b) table->speed[a][b] = {speed, speed, 0};
  }
  return table;
}

inline RunResult run_pairs(const std::string& cluster_text, const std::vector<JobRow>& rows,
                           const std::string& policy_name, std::shared_ptr<const PairTable> pairs,
                           const SimOptions& options = testing_options()) {
  const Cluster cluster = testing_cluster(cluster_text);
  Trace trace = testing_trace(rows);
  trace.pairs = std::move(pairs);
  const std::unique_ptr<Policy> policy = testing_policy(policy_name);
  Result<RunResult> result = run_trace(cluster, trace, *policy, options);
  CHECK_MSG(result.ok(), result.ok() ? "" : result.error().text().c_str());
  return std::move(result).value();
}

inline std::vector<Seconds> starts_of(const RunResult& result) {
  std::vector<Seconds> all;
  for (const JobRecord& record : result.records) all.push_back(record.first_start);
  return all;
}
inline std::vector<Seconds> ends_of(const RunResult& result) {
  std::vector<Seconds> all;
  for (const JobRecord& record : result.records) all.push_back(record.end);
  return all;
}

// Gangs of 1 to 2^(widths - 1) devices.
inline std::vector<JobRow> random_modelled(std::uint64_t seed, size_t models, int jobs,
                                           Seconds mean_gap, Seconds longest,
                                           std::uint64_t widths) {
  Random random(seed);
  std::vector<JobRow> rows;
  Seconds submit = 0;
  for (int i = 0; i < jobs; ++i) {
    submit += random.exponential(mean_gap);
    const auto devices = 1u << random.below(widths);
    const Seconds duration = std::ceil(random.uniform(10, longest));
    rows.push_back(modelled(submit, devices, duration, static_cast<ModelId>(random.below(models))));
  }
  return rows;
}

inline std::vector<JobRow> random_pairs(std::uint64_t seed) {
  return random_modelled(seed, 4, 25, 200, 4000, 3);
}

// Seconds for which two jobs held parts of one device; of several devices, the longest such time.
// Requires: the run recorded its timeline.
inline std::map<std::pair<JobId, JobId>, Seconds> together_s(const RunResult& result) {
  std::map<std::tuple<JobId, JobId, DeviceId>, Seconds> by_device;
  const std::vector<Span>& spans = result.timeline;
  for (size_t i = 0; i < spans.size(); ++i) {
    for (size_t j = i + 1; j < spans.size(); ++j) {
      const Span &a = spans[i], &b = spans[j];
      if (a.job == b.job || a.device != b.device) continue;
      const Seconds shared = std::min(a.to, b.to) - std::max(a.from, b.from);
      if (shared <= 0) continue;
      by_device[{std::min(a.job, b.job), std::max(a.job, b.job), a.device}] += shared;
    }
  }
  std::map<std::pair<JobId, JobId>, Seconds> all;
  for (const auto& [key, shared] : by_device) {
    Seconds& longest = all[{std::get<0>(key), std::get<1>(key)}];
    longest = std::max(longest, shared);
  }
  return all;
}

// Late, doubled, lost and refused commands, and nodes that fail.
inline SimOptions hard_options(std::uint64_t seed) {
  SimOptions options = testing_options();
  options.seed = seed;
  options.channel = {2, 0.1, 0.1, 0.1};
  options.faults.node_mtbf = 2000;
  options.faults.repair_mean = 200;
  return options;
}

}  // namespace weft

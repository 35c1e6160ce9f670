// Whatever the bytes are, every reader of traces gives a sound trace or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/check.h"
#include "model/readers/alibaba_reader.h"
#include "model/readers/gavel_reader.h"
#include "model/readers/load_reader.h"
#include "model/readers/pairs_reader.h"
#include "model/readers/philly_reader.h"
#include "model/readers/shockwave_reader.h"
#include "model/readers/trace_text.h"
#include "model/readers/weft_csv_reader.h"
#include "model/readers/weft_yaml_reader.h"

namespace {

using weft::Trace;
using weft::TraceJob;

void check_configuration(const weft::Configuration& c, const weft::Cluster& cluster) {
  CHECK(c.devices >= 1 && c.devices <= weft::kMaxJobDevices);
  CHECK(c.milli >= 1 && c.milli <= weft::kWhole);
  CHECK(c.type == weft::kAnyType || c.type < cluster.types.size());
  CHECK(std::isfinite(c.rate) && c.rate > 0);
  CHECK(std::isfinite(c.scattered_rate) && c.scattered_rate >= 0);
  CHECK(c.device_memory >= 0 && c.host_memory >= 0);
}

void check_job(const TraceJob& job, const Trace& trace, const weft::Cluster& cluster) {
  const weft::Submission& submission = *job.submission;
  CHECK(!submission.name.empty());
  CHECK(submission.tenant < trace.tenants.size());
  CHECK(std::isfinite(submission.submit) && submission.submit >= 0);
  CHECK(submission.deadline > submission.submit);
  CHECK(std::isfinite(submission.weight) && submission.weight > 0);
  CHECK(!submission.menu->configurations.empty());
  for (const weft::Configuration& c : submission.menu->configurations) {
    check_configuration(c, cluster);
  }
  if (submission.kind == weft::WorkloadKind::kService) {
    CHECK(submission.max_replicas >= 1 && submission.max_replicas >= submission.min_replicas);
  } else {
    CHECK(std::isfinite(job.truth.work) && job.truth.work > 0);
  }
}

void check_sound(const weft::Result<Trace>& result, const weft::Cluster& cluster) {
  if (!result.ok()) {
    CHECK(!result.error().what.empty());
    return;
  }
  CHECK(!result->jobs.empty());
  std::unordered_set<std::string> names;
  weft::Seconds last = 0;
  for (const TraceJob& job : result->jobs) {
    check_job(job, *result, cluster);
    CHECK(names.insert(job.submission->name).second);
    CHECK(job.submission->submit >= last);
    last = job.submission->submit;
  }
}

const weft::Cluster& fuzz_cluster() {
  static const weft::Cluster kCluster = *weft::parse_cluster_shorthand("fast:2x8,slow:2x4");
  return kCluster;
}

weft::GavelThroughputs fuzz_throughputs() {
  weft::GavelThroughputs table;
  table.types["fast"][{"Alpha (batch size 8)", 1}].alone = 10;
  table.types["slow"][{"LM (batch size 40)", 1}].alone = 3;
  return table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const weft::GavelThroughputs kTable = fuzz_throughputs();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const weft::TextFile file{"fuzz", text};
  const weft::Cluster& cluster = fuzz_cluster();
  check_sound(weft::parse_philly(file), cluster);
  check_sound(weft::parse_gavel(file, kTable, cluster), cluster);
  check_sound(weft::parse_shockwave(file, nullptr, cluster), cluster);
  check_sound(weft::parse_shockwave(file, &kTable, cluster), cluster);
  check_sound(weft::parse_alibaba_pods(file, cluster), cluster);
  check_sound(weft::parse_weft_csv(file, cluster, nullptr), cluster);
  check_sound(weft::parse_weft_yaml(file, cluster, nullptr), cluster);
  check_sound(weft::parse_trace_text(file, cluster, {}), cluster);
  const auto table = weft::parse_gavel_throughputs(file);
  if (table.ok()) CHECK(table->make_pairs(cluster).models.size() == table->keys().size());
  const auto pairs = weft::parse_lucid_pairs(file, file);
  if (pairs.ok()) CHECK(pairs->speed.size() == pairs->models.size());
  const auto load = weft::parse_load(file);
  if (load.ok()) CHECK(!load->empty());
  return 0;
}

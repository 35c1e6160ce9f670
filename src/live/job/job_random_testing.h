// Random jobs for property tests: every field of visit_job() within its limits.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "live/job/job_check.h"
#include "live/job/job_fields.h"
#include "live/job/job_text.h"

namespace weft::live {

// A visitor of visit_job() that leaves some fields as they are and draws the others.
class RandomFields {
 public:
  explicit RandomFields(Random& random) : random_(random) {}

  void text(const std::string& key, std::string& out, std::size_t) {
    if (skip()) return;
    out = key == "name" || key == "queue" ? plain_name() : any_text();
  }
  template <typename Number>
  void integer(const char*, Number& out, std::int64_t low, std::int64_t high) {
    if (!skip()) out = static_cast<Number>(whole(low, high));
  }
  void number(const char*, double& out, double low, double high) {
    if (!skip()) out = random_.chance(0.1) ? low : random_.uniform(low, high);
  }
  void flag(const char*, bool& out) { out = random_.chance(0.5); }
  template <typename Choice, std::size_t size>
  void choice(const char*, Choice& out, const char* const (&)[size]) {
    if (!skip()) out = static_cast<Choice>(random_.below(size));
  }
  void seconds(const char* key, Seconds& out, Seconds high) { number(key, out, 0, high); }
  void size(const char* key, Bytes& out) {
    integer(key, out, 1, static_cast<std::int64_t>(kMaxMemory));
  }
  void rate(const char* key, double& out) { number(key, out, 1, kMaxBandwidth); }
  void cores(const char* key, double& out, bool& or_more) {
    number(key, out, 0.001, kMaxCpus);
    flag(key, or_more);
  }
  void amount(const char* key, Bytes& out, bool& or_more) {
    size(key, out);
    flag(key, or_more);
  }
  void signal(const char*, std::string& out) {
    constexpr const char* kSome[] = {"SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"};
    if (!skip()) out = kSome[random_.below(4)];
  }
  void array(const char*, JobArray& out) {
    if (skip()) return;
    const auto first = static_cast<std::uint32_t>(random_.below(1000));
    const auto step = static_cast<std::uint32_t>(1 + random_.below(5));
    out.ranges = {{first, first + static_cast<std::uint32_t>(random_.below(50)), step},
                  {5000, 5000, 1}};
    out.at_once = static_cast<std::uint32_t>(random_.below(9));
  }
  void labels(const std::string& key, std::vector<std::string>& out) {
    const std::vector<std::string> sync = {"bsp", "local:period=8", "diloco"};
    const std::vector<std::string> codec = {"none", "int8", "topk:rate=0.02"};
    if (skip()) return;
    out = key == "sync" ? sync : codec;
    out.resize(1 + random_.below(3));
    if (random_.chance(0.3)) out = {kAutomatic};
  }
  void envs(const char*, std::map<std::string, std::string>& out) {
    while (!skip()) out["V" + std::to_string(random_.below(100))] = any_text();
  }
  void accelerators(const char*, std::vector<AcceleratorChoice>& out) {
    if (skip()) return;
    const auto count = static_cast<std::uint32_t>(1 + random_.below(64));
    out = {{"H100", count}, {"a100-80gb", count}};
    out.resize(1 + random_.below(2));
    if (skip()) out = {{"", count}};
  }
  void deadline(const char*, JobDeadline& out) {
    if (skip()) return;
    out = random_.chance(0.5)
              ? JobDeadline{JobDeadline::Kind::kAfterSubmission, random_.uniform(1, 1e6)}
              : JobDeadline{JobDeadline::Kind::kAt, random_.uniform(1, 4e9)};
  }
  void topology(const char*, TopologyRule& out) {
    if (!skip()) out = {static_cast<Level>(random_.below(kLevels)), random_.chance(0.5)};
  }
  void dependencies(const char*, std::vector<JobDependency>& out) {
    while (!skip()) out.push_back({plain_name(), static_cast<DependencyCondition>(whole(0, 2))});
  }
  void fixed_replicas(const char*, std::uint32_t&, std::uint32_t&) {}
  template <typename Visit>
  void group(const char*, Visit visit) {
    visit();
  }
  template <typename Visit>
  void group_or_integer(const char*, const char*, Visit visit) {
    visit();
  }

 private:
  bool skip() { return random_.chance(0.4); }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    // Often small, for small numbers meet more rules.
    const std::int64_t top = random_.chance(0.5) ? std::min(high, low + 8) : high;
    return low +
           static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(top - low) + 1));
  }
  std::string plain_name() {
    constexpr std::string_view kLetters = "abcXYZ019._-";
    std::string name = "n";
    while (!skip()) name += kLetters[random_.below(kLetters.size())];
    return name;
  }
  std::string any_text() {
    const std::vector<std::string> pieces = {"a", "\n", "\t", "\"", "\\", "'", "é", "😀", ": ", "#"};
    std::string text = "x";
    while (!skip()) text += pieces[random_.below(pieces.size())];
    return text;
  }

  Random& random_;
};

// A job that check_job() has nothing against: fields that contradict each other go back to their
// defaults until none do.
inline JobSpec random_job(Random& random) {
  for (;;) {
    JobSpec job;
    job.name = "job";
    job.run = "true";
    RandomFields fields(random);
    visit_job(fields, job);
    if (job.kind != WorkloadKind::kService) job.service = {};
    if (job.kind == WorkloadKind::kService) {
      job.deadline = {};
      job.time = 0;
      job.array = {};
      job.sync = job.codec = {};
      job.model = {};
      job.checkpoint.preempt = Preemption::kCheckpoint;
    }
    if (!job.automatic_codec() || job.model.parameters <= 0 || job.model.compute <= 0) {
      job.model = {};
    }
    if (job.automatic_sync() != job.automatic_codec()) job.sync = {};
    if (!job.resources.use_spot) job.resources.notice_signal.clear();
    const std::uint32_t devices = job.devices_per_node();
    if (job.workers_per_node > 0) job.workers_per_node = random.chance(0.5) ? 1 : devices;
    job.min_workers = job.max_workers = 0;
    if (job.kind == WorkloadKind::kTraining && random.chance(0.5)) {
      job.min_workers = 1 + static_cast<std::uint32_t>(random.below(job.workers()));
      job.max_workers = job.workers() + static_cast<std::uint32_t>(random.below(100));
    }
    const bool plain = job.workers_per_node == 0 || job.workers_per_node == devices;
    if (job.checkpoint.preempt == Preemption::kFreeze || !job.elastic() || !plain) {
      job.resize = Resizing::kRestart;
    }
    if (check_job(job).empty()) return job;
  }
}

}  // namespace weft::live

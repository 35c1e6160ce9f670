#include "demand.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "live/daemon/recorded.h"
#include "live/store/records.h"

namespace weft {
namespace {

using live::EventRecord;
using live::Record;
using live::RecordKind;
using live::StepRecord;
using live::TermRecord;

// One job as the journal tells it.
struct Life {
  std::shared_ptr<const Submission> spec;
  std::string user, uuid, queue;
  KeptCommand pending;
  std::uint32_t epoch = 0;
  Allocation held;
  Seconds since = kNever;  // it runs; kNever: it does not
  double work = 0, work_before = 0;
  bool over = false, finished = false;
};

class DemandReader {
 public:
  Status take(const Record& record) {
    last_at_ = record.at;
    const Error broken{ErrorKind::kInvalidInput,
                       fmt::format("record {} is of no form that this program knows", record.seq),
                       ""};
    switch (record.kind) {
      case RecordKind::kNothing:
      case RecordKind::kNote:
        return {};
      case RecordKind::kTerm: {
        const auto term = from_bytes<TermRecord>(record.body);
        if (!term) return broken;
        cluster_text = term->cluster;
        policy = term->policy;
        if (!cluster_known_) {
          auto cluster_read = live::cluster_of_text(cluster_text);
          if (!cluster_read.ok()) return cluster_read.error();
          cluster = std::move(*cluster_read);
          cluster_known_ = true;
        }
        return {};
      }
      case RecordKind::kEvent: {
        const auto event = from_bytes<EventRecord>(record.body);
        if (!event) return broken;
        hear(*event);
        return {};
      }
      case RecordKind::kStep: {
        const auto step = from_bytes<StepRecord>(record.body);
        if (!step) return broken;
        for (const KeptCommand& c : step->commands) {
          if (c.job < lives.size()) lives[c.job].pending = c;
        }
        if (step->decision) {
          for (const auto& [id, why] : step->decision->rejected) {
            if (id < lives.size()) lives[id].over = true;
          }
        }
        return {};
      }
    }
    return broken;
  }

  Seconds last_at() const { return last_at_; }
  // Counts what still runs up to the last record.
  void close_all() {
    for (Life& life : lives) close(life, last_at_);
  }

  Cluster cluster;
  std::string cluster_text, policy;
  std::vector<Life> lives;

 private:
  void close(Life& life, Seconds at) const {
    if (life.since == kNever) return;
    const Configuration& c = life.spec->menu->configurations[life.held.configuration];
    double rate = c.rate;
    if (c.type == kAnyType && !life.held.devices.empty()) {
      rate *= cluster.types[cluster.type_of(life.held.devices.front().device)].speed;
    }
    life.work += (at - life.since) * rate;
    life.since = kNever;
  }

  void hear(const EventRecord& record) {
    const Event& e = record.event;
    if (e.kind == EventKind::kSubmit) {
      Life& life = lives.emplace_back();
      life.spec = e.submission;
      life.user = record.job->user;
      life.uuid = record.job->uuid;
      const auto spec = nlohmann::json::parse(record.job->spec, nullptr, false);
      life.queue = spec.is_object() ? spec.value("queue", "default") : "default";
      return;
    }
    if (e.job == kNoJob || e.job >= lives.size()) return;
    Life& life = lives[e.job];
    if (life.over) return;
    switch (e.kind) {
      case EventKind::kWithdraw:
        close(life, e.at);
        life.over = true;
        return;
      case EventKind::kFinished:
        if (e.epoch != life.epoch) return;
        close(life, e.at);
        life.over = life.finished = true;
        return;
      case EventKind::kCrashed:
        if (e.epoch != life.epoch) return;
        close(life, e.at);
        if (e.value2 <= 0) life.work = life.work_before;
        return;
      case EventKind::kOutcome:
        return outcome(life, e);
      default:
        return;
    }
  }

  void outcome(Life& life, const Event& e) const {
    const KeptCommand& c = life.pending;
    if (e.outcome != Outcome::kDone || e.number != c.number || c.kind == CommandKind::kNone) return;
    close(life, e.at);
    if (c.kind != CommandKind::kStop) {
      life.epoch = c.epoch;
      life.held = c.allocation;
      life.since = e.at;
    }
    life.work_before = life.work;
    life.pending.kind = CommandKind::kNone;
  }

  bool cluster_known_ = false;
  Seconds last_at_ = 0;
};

// Numbers of queues as the daemon gave them.
std::vector<std::string> queues_of(const std::vector<Life>& lives) {
  std::vector<std::string> names;
  for (const Life& life : lives) {
    if (life.spec->tenant >= names.size()) names.resize(life.spec->tenant + 1);
    names[life.spec->tenant] = life.queue;
  }
  return names;
}

// How much work the job is taken to be; below 0: nothing is known.
double work_of(const Life& life) {
  if (life.finished || (life.over && life.work > 0)) return life.work;
  if (life.over) return -1;
  const Estimate& estimate = life.spec->estimate;
  const double believed = estimate.known() ? estimate.duration * life.spec->requested().rate : -1;
  return std::max(believed, life.work > 0 ? life.work : -1);
}

void add_jobs(const DemandReader& reader, const DemandOptions& options, Demand& out) {
  std::set<std::string> names;
  Seconds first = kNever;
  for (const Life& life : reader.lives) {
    if (life.spec->submit < reader.last_at() - options.last_s) continue;
    const double work = work_of(life);
    if (work <= 0 || life.spec->kind == WorkloadKind::kService) {
      ++out.left_out;
      continue;
    }
    out.unfinished += !life.over;
    auto job = std::make_shared<Submission>(*life.spec);
    first = std::min(first, job->submit);
    job->submit -= first;
    if (job->deadline < kNever) job->deadline -= first;
    if (options.users) job->name = life.user + "/" + job->name;
    if (!names.insert(job->name).second) {
      job->name += "-" + life.uuid;
      names.insert(job->name);
    }
    Truth truth;
    truth.work = work;
    if (job->estimate.known()) truth.user_estimate = job->estimate.duration;
    out.trace.jobs.push_back({std::move(job), std::move(truth)});
  }
  std::stable_sort(out.trace.jobs.begin(), out.trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) {
                     return a.submission->submit < b.submission->submit;
                   });
}

}  // namespace

Result<Demand> read_demand(const std::string& store, const DemandOptions& options) {
  const std::string path = path_in(store, "journal.db");
  if (!is_file(path)) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: there is no journal", store),
                 "name the daemon's --store"};
  }
  auto database = live::Database::open(path, live::Database::Mode::kReadOnly);
  if (!database.ok()) return database.error();
  DemandReader reader;
  const Status read = live::read_records(**database, store, 0,
                                         [&](const Record& record) { return reader.take(record); });
  if (!read.ok()) return read.error();
  reader.close_all();
  Demand out;
  out.cluster = reader.cluster;
  out.policy = reader.policy;
  out.trace.path = store;
  out.trace.format = "journal";
  out.trace.tenants = queues_of(reader.lives);
  add_jobs(reader, options, out);
  if (out.trace.jobs.empty()) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("{}: no job of the journal ran or is believed to need any time ({} "
                             "were left out)",
                             store, out.left_out),
                 "submit a job first, such as examples/jobs/shell.yaml"};
  }
  return out;
}

}  // namespace weft

// What the records of a journal hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/persist.h"
#include "live/store/journal.h"

namespace weft::live {

// A job beyond what the controller knows of it.
struct JobIdentity {
  std::string uuid;
  std::string user;  // who submitted it
  std::uint32_t uid = 0, gid = 0;
  std::string spec;  // JSON (live/job/job_json.h)
};

// A controller begins. What it was before holds but for what its policy remembered.
struct TermRecord {
  std::uint64_t term = 0;
  std::string program;  // version
  std::string cluster;  // as Cluster::text, or the file's whole text
  std::string policy;   // name, or the composition's whole text
};

// In the number of a crash: how many of the job's own doing this makes in a row; 0: it was not.
inline bool is_own_failure(const Event& event) {
  return event.kind == EventKind::kCrashed && event.number > 0;
}

struct EventRecord {
  Event event;
  std::optional<JobIdentity> job;  // of a submission
  std::string why;                 // for people: "cancelled by ann", "exit code 3 on rank 1"
};

// What the controller did with the events up to `through` that no earlier step covers: folded them,
// then the reports that had gathered, then perhaps asked its policy, and sent commands.
struct StepRecord {
  std::uint64_t through = 0;
  Seconds at = 0;  // the time of the last of them
  std::vector<Event> reports;
  std::optional<Decision> decision;
  std::vector<KeptCommand> commands;
};

template <typename Archive>
void persist(Archive& io, JobIdentity& j) {
  io(j.uuid, j.user, j.uid, j.gid, j.spec);
}

template <typename Archive>
void persist(Archive& io, TermRecord& t) {
  io(t.term, t.program, t.cluster, t.policy);
}

template <typename Archive>
void persist(Archive& io, EventRecord& e) {
  io(e.event, e.job, e.why);
  if constexpr (Archive::kReads) {
    if (e.job.has_value() != (e.event.kind == EventKind::kSubmit)) io.fail();
  }
}

template <typename Archive>
void persist(Archive& io, StepRecord& s) {
  io(s.through, s.at, s.reports, s.decision, s.commands);
}

}  // namespace weft::live

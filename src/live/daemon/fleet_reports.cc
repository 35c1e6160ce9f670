// What runs tell of themselves: steps, load, and what they use.
#include "live/daemon/fleet.h"

namespace weft::live {

void Fleet::hear_of_progress(const std::string& uuid, std::uint32_t epoch, JsonFields& fields) {
  std::optional<JobView> job;
  if (is_part(uuid)) {
    if (fields.find("ready") != nullptr) return replicas_->ready(uuid, epoch);
    if (fields.find("qps") != nullptr) {
      replicas_->report(uuid, epoch, fields.number("qps", 0, 1e12, 0),
                        fields.number("latency", 0, 1e9, 0));
    }
    if (const auto id = replicas_->speaks_for(uuid, epoch)) job = board_->at(*id);
  } else if (fields.whole("rank", 0, 1 << 24, 0) == 0) {
    job = board_->find(uuid);
    if (job && job->epoch != epoch) return;
  }
  if (!job) return;
  Event event;
  event.kind = EventKind::kProgress;
  event.job = job->id;
  event.epoch = job->epoch;
  event.value = fields.number("work", 0, 1e300, fields.number("step", 0, 1e300, 0));
  event.value2 = fields.number("rate", 0, 1e300, 0);
  board_->report(job->id, job->epoch, fields.number("step", 0, 1e300, 0),
                 fields.number("loss", -1e300, 1e300, 0), event.value2);
  brain_->report(event);
  if (fields.find("step") != nullptr) watch_->progress(*job, fields.number("step", 0, 1e300, 0));
}

void Fleet::hear_of_usage(NodeId node, JsonFields run) {
  const std::string uuid = run.text("uuid");
  const auto epoch = static_cast<std::uint32_t>(run.whole("epoch", 0, 0x7fffffff, 0));
  const Seconds idle_s = run.number("idle_s", 0, 1e12, 0);
  if (is_part(uuid)) {
    const auto idle = replicas_->idle(uuid, epoch, idle_s);
    const auto job = idle ? board_->at(idle->first) : std::nullopt;
    if (job) watch_->usage(*job, node, idle->second);
    return;
  }
  const auto job = board_->find(uuid);
  if (job && job->epoch == epoch) watch_->usage(*job, node, idle_s);
}

}  // namespace weft::live

#include "live/daemon/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::live {
namespace {

// One thing that is asked for: who asks, whether it is there, what would do instead.
struct AskedFeature {
  bool asked;
  bool stated;
  const char* what;
  const char* instead;
};

Status check(const std::string& who, const std::string& engine,
             const std::vector<AskedFeature>& needs) {
  std::vector<std::string> missing, instead;
  for (const AskedFeature& need : needs) {
    if (!need.asked || need.stated) continue;
    missing.push_back(need.what);
    instead.push_back(need.instead);
  }
  if (missing.empty()) return {};
  return Error{ErrorKind::kUnsupported,
               fmt::format("{} needs what the executor '{}' cannot do: {}", who, engine,
                           fmt::join(missing, "; ")),
               fmt::format("{}", fmt::join(instead, "; "))};
}

}  // namespace

std::vector<std::string> names_of(const Capabilities& c) {
  std::vector<std::string> names;
  for (const auto& [stated, name] :
       {std::pair{c.device_index, "device index"}, std::pair{c.freeze, "freeze"},
        std::pair{c.fraction, "fraction"}, std::pair{c.bandwidth, "bandwidth"},
        std::pair{c.resize, "resize"}, std::pair{c.membership, "membership"},
        std::pair{c.claim, "claim"}, std::pair{c.foreign_jobs, "foreign jobs"}}) {
    if (stated) names.emplace_back(name);
  }
  return names;
}

Status check_needs(const JobSpec& job, const EngineStatement& engine) {
  const Capabilities& can = engine.can;
  return check(
      "the job", engine.name,
      {{job.share.percent > 0 || job.share.memory > 0, can.fraction, "parts of devices (share)",
        "leave `share` out: the job then holds whole devices"},
       {job.bandwidth.limit > 0 || job.bandwidth.guarantee > 0, can.bandwidth,
        "control of a job's traffic (bandwidth)",
        "leave `bandwidth` out: the job then shares links with the others"},
       {job.checkpoint.preempt == Preemption::kFreeze, can.freeze,
        "holding a run without ending it (checkpoint.preempt: freeze)",
        "write `preempt: checkpoint`: the job is then stopped by its checkpoint signal and "
        "started again"},
       {job.resize == Resizing::kInPlace, can.membership,
        "ranks that come and go one by one (resize: in_place)",
        "leave `resize` out: the job is then resized by a checkpoint and a restart"}});
}

Status check_needs(const Composition& policy, const EngineStatement& engine) {
  const Capabilities& can = engine.can;
  const auto tune = policy.allocate.settings.find("tune");
  const bool tunes = tune != policy.allocate.settings.end() && tune->second == "true";
  const bool shares = policy.share.name != "none";
  return check(fmt::format("the policy '{}'", policy.name), engine.name,
               {{shares, can.fraction, "parts of devices (its share)",
                 "a composition with `share: none` gives whole devices"},
                {shares || policy.place.name == "fragmentation", can.device_index,
                 "a choice of the very devices (its share or place)",
                 "a composition with `share: none` and `place: best-fit` chooses nodes"},
                {tunes, can.resize, "other shares for a run that goes on (tune)",
                 "without `tune` jobs keep the processors and memory they asked for"}});
}

}  // namespace weft::live

#include "pipeline/verify.h"

#include <fmt/core.h>

#include <map>

#include "pipeline/index.h"
#include "pipeline/solve.h"

namespace weft::pipeline {
namespace {

// Follows the weight versions on one device.
class Versions {
 public:
  Versions(const Schedule& schedule, int device) : s_(schedule), device_(device) {}

  Status step(std::size_t i, const Op& op) {
    at_ = i;
    if (op.kind == Kind::kOptimizer) return update(op);
    if (runs_forward(op.kind)) {
      if (op.version > made_) {
        return fault(op, fmt::format("it uses weight version {}, but {} is the latest made",
                                     op.version, made_));
      }
      const int version = op.version;
      if (op.kind == Kind::kForwardBackward) {
        if (const Status status = backward(op); !status.ok()) return status;
      }
      ++in_use_[version];
      used_[s_.number(op.work)] = version;
      const int latest = in_use_.contains(made_) ? 0 : 1;
      if (static_cast<int>(in_use_.size()) + latest > s_.weight_versions) {
        return fault(op,
                     fmt::format("{} weight versions are needed; {} are declared",
                                 static_cast<int>(in_use_.size()) + latest, s_.weight_versions));
      }
      return {};
    }
    return runs_backward(op.kind) || op.kind == Kind::kWeightGradient ? backward(op) : Status{};
  }

  Status finish(bool optimized) const {
    if (!optimized || pending_.empty()) return {};
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("device {}: {} gradients come behind its last optimizer and are never "
                             "applied",
                             device_, pending_.size()),
                 ""};
  }

 private:
  Error fault(const Op& op, const std::string& what) const {
    return {ErrorKind::kInvalidInput,
            fmt::format("device {}, operation {} ({}): {}", device_, at_, describe(s_, op), what),
            ""};
  }

  Status backward(const Op& op) {
    const Work& work = backward_work(op);
    const auto found = used_.find(s_.number(work));
    CHECK(found != used_.end());  // index_schedule() has proved the order
    // A fused operation states one version; both of its passes use it unless the schedule is stale.
    const int version = op.kind == Kind::kForwardBackward ? found->second : op.version;
    if (found->second != version) {
      return fault(op, fmt::format("it uses weight version {}, its forward pass used {}", version,
                                   found->second));
    }
    if (makes_gradient(op.kind)) {
      pending_.push_back(version);
      if (--in_use_[version] == 0) in_use_.erase(version);
      used_.erase(found);
    }
    return {};
  }

  Status update(const Op& op) {
    if (op.version != made_ + 1) {
      return fault(op, fmt::format("the next weight version is {}", made_ + 1));
    }
    for (const int version : pending_) {
      if (made_ - version > s_.staleness) {
        return fault(op,
                     fmt::format("a gradient made with weight version {} has missed {} updates; "
                                 "{} are declared",
                                 version, made_ - version, s_.staleness));
      }
    }
    pending_.clear();
    made_ = op.version;
    return {};
  }

  const Schedule& s_;
  int device_;
  std::size_t at_ = 0;
  int made_ = 0;
  std::map<int, int> in_use_;        // works in flight, by version
  std::map<std::size_t, int> used_;  // version of each work in flight
  std::vector<int> pending_;         // versions of gradients not yet applied
};

Status check_versions(const Schedule& s, const Index& index) {
  bool optimized = false;
  for (const auto& list : index.optimizers) optimized = optimized || !list.empty();
  for (int d = 0; d < s.devices; ++d) {
    Versions versions(s, d);
    const auto& program = s.programs[static_cast<std::size_t>(d)];
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (const Status status = versions.step(i, program[i]); !status.ok()) return status;
    }
    if (const Status status = versions.finish(optimized); !status.ok()) return status;
    for (const int sharer : index.sharers[static_cast<std::size_t>(d)]) {
      const std::size_t mine = index.optimizers[static_cast<std::size_t>(d)].size();
      const std::size_t other = index.optimizers[static_cast<std::size_t>(sharer)].size();
      if (mine != other) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("devices {} and {} share chunks, but make {} and {} updates", d,
                                 sharer, mine, other),
                     ""};
      }
    }
  }
  return {};
}

}  // namespace

Status verify(const Schedule& schedule) {
  const Result<Index> index = index_schedule(schedule);
  if (!index.ok()) return index.error();
  if (const Status status = check_versions(schedule, *index); !status.ok()) return status;
  const Result<Timeline> timeline = solve(schedule, *index);
  if (!timeline.ok()) return timeline.error();
  for (std::size_t d = 0; d < schedule.limits.size(); ++d) {
    if (timeline->peak_activations[d] > schedule.limits[d] * (1 + kRounding)) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("device {} holds up to {} activations; its limit is {}", d,
                               timeline->peak_activations[d], schedule.limits[d]),
                   ""};
    }
  }
  return {};
}

}  // namespace weft::pipeline

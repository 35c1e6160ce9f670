#include "policy/allocators/quota.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "policy/allocators/plan_walk.h"
#include "policy/explain.h"

namespace weft {
namespace {

constexpr double kOwn = 0, kCohort = 1, kForeign = 2;

struct QuotaMemory : PolicyMemory {
  std::set<TenantId> seen;
};

double quota_devices(const JobState& job) {
  if (job.phase == Phase::kPlaced) return job.held.device_count();
  const Configuration& c = job.spec->requested();
  return static_cast<double>(c.devices) * c.milli / kWhole * job.spec->min_replicas;
}

// One decision.
class QuotaWalk {
 public:
  QuotaWalk(const QuotaOptions& options, Draft& draft, const std::set<TenantId>& seen)
      : options_(options), draft_(draft), state_(draft.state()) {
    share_out(seen);
  }
  void run(const Place& place);

 private:
  struct Tenant {
    double guarantee = 0;
    double own = 0;       // of it, taken by its oldest jobs, placed or not
    bool passed = false;  // an older job did not fit into what is left of it
  };
  struct Cohort {
    double guarantee = 0;
    double used = 0;  // by placed jobs of any class
  };

  size_t cohort_of(TenantId tenant) const {
    return tenant < options_.cohorts.size() ? static_cast<size_t>(options_.cohorts[tenant]) : 0;
  }
  void share_out(const std::set<TenantId>& seen);
  void sort_out();
  double borrowed_rank(const JobState& job) const {
    const Cohort& cohort = cohorts_.at(cohort_of(job.spec->tenant));
    return cohort.used + quota_devices(job) <= cohort.guarantee + 1e-9 ? kCohort : kForeign;
  }
  bool leaves_room(const JobState& job) const;
  void lend(PlanWalk& walk);
  void explain(const Place& place) const;

  const QuotaOptions& options_;
  Draft& draft_;
  const State& state_;
  std::map<TenantId, Tenant> tenants_;
  std::map<size_t, Cohort> cohorts_;
  std::vector<Choice> own_waiting_, placed_;
  std::vector<JobId> borrowers_;
  double reserved_ = 0;                   // devices that jobs within their guarantee wait for
  std::map<TypeId, double> reserved_of_;  // of them, of one type
};

void QuotaWalk::share_out(const std::set<TenantId>& seen) {
  double devices = 0, shares = 0;
  for (TypeId type = 0; type < state_.cluster().types.size(); ++type) {
    devices += state_.ledger.in_service(type);
  }
  std::map<TenantId, double> share;
  for (TenantId id : seen) share[id] = options_.shares.empty() ? 1 : 0;
  for (size_t id = 0; id < options_.shares.size(); ++id) {
    share[static_cast<TenantId>(id)] = options_.shares[id];
  }
  for (const auto& [id, own] : share) shares += own;
  for (const auto& [id, own] : share) {
    tenants_[id].guarantee = shares > 0 ? devices * own / shares : 0;
    cohorts_[cohort_of(id)].guarantee += tenants_[id].guarantee;
  }
}

// Guarantees go to the oldest jobs of a tenant, placed or not, so that a class changes only when a
// job comes or goes, never because of what is decided here.
void QuotaWalk::sort_out() {
  std::vector<JobId> borrowed;
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kEnded) continue;
    Tenant& tenant = tenants_[job.spec->tenant];
    const double devices = quota_devices(job);
    const bool never = devices > tenant.guarantee + 1e-9;
    const bool own = !never && !tenant.passed && tenant.own + devices <= tenant.guarantee + 1e-9;
    if (!never && !own) tenant.passed = true;
    if (own) tenant.own += devices;
    if (job.phase == Phase::kPlaced) {
      if (own) {
        cohorts_[cohort_of(job.spec->tenant)].used += devices;
        placed_.push_back({id, job.held.configuration, kOwn});
      } else {
        borrowed.push_back(id);
      }
    } else if (own) {
      own_waiting_.push_back({id, 0, kOwn});
    } else {
      borrowers_.push_back(id);
    }
  }
  for (JobId id : borrowed) {
    const JobState& job = state_.job(id);
    const double rank = borrowed_rank(job);
    cohorts_[cohort_of(job.spec->tenant)].used += quota_devices(job);
    placed_.push_back({id, job.held.configuration, rank});
  }
}

bool QuotaWalk::leaves_room(const JobState& job) const {
  const double devices = quota_devices(job);
  if (reserved_ == 0) return true;
  const TypeId type = job.spec->requested().type;
  if (type == kAnyType) return state_.ledger.free_whole_total() - devices >= reserved_;
  const auto wanted = reserved_of_.find(type);
  const double any = reserved_of_.contains(kAnyType) ? reserved_of_.at(kAnyType) : 0;
  const double of_type = wanted == reserved_of_.end() ? 0 : wanted->second;
  return state_.ledger.free_whole_of(type) - devices >= of_type &&
         (any == 0 || state_.ledger.free_whole_total() - devices >= reserved_);
}

void QuotaWalk::lend(PlanWalk& walk) {
  std::vector<Choice> foreign;
  for (JobId id : borrowers_) {
    const JobState& job = state_.job(id);
    const double rank = borrowed_rank(job);
    if (rank == kForeign) {
      foreign.push_back({id, 0, rank});
    } else if (leaves_room(job) && walk.give({id, 0, rank})) {
      cohorts_[cohort_of(job.spec->tenant)].used += quota_devices(job);
    }
  }
  for (const Choice& choice : foreign) {
    if (leaves_room(state_.job(choice.job))) walk.give(choice);
  }
}

void QuotaWalk::run(const Place& place) {
  sort_out();
  std::stable_sort(placed_.begin(), placed_.end(),
                   [](const Choice& a, const Choice& b) { return a.rank < b.rank; });
  PlanWalk walk(draft_, place, placed_, [](const JobState&) { return true; });
  for (const Choice& choice : placed_) {
    if (state_.job(choice.job).spec->kind == WorkloadKind::kService) walk.give(choice);
  }
  for (const Choice& choice : own_waiting_) {
    if (walk.give(choice)) continue;
    const JobState& job = state_.job(choice.job);
    reserved_ += quota_devices(job);
    reserved_of_[job.spec->requested().type] += quota_devices(job);
  }
  // What reclaiming took is no longer used.
  for (auto& [id, cohort] : cohorts_) cohort.used = 0;
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kPlaced)
      cohorts_[cohort_of(job.spec->tenant)].used += quota_devices(job);
  }
  lend(walk);
  explain(place);
}

void QuotaWalk::explain(const Place& place) const {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  const double guarantee = tenants_.at(job->spec->tenant).guarantee;
  std::uint32_t before = 0;
  for (const Choice& choice : own_waiting_) {
    if (choice.job == job->id) {
      return explain_waiting(draft_, place, before,
                             fmt::format("it is within its tenant's {:.1f} guaranteed devices, and "
                                         "borrowers do not hold enough to take back",
                                         guarantee));
    }
    before += state_.job(choice.job).phase == Phase::kWaiting;
  }
  for (JobId id : borrowers_) {
    if (id == job->id) break;
    before += state_.job(id).phase == Phase::kWaiting;
  }
  explain_waiting(draft_, place, before,
                  fmt::format("it must borrow, for it is beyond its tenant's {:.1f} guaranteed "
                              "devices; {:.0f} devices are kept for jobs within theirs",
                              guarantee, reserved_));
}

}  // namespace

std::unique_ptr<PolicyMemory> QuotaPolicy::new_memory() const {
  return std::make_unique<QuotaMemory>();
}

void QuotaPolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  std::set<TenantId>& seen = static_cast<QuotaMemory&>(memory).seen;
  for (JobId id : change.arrived) seen.insert(draft.state().job(id).spec->tenant);
  QuotaWalk(options_, draft, seen).run(*place_);
  PlanWalk::wake_for_held_back(draft);
}

}  // namespace weft

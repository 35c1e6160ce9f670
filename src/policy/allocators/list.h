// Allocate by list: walk the jobs in key order and give each what it asks for, if it fits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "policy/guard.h"
#include "policy/key.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "policy/share.h"

namespace weft {

struct ListOptions {
  enum class Backfill {
    kNone,  // the first job that does not fit stops the walk
    kEasy,  // later jobs may pass it if they do not delay its believed start (EASY; Lifka 1995)
    kAny,   // later jobs may pass it
  };
  Backfill backfill = Backfill::kNone;
  // A job may take the devices of placed jobs with larger keys.
  bool preempt = false;
  // Elastic jobs may hold other processors and memory beside their devices than they ask for, if
  // that makes them no slower.
  bool tune = false;
  // Seconds that a job first runs on a node of device type "profile", before which nothing is known
  // of it; 0: everything is known from the start. With a sharer only.
  Seconds profile = 0;
};

// What jobs ask for, so far as it decides whether they fit. Of two jobs of one shape the one with
// the smaller key fits if either does, so a walk asks each shape once.
using Shape = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, Bytes, std::uint32_t, Bytes,
                         int, bool, bool, std::uint32_t, TenantId, ModelId>;

struct ListMemory : PolicyMemory {
  struct Entry {
    KeyValue key;
    JobId id = kNoJob;
    auto operator<=>(const Entry&) const = default;
  };
  std::map<Shape, std::uint32_t> shapes;
  std::vector<std::set<Entry>> waiting;  // by shape
  std::set<Entry> placed;                // kept for preempting policies only
  std::vector<KeyValue> key;             // by job: as filed above
  std::vector<std::uint32_t> shape;      // by job
  std::uint64_t key_version = 0;         // of the keys as filed
  std::vector<JobId> held_back;
  std::set<JobId> services;  // placed services
  // Policies with a sharer: by devices, who is alone on them in order of start; and, by job, who
  // sits beside it and the order of its start.
  std::map<std::uint32_t, std::set<std::pair<std::uint64_t, JobId>>> alone;
  std::vector<JobId> partner;
  std::vector<std::uint64_t> started;
  std::uint64_t starts = 0;
  // Policies that tune: what jobs may hold beside their devices, numbered; and who may hold more
  // than one thing, of the placed ones.
  std::map<std::vector<std::pair<std::uint32_t, Bytes>>, ModelId> host_menus;
  std::set<JobId> tunable;
  // Policies that profile: who waits for that, least devices first; who is at it; who has been.
  std::set<std::pair<std::uint32_t, JobId>> unprofiled;
  std::set<JobId> profiling;
  std::set<JobId> profiled;
  // Next steps of stepped keys; may hold steps of jobs that stopped meanwhile.
  std::priority_queue<std::pair<Seconds, JobId>, std::vector<std::pair<Seconds, JobId>>,
                      std::greater<>>
      steps;
};

class ListPolicy : public Policy {
 public:
  ListPolicy(std::string name, ListOptions options, std::unique_ptr<Key> key,
             std::unique_ptr<Place> place, std::vector<std::unique_ptr<Guard>> guards,
             std::unique_ptr<Sharer> sharer = nullptr);

  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<ListMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  friend class ListWalk;
  std::string name_;
  ListOptions options_;
  std::unique_ptr<Key> key_;
  std::unique_ptr<Place> place_;
  std::vector<std::unique_ptr<Guard>> guards_;
  std::unique_ptr<Sharer> sharer_;  // null: nobody shares
  bool tenant_in_shape_ = false;
};

}  // namespace weft

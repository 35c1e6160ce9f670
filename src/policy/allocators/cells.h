// Allocate by cells: every tenant owns virtual nodes that are bound to real ones only while used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct CellMemory : PolicyMemory {
  // By tenant: the real node behind each of its virtual ones; kNoNode: bound to none.
  std::vector<std::vector<NodeId>> virtual_nodes;
};

// HiveD (Zhao et al., OSDI'20 §3). Inside a node, cells are aligned groups of 1, 2, 4, ... devices.
// A tenant's jobs of priority 0 and above run in cells of its own virtual nodes, in order of
// priority and submission, the smallest free cell that is large enough being split (buddy
// allocation, §3.3); a virtual node is bound to a real one that nobody owns when its first cell is
// taken and let go with its last. All other jobs (priority below 0, tenants without cells, more
// than the tenant owns) use what idles and are preempted when a cell is needed (§3.4).
// Ensures: on nodes of one size and type, none out of service, and with guests that may be
// preempted, each tenant's jobs start when they would start on a cluster of its own (no sharing
// anomaly).
class CellPolicy : public Policy {
 public:
  // `quotas`: virtual nodes by tenant. Empty: one owner of the whole cluster, all tenants being
  // one.
  CellPolicy(std::string name, std::vector<std::uint32_t> quotas)
      : name_(std::move(name)), quotas_(std::move(quotas)) {}

  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<CellMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::vector<std::uint32_t> quotas_;
};

}  // namespace weft

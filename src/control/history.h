// Estimates learned from jobs that ended: what --estimates history believes.
#pragma once

#include <map>
#include <utility>

#include "model/workload.h"

namespace weft {

// The mean run time of ended jobs of the same tenant, model and device count; failing that of the
// tenant; failing that of everybody. Unknown until the first job has ended.
class History {
 public:
  Estimate estimate(const Submission& submission) const;
  void ended(const Submission& submission, Seconds run_time);

  template <typename Archive>
  void persist_in(Archive& io);

 private:
  struct Mean {
    double sum = 0;
    long count = 0;
    template <typename Archive>
    friend void persist(Archive& io, Mean& mean) {
      io(mean.sum, mean.count);
    }
  };
  // By tenant, model and devices.
  std::map<std::pair<std::pair<TenantId, ModelId>, std::uint32_t>, Mean> like_;
  std::map<TenantId, Mean> tenant_;
  Mean all_;
};

}  // namespace weft

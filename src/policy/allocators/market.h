// Allocate by market: a window of future rounds is divided so that the product of what the jobs
// get out of it is as large as can be.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct MarketOptions {
  Seconds round = 120;
  double window = 20;       // rounds
  double fairness = 1;      // power of the finish-time fairness that weighs a job
  double efficiency = 0.1;  // weight of the term that shortens the makespan
};

// Shockwave (NSDI'23 §4 to §6). At the end of each round the rounds of the window are dealt out one
// by one, each to the job with the largest gain for each of its devices: the increase of
// rho^fairness x log(progress), plus `efficiency` times how near the job's time left comes to the
// longest of all. Of the jobs that were dealt any, those that gain most by their first run next. In
// between, free devices go to waiting jobs and nobody is stopped. The time left of jobs
// that change their batch size is foreseen from the regimes they have shown (regimes.h), that of
// others from the speed they report.
// Cost: O(n log n + rounds dealt x log n) at the end of a round for n active jobs.
class MarketPolicy : public Policy {
 public:
  MarketPolicy(std::string name, MarketOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(options), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  MarketOptions options_;
  std::unique_ptr<Place> place_;
};

}  // namespace weft

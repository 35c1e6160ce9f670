// Allocate by auction: devices whose lease ends are offered to the jobs treated worst.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct AuctionOptions {
  Seconds lease = 600;
  double fairness = 0.8;  // the paper's f: the worst-off 1 - f of all jobs see an offer
};

// Finish-time fairness (Themis, NSDI'20 §4 and §5). rho is the believed finish time over that on
// an equal share of the cluster. When a lease ends or devices come free, they are offered to the
// 1 - f of all jobs with the largest rho, one at least. Among these, whoever gains most for each
// device goes first, the gain being how much a lease lowers the logarithm of its rho: a greedy
// maximum of the product of valuations. What they leave goes to the others, largest rho first, who
// take nothing from each other. Cost: O(n log n) for n active jobs.
class AuctionPolicy : public Policy {
 public:
  AuctionPolicy(std::string name, AuctionOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(options), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  AuctionOptions options_;
  std::unique_ptr<Place> place_;
};

// Believed finish time since submission if it runs from now on, and that on an equal share of the
// devices among `sharers` jobs (NSDI'20 §4). A job nobody has an estimate of is taken to be half
// done, but to need `unknown_s` at least.
struct FinishTimes {
  Seconds shared = 0, equal = 1;
  double rho() const { return shared / equal; }
};
FinishTimes finish_times(const State& state, const JobState& job, double sharers,
                         Seconds unknown_s);

}  // namespace weft

// What `weft plan search` found, and how it tells it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/table.h"
#include "planner/front.h"

namespace weft {

struct FoundPlan {
  planner::Transformer model;
  planner::Framework framework;
  int batch = 1;
  std::vector<planner::Offer> offers;
  std::size_t chosen = 0;  // the fastest offer
  std::vector<planner::FrontPoint> front;
  double cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;

  const planner::Offer& offer() const { return offers[chosen]; }
  const planner::SearchAnswer& answer() const { return offer().answer; }
  planner::Workload work(std::size_t i) const { return {model, offers[i].machines, framework}; }
  planner::Workload work() const { return work(chosen); }
  bool fits() const { return !answer().ranked.empty(); }
  std::int64_t configurations() const;
  // "8 x h100"
  std::string name_of_offer(std::size_t i) const;
  // What costs are counted in.
  const char* cost_unit() const;
};

std::string plan_json(const FoundPlan& found);

// Requires of the rest: found.fits().
Table ranked_table(const FoundPlan& found);
// The best layout's memory stage by stage; of more than `most_stages`, some.
Table memory_table(const FoundPlan& found, int most_stages);
Table front_table(const FoundPlan& found);
Table offers_table(const FoundPlan& found);
std::string plan_text(const FoundPlan& found);
// One page that needs nothing but a browser.
std::string plan_html(const FoundPlan& found);

}  // namespace weft

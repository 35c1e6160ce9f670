// Puts a trace together job by job and keeps what every format must keep: unique names, interned
// tenants, shared menus, jobs in order of submission.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

inline constexpr Limits kTimeLimits{0, kMaxDuration};
inline constexpr Limits kDurationLimits{0, kMaxDuration, true};
inline constexpr Limits kRateLimits{0, 1e15, true};
inline constexpr Limits kWeightLimits{0, 1e9, true};

// Gives equal menus one object: a trace of 100,000 jobs has a handful.
class MenuPool {
 public:
  std::shared_ptr<const Menu> share(Menu menu);
  std::shared_ptr<const Menu> share(Configuration configuration);

 private:
  std::unordered_multimap<std::size_t, std::shared_ptr<const Menu>> menus_;
};

class TraceBuilder {
 public:
  TraceBuilder(std::string path, std::string format);

  Complaints& complaints() { return complaints_; }
  MenuPool& menus() { return menus_; }
  void complain(long line, std::string_view sentence) {
    weft::complain(complaints_, trace_.path, line, sentence);
  }
  void reserve(std::size_t jobs) { trace_.jobs.reserve(jobs); }
  void skip_row() { ++trace_.skipped_rows; }
  void set_pairs(std::shared_ptr<const PairTable> pairs) { trace_.pairs = std::move(pairs); }

  // An empty name is the tenant "default".
  TenantId tenant(std::string_view name, long line);
  // `line` is where the job stands, for complaints about a name used twice.
  void add(long line, Submission submission, Truth truth);
  // For formats whose rows have no name: the row number given here is the name.
  void add_numbered(long row, Submission submission, Truth truth);

  // Ensures: the promises of Trace, or every complaint gathered so far.
  Result<Trace> finish(std::string hint = "");

 private:
  Trace trace_;
  Complaints complaints_;
  MenuPool menus_;
  std::unordered_map<std::string, TenantId> tenants_;
  std::unordered_map<std::string_view, long> lines_;  // by name; views into the submissions
  std::string last_tenant_;
  TenantId last_tenant_id_ = 0;
};

// Device type of the cluster by name, whatever the case; kAnyType when there is none.
TypeId find_type(const Cluster& cluster, std::string_view name);
std::vector<std::string> type_names(const Cluster& cluster);
bool same_ignoring_case(std::string_view a, std::string_view b);

}  // namespace weft

// What users and queues have spent of their budgets, as the journal tells.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/daemon/budget_file.h"
#include "live/daemon/usage.h"

namespace weft::live {

// Holds no clock or thread; of one thread.
class Spending {
 public:
  enum class Kind : std::uint8_t { kUser, kQueue };
  using Owner = std::pair<Kind, std::string>;
  // User and queue of a job; nothing: it is not known.
  using OwnersOf = std::function<std::optional<std::pair<std::string, std::string>>(JobId)>;

  struct Account {
    Budget budget;
    std::int64_t period = 0;           // its number
    Seconds from = 0, until = kNever;  // of the period, by the controller's clock
    Usage settled, spent;              // as far as all is known; and until the last look
    bool is_over() const {
      return spent.cost >= budget.cost || spent.device_s >= budget.device_hours * kHour;
    }
  };

  // Requires: the cluster outlives this.
  Spending(const Cluster& cluster, BudgetTable table, OwnersOf owners)
      : table_(std::move(table)), owners_of_(std::move(owners)), fold_(cluster) {}

  // In the order of the journal.
  Status take(const Record& record);
  std::uint64_t through() const { return fold_.through(); }
  // Counts up to `now`, where it is `unix_s` seconds since 1970; neither goes back.
  void count(Seconds now, double unix_s);
  // Everybody who has a budget of their own, and those without who have spent something.
  const std::map<Owner, Account>& accounts() const { return accounts_; }

 private:
  // Opens an account, or begins its next period.
  Account* account_of(const Owner& owner, Seconds now, double unix_s);
  void add(Seconds from, Seconds to, Seconds now, double unix_s, bool settles);

  BudgetTable table_;
  OwnersOf owners_of_;
  UsageFold fold_;
  std::map<Owner, Account> accounts_;
  std::map<JobId, std::pair<std::string, std::string>> owners_;  // of jobs that hold something
  Seconds known_ = 0;    // up to here every record was taken
  Seconds settled_ = 0;  // up to here it is in `settled`
};

// "budget of ann: 12.3 of 10 spent". Requires: it is over.
std::string over_text(const Spending::Owner& owner, const Spending::Account& account);

}  // namespace weft::live

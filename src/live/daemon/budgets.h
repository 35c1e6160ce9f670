// Budgets that hold: looks every second who has spent theirs, and says whose jobs may not start.
//
// What follows from it are events (holds.h), so that recovery and replay need no budgets.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "live/daemon/board.h"
#include "live/daemon/holds.h"
#include "live/daemon/spending.h"

namespace weft::live {

// Thread-safe.
class Budgets {
 public:
  // Requires: cluster and board outlive this. `folder` is that of the journal, `now` its clock.
  Budgets(const Cluster& cluster, const BudgetTable& table, const std::string& folder,
          const Board& board, std::function<Seconds()> now);
  ~Budgets();

  // Counts what was spent so far, and from then on by itself; `changed` is called on a thread of
  // its own when somebody has spent theirs, or may spend again. Error: the journal cannot be read.
  Status begin(std::function<void()> changed);
  // `changed` is called no more.
  void end();

  // Whether jobs of that user in that queue must wait.
  HoldVerdict verdict(const std::string& user, const std::string& queue) const;
  std::map<Spending::Owner, Spending::Account> accounts() const;

 private:
  Status look();
  void work();
  HoldVerdict verdict_of(const Spending::Owner& owner) const;

  const BudgetTable table_;
  std::function<Seconds()> now_;
  JournalTail tail_;
  std::function<void()> changed_;
  // Of the thread that looks.
  Spending spending_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<Spending::Owner, Spending::Account> accounts_;  // as of the last look
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weft::live

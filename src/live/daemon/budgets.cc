#include "live/daemon/budgets.h"

#include <chrono>
#include <ctime>

namespace weft::live {
namespace {

constexpr auto kCheckBudgetsEvery = std::chrono::seconds(1);

using Accounts = std::map<Spending::Owner, Spending::Account>;

bool same_are_over(const Accounts& a, const Accounts& b) {
  const auto over = [](const Accounts& accounts, const Spending::Owner& owner) {
    const auto at = accounts.find(owner);
    return at != accounts.end() && at->second.is_over();
  };
  for (const auto& [owner, account] : a) {
    if (account.is_over() != over(b, owner)) return false;
  }
  for (const auto& [owner, account] : b) {
    if (account.is_over() != over(a, owner)) return false;
  }
  return true;
}

}  // namespace

Budgets::Budgets(const Cluster& cluster, const BudgetTable& table, const std::string& folder,
                 const Board& board, std::function<Seconds()> now)
    : table_(table),
      now_(std::move(now)),
      tail_(folder),
      spending_(cluster, table,
                [&board](JobId id) -> std::optional<std::pair<std::string, std::string>> {
                  const auto job = board.at(id);
                  if (!job) return std::nullopt;
                  return std::pair{job->identity.user, job->queue};
                }) {}

Budgets::~Budgets() { end(); }

Status Budgets::begin(std::function<void()> changed) {
  if (const Status looked = look(); !looked.ok()) return looked;
  changed_ = std::move(changed);
  thread_ = std::thread([this] { work(); });
  return {};
}

void Budgets::end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Budgets::look() {
  // Before the records are read: what they tell of later is counted at the next look.
  const Seconds now = now_();
  const Status read =
      tail_.read(spending_.through(), [&](const Record& record) { return spending_.take(record); });
  if (!read.ok()) return read;
  spending_.count(now, static_cast<double>(std::time(nullptr)));
  const std::lock_guard lock(mutex_);
  accounts_ = spending_.accounts();
  return {};
}

void Budgets::work() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kCheckBudgetsEvery, [&] { return stop_; })) {
    const Accounts before = accounts_;
    lock.unlock();
    // A journal that can be read no more ends the daemon by itself; until then what was known
    // holds.
    const bool read = look().ok();
    lock.lock();
    if (!read || stop_ || same_are_over(before, accounts_)) continue;
    lock.unlock();
    changed_();
    lock.lock();
  }
}

HoldVerdict Budgets::verdict_of(const Spending::Owner& owner) const {
  const auto found = accounts_.find(owner);
  if (found != accounts_.end()) {
    if (!found->second.is_over()) return {};
    return {over_text(owner, found->second), found->second.budget.stops};
  }
  const auto& budgets = owner.first == Spending::Kind::kUser ? table_.users : table_.queues;
  const Budget* budget = BudgetTable::find(budgets, owner.second);
  Spending::Account nothing;  // one that has spent nothing may have nothing to spend
  if (budget != nullptr) nothing.budget = *budget;
  if (!nothing.is_over()) return {};
  return {over_text(owner, nothing), nothing.budget.stops};
}

HoldVerdict Budgets::verdict(const std::string& user, const std::string& queue) const {
  const std::lock_guard lock(mutex_);
  HoldVerdict both = verdict_of({Spending::Kind::kUser, user});
  const HoldVerdict other = verdict_of({Spending::Kind::kQueue, queue});
  if (both.why.empty()) both.why = other.why;
  both.stops = both.stops || other.stops;
  return both;
}

std::map<Spending::Owner, Spending::Account> Budgets::accounts() const {
  const std::lock_guard lock(mutex_);
  return accounts_;
}

}  // namespace weft::live

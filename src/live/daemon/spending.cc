#include "live/daemon/spending.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace weft::live {
namespace {

struct Span {
  std::int64_t number = 0;
  Seconds from = 0, until = kNever;
};

// The month around a moment, in UTC.
Span month_at(double unix_s) {
  const auto at = static_cast<std::time_t>(std::floor(unix_s));
  std::tm begin{};
  gmtime_r(&at, &begin);
  const std::int64_t number = std::int64_t{begin.tm_year} * 12 + begin.tm_mon;
  begin.tm_mday = 1;
  begin.tm_hour = begin.tm_min = begin.tm_sec = 0;
  std::tm end = begin;
  ++end.tm_mon;
  return {number, static_cast<Seconds>(timegm(&begin)), static_cast<Seconds>(timegm(&end))};
}

Span period_at(const Budget& budget, Seconds now, double unix_s) {
  if (budget.period == Budget::Period::kTotal) return {};
  if (budget.period == Budget::Period::kEvery) {
    const double number = std::floor(now / budget.every);
    return {static_cast<std::int64_t>(number), number * budget.every, (number + 1) * budget.every};
  }
  Span month = month_at(unix_s);
  month.from = std::max(0.0, now - (unix_s - month.from));
  month.until = now + (month.until - unix_s);
  return month;
}

}  // namespace

Status Spending::take(const Record& record) {
  known_ = std::max(known_, record.at);
  return fold_.take(record);
}

Spending::Account* Spending::account_of(const Owner& owner, Seconds now, double unix_s) {
  const auto& budgets = owner.first == Kind::kUser ? table_.users : table_.queues;
  const Budget* budget = BudgetTable::find(budgets, owner.second);
  if (budget == nullptr) return nullptr;
  const auto [at, fresh] = accounts_.try_emplace(owner);
  Account& account = at->second;
  const Span period = period_at(*budget, now, unix_s);
  // A month's bounds are those of when it was first seen: clocks are set.
  if (fresh || account.period != period.number) {
    account = {*budget, period.number, period.from, period.until, {}, {}};
  }
  return &account;
}

void Spending::add(Seconds from, Seconds to, Seconds now, double unix_s, bool settles) {
  // Periods begin at few different times.
  std::map<Seconds, std::map<JobId, Usage>> pages;
  const auto page = [&](Seconds begin) -> const std::map<JobId, Usage>& {
    const auto [at, fresh] = pages.try_emplace(begin);
    if (fresh) at->second = fold_.between(begin, to);
    return at->second;
  };
  for (const auto& [job, all] : page(from)) {
    auto owners = owners_.find(job);
    if (owners == owners_.end()) {
      const auto found = owners_of_(job);
      if (!found) continue;
      owners = owners_.emplace(job, *found).first;
    }
    for (const Owner& owner :
         {Owner{Kind::kUser, owners->second.first}, Owner{Kind::kQueue, owners->second.second}}) {
      Account* account = account_of(owner, now, unix_s);
      if (account == nullptr) continue;
      const auto& used = page(std::max(from, account->from));
      const auto its = used.find(job);
      if (its == used.end()) continue;
      account->spent += its->second;
      if (settles) account->settled += its->second;
    }
  }
}

void Spending::count(Seconds now, double unix_s) {
  for (const auto& [kind, budgets] :
       {std::pair{Kind::kUser, &table_.users}, std::pair{Kind::kQueue, &table_.queues}}) {
    for (const auto& [name, budget] : *budgets) {
      if (name != kEachOther) account_of({kind, name}, now, unix_s);
    }
  }
  for (auto& [owner, account] : accounts_) {
    account_of(owner, now, unix_s);
    account.spent = account.settled;
  }
  const Seconds known = std::min(known_, now);
  if (known > settled_) {
    add(settled_, known, now, unix_s, true);
    settled_ = known;
    fold_.forget_before(settled_);
    owners_.clear();  // the next look finds those again that still hold something
  }
  add(settled_, now, now, unix_s, false);
}

std::string over_text(const Spending::Owner& owner, const Spending::Account& account) {
  const std::string who = (owner.first == Spending::Kind::kQueue ? "queue " : "") + owner.second;
  if (account.spent.cost >= account.budget.cost) {
    return fmt::format("budget of {}: {:.4g} of {:g} spent", who, account.spent.cost,
                       account.budget.cost);
  }
  return fmt::format("budget of {}: {:.4g} of {:g} device hours spent", who,
                     account.spent.device_s / kHour, account.budget.device_hours);
}

}  // namespace weft::live

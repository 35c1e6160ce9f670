// What users and queues may spend, as an operator writes it.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

struct Budget {
  enum class Period : std::uint8_t {
    kTotal,  // since the journal began
    kMonth,  // calendar months, UTC
    kEvery   // `every` seconds, counted from the beginning of the journal
  };
  // At least one is stated; kNever: not limited.
  double cost = kNever, device_hours = kNever;
  Period period = Period::kTotal;
  Seconds every = 0;
  bool stops = false;  // also what runs
};

// In place of a name: everybody who is not named, each for themselves.
inline constexpr const char* kEachOther = "*";

struct BudgetTable {
  std::map<std::string, Budget> users, queues;

  // The one of that name, or else of those who are not named; null: there is none.
  static const Budget* find(const std::map<std::string, Budget>& budgets, const std::string& name);
  // So many seconds of the journal are needed to know what was spent; kNever: all of it.
  Seconds looks_back() const;
};

// From YAML: `period: 30d`, `action: stop`, `users: {ann: {cost: 100}}` and `queues: {research:
// {device_hours: 500, period: month}}`. What stands outside holds for all that say nothing else.
// The error names every mistake with its line.
Result<BudgetTable> parse_budgets(const std::string& yaml, const std::string& path);

}  // namespace weft::live

#include "live/daemon/budget_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "live/daemon/yaml_file.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

constexpr std::size_t kMostBudgets = 10'000;
constexpr double kMostSpent = 1e15;
constexpr Seconds kShortestPeriod = 60, kLongestPeriod = 100 * 365 * 24 * kHour;
constexpr Seconds kLongestMonth = 31 * 24 * kHour;

class BudgetReader {
 public:
  explicit BudgetReader(const std::string& path) : wrong_(path) {}

  Result<BudgetTable> read(const YAML::Node& root) {
    if (!root.IsMap()) {
      complain(root, "must be a map with 'users' or 'queues'");
    } else {
      // What holds for all has to be known before any of them.
      for (const auto& entry : root) read_default(entry.first, entry.second);
      for (const auto& entry : root) read_owners(entry.first, entry.second);
      if (wrong_.empty() && out_.users.empty() && out_.queues.empty()) {
        complain(root, "has no budget: name 'users' or 'queues'");
      }
    }
    if (!wrong_.empty()) return wrong_.error();
    return out_;
  }

 private:
  static std::string word(const YAML::Node& node) { return node.IsScalar() ? node.Scalar() : ""; }

  void complain(const YAML::Node& node, const std::string& what) { wrong_.add(node, what); }

  void read_default(const YAML::Node& key, const YAML::Node& value) {
    const std::string field = word(key);
    if (!fields_.insert(field).second) {
      complain(key, fmt::format("'{}' is there twice", field));
    } else if (field == "period" || field == "action") {
      read_rule(field, value, all_);
    } else if (field != "users" && field != "queues") {
      complain(key, fmt::format("'{}' is not known; users, queues, period and action are", field));
    }
  }

  void read_owners(const YAML::Node& key, const YAML::Node& value) {
    const std::string kind = word(key);
    if (kind != "users" && kind != "queues") return;
    if (!value.IsMap() || value.size() == 0 || value.size() > kMostBudgets) {
      return complain(key, fmt::format("{} must be a map of 1 to {} names", kind, kMostBudgets));
    }
    auto& budgets = kind == "users" ? out_.users : out_.queues;
    for (const auto& entry : value) read_budget(kind, entry.first, entry.second, budgets);
  }

  void read_budget(const std::string& kind, const YAML::Node& key, const YAML::Node& value,
                   std::map<std::string, Budget>& budgets) {
    const std::string name = word(key);
    const bool named = kind == "users" ? !name.empty() : is_plain_name(name);
    if (!named && name != kEachOther) {
      return complain(key, fmt::format("'{}' is no name of a {}", name, one_of(kind)));
    }
    if (budgets.contains(name)) {
      return complain(key, fmt::format("{} {} is there twice", one_of(kind), name));
    }
    Budget budget = all_;
    bool limited = false;
    std::set<std::string> seen;
    if (value.IsMap()) {
      for (const auto& entry : value) {
        const std::string field = word(entry.first);
        if (!seen.insert(field).second) {
          complain(entry.first, fmt::format("'{}' is there twice", field));
        } else if (field == "cost" || field == "device_hours") {
          limited = true;
          read_limit(field, entry.second, field == "cost" ? budget.cost : budget.device_hours);
        } else if (field == "period" || field == "action") {
          read_rule(field, entry.second, budget);
        } else {
          complain(entry.first,
                   fmt::format("'{}' is no field of a budget; cost, device_hours, period and "
                               "action are",
                               field));
        }
      }
    }
    if (!limited) {
      complain(key, fmt::format("{} {} needs cost or device_hours", one_of(kind), name));
    }
    budgets[name] = budget;
  }

  void read_limit(const std::string& field, const YAML::Node& value, double& limit) {
    double number = -1;
    if (YAML::convert<double>::decode(value, number) && number >= 0 && number <= kMostSpent) {
      limit = number;
    } else {
      complain(value, fmt::format("{} is '{}'; it must be a number from 0 to {:g}", field,
                                  word(value), kMostSpent));
    }
  }

  void read_rule(const std::string& field, const YAML::Node& value, Budget& budget) {
    const std::string text = word(value);
    if (field == "action") {
      budget.stops = text == "stop";
      if (text == "stop" || text == "hold") return;
      return complain(value, fmt::format("action is '{}'; it must be hold or stop", text));
    }
    budget.period = text == "total"   ? Budget::Period::kTotal
                    : text == "month" ? Budget::Period::kMonth
                                      : Budget::Period::kEvery;
    if (budget.period != Budget::Period::kEvery) return;
    budget.every = parse_duration(text).value_or(0);
    if (budget.every >= kShortestPeriod && budget.every <= kLongestPeriod) return;
    complain(value, fmt::format("period is '{}'; it must be total, month or {} (1 min at least)",
                                text, kDurationWanted));
  }

  static std::string one_of(const std::string& kind) { return kind.substr(0, kind.size() - 1); }

  Complaints wrong_;
  std::set<std::string> fields_;
  Budget all_;
  BudgetTable out_;
};

}  // namespace

const Budget* BudgetTable::find(const std::map<std::string, Budget>& budgets,
                                const std::string& name) {
  auto found = budgets.find(name);
  if (found == budgets.end()) found = budgets.find(kEachOther);
  return found == budgets.end() ? nullptr : &found->second;
}

Seconds BudgetTable::looks_back() const {
  Seconds longest = 0;
  for (const auto* budgets : {&users, &queues}) {
    for (const auto& [name, budget] : *budgets) {
      longest = std::max(longest, budget.period == Budget::Period::kTotal   ? kNever
                                  : budget.period == Budget::Period::kMonth ? kLongestMonth
                                                                            : budget.every);
    }
  }
  return longest;
}

Result<BudgetTable> parse_budgets(const std::string& yaml, const std::string& path) {
  return read_yaml(yaml, path,
                   [&](const YAML::Node& root) { return BudgetReader(path).read(root); });
}

}  // namespace weft::live

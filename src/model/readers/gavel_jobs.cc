#include "model/readers/gavel_jobs.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace weft {
namespace {

constexpr Limits kStepLimits{0, 1e15, true};

}  // namespace

std::vector<std::string> gavel_columns(std::string_view text) {
  DelimitedScanner scanner(text, kGavelDialect);
  const std::size_t columns = scanner.next() ? scanner.fields().size() : 0;
  if (columns == 12) {
    return {"job type",    "command",     "working folder", "steps argument",
            "data folder", "total steps", "scale factor",   "mode",
            "weight",      "SLO",         "duration",       "arrival"};
  }
  std::vector<std::string> names = {"job type",       "command",     "working folder",
                                    "steps argument", "data folder", "total steps",
                                    "scale factor",   "weight",      "SLO",
                                    "arrival"};
  if (columns == 9) names.erase(names.begin() + 2);
  return names;
}

Status check_shares_a_type(const GavelThroughputs& table, const Cluster& cluster) {
  for (const std::string& name : table.type_names()) {
    if (find_type(cluster, name) != kAnyType) return {};
  }
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("the throughput table has the device types {}; the cluster has {}",
                  fmt::join(table.type_names(), ", "), fmt::join(type_names(cluster), ", ")),
      "name the types of the cluster, as in v100:2x4,p100:4x4,k80:6x4"};
}

GavelColumns::GavelColumns(const TableReader& rows)
    : job_type_(rows.column("job type")),
      steps_(rows.column("total steps")),
      scale_(rows.column("scale factor")),
      weight_(rows.column("weight")),
      slo_(rows.column("SLO")),
      arrival_(rows.column("arrival")) {}

GavelKey GavelColumns::key(TableReader& rows) const {
  return {std::string(rows.text(job_type_)),
          static_cast<std::uint32_t>(rows.integer(scale_, 1, kMaxJobDevices))};
}

Submission GavelColumns::submission(TableReader& rows) const {
  Submission submission;
  submission.tenant = 0;
  submission.weight = rows.number(weight_, kWeightLimits);
  submission.submit = rows.number(arrival_, kTimeLimits);
  submission.declared_work = rows.number(steps_, kStepLimits);
  return submission;
}

void GavelColumns::set_deadline(TableReader& rows, Seconds duration, Submission& submission) const {
  if (duration > kMaxDuration) {
    rows.complain(
        fmt::format("the job takes {:g} s on the fastest device type; the limit is {:g} s",
                    duration, kMaxDuration));
  }
  // -1 (and an empty cell) mean that the job has none.
  const double slo = rows.optional_number(slo_, {-1, 1e6}).value_or(-1);
  if (slo > 0) submission.deadline = submission.submit + slo * duration;
}

GavelMenus::GavelMenus(const GavelThroughputs& table, const Cluster& cluster, TraceBuilder& builder)
    : table_(table), cluster_(cluster), builder_(builder), keys_(table.keys()) {
  pairs_ = std::make_shared<const PairTable>(table.make_pairs(cluster));
  builder_.tenant("", 0);
}

const GavelMenus::Entry& GavelMenus::of(const GavelKey& key, TableReader& rows) {
  const auto [it, added] = entries_.try_emplace(key);
  Entry& entry = it->second;
  if (added) {
    Menu menu = table_.make_menu(key, cluster_);
    if (menu.configurations.empty()) {
      rows.complain(fmt::format(
          "{} runs on none of the cluster's device types ({}); the throughput table has {}",
          shown(key.text()), fmt::join(type_names(cluster_), ", "),
          fmt::join(table_.type_names(), ", ")));
      menu.configurations.emplace_back();
    }
    entry.fastest = 0;
    for (const Configuration& c : menu.configurations) {
      entry.fastest = std::max(entry.fastest, c.rate);
    }
    entry.menu = builder_.menus().share(std::move(menu));
    const auto row = std::lower_bound(keys_.begin(), keys_.end(), key);
    if (row != keys_.end() && *row == key) {
      entry.model = static_cast<ModelId>(row - keys_.begin());
    }
  }
  return entry;
}

}  // namespace weft

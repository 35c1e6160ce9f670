#include "model/readers/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace weft {
namespace {

// Only what differs often; equality decides.
std::size_t hash_of(const Menu& menu) {
  std::size_t hash = menu.configurations.size();
  const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  for (const Configuration& c : menu.configurations) {
    mix(c.type);
    mix((std::size_t{c.devices} << 32) | c.milli);
    mix(std::hash<double>{}(c.rate));
    mix(std::hash<double>{}(c.scattered_rate));
    mix(static_cast<std::size_t>(c.device_memory));
    mix(c.cpu_milli ^ static_cast<std::size_t>(c.host_memory));
  }
  return hash;
}

bool submitted_before(const TraceJob& a, const TraceJob& b) {
  return a.submission->submit < b.submission->submit;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::shared_ptr<const Menu> MenuPool::share(Menu menu) {
  const std::size_t hash = hash_of(menu);
  const auto [first, last] = menus_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (*it->second == menu) return it->second;
  }
  return menus_.emplace(hash, std::make_shared<const Menu>(std::move(menu)))->second;
}

std::shared_ptr<const Menu> MenuPool::share(Configuration configuration) {
  Menu menu;
  menu.configurations.push_back(std::move(configuration));
  return share(std::move(menu));
}

TraceBuilder::TraceBuilder(std::string path, std::string format) {
  trace_.path = std::move(path);
  trace_.format = std::move(format);
}

TenantId TraceBuilder::tenant(std::string_view name, long line) {
  if (name.empty()) name = "default";
  if (name == last_tenant_) return last_tenant_id_;
  constexpr std::size_t kMost = std::numeric_limits<TenantId>::max();
  const auto [it, added] =
      tenants_.try_emplace(std::string(name), static_cast<TenantId>(trace_.tenants.size()));
  if (added && trace_.tenants.size() >= kMost) {
    complain(line, fmt::format("tenant {} is one more than the limit of {}", shown(name), kMost));
    tenants_.erase(it);
    return 0;
  }
  if (added) trace_.tenants.emplace_back(name);
  last_tenant_ = name;
  last_tenant_id_ = it->second;
  return it->second;
}

void TraceBuilder::add(long line, Submission submission, Truth truth) {
  if (submission.name.empty()) complain(line, "the job has no name; a name is needed");
  trace_.jobs.push_back(
      {std::make_shared<const Submission>(std::move(submission)), std::move(truth)});
  const std::string& name = trace_.jobs.back().submission->name;
  const auto [it, added] = lines_.try_emplace(name, line);
  if (!added && !name.empty()) {
    complain(line, fmt::format("name {} is already used on line {}; names must be unique",
                               shown(name), it->second));
  }
}

void TraceBuilder::add_numbered(long row, Submission submission, Truth truth) {
  submission.name = fmt::format_int(row).str();
  trace_.jobs.push_back(
      {std::make_shared<const Submission>(std::move(submission)), std::move(truth)});
}

Result<Trace> TraceBuilder::finish(std::string hint) {
  if (!complaints_.empty()) return complaints_.error(std::move(hint));
  if (trace_.jobs.empty()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: holds no jobs{}", trace_.path,
                             trace_.skipped_rows == 0
                                 ? std::string()
                                 : fmt::format(" ({} rows were passed over)", trace_.skipped_rows)),
                 std::move(hint)};
  }
  if (!std::is_sorted(trace_.jobs.begin(), trace_.jobs.end(), submitted_before)) {
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(), submitted_before);
  }
  return std::move(trace_);
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

TypeId find_type(const Cluster& cluster, std::string_view name) {
  for (std::size_t i = 0; i < cluster.types.size(); ++i) {
    if (same_ignoring_case(cluster.types[i].name, name)) return static_cast<TypeId>(i);
  }
  return kAnyType;
}

std::vector<std::string> type_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const DeviceType& type : cluster.types) names.push_back(type.name);
  return names;
}

}  // namespace weft

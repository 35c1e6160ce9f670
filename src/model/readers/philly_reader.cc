#include "model/readers/philly_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>

#include "model/readers/trace_builder.h"

namespace weft {
namespace {

// The menu of so many devices of any type; nearly all jobs ask for one of a few sizes.
class SizeMenus {
 public:
  explicit SizeMenus(MenuPool& pool) : pool_(pool) {}

  const std::shared_ptr<const Menu>& of(std::uint32_t devices) {
    if (devices >= small_.size()) return other_ = make(devices);
    std::shared_ptr<const Menu>& menu = small_[devices];
    if (menu == nullptr) menu = make(devices);
    return menu;
  }

 private:
  std::shared_ptr<const Menu> make(std::uint32_t devices) {
    Configuration configuration;
    configuration.devices = devices;
    return pool_.share(std::move(configuration));
  }

  MenuPool& pool_;
  std::array<std::shared_ptr<const Menu>, 257> small_;
  std::shared_ptr<const Menu> other_;
};

Result<Trace> parse_numbered(TableReader& table, TraceBuilder& builder) {
  const int id = table.column("job_id"), submit = table.column("submit_s"),
            devices = table.column("num_gpus"), duration = table.column("duration_s"),
            tenant = table.column("vc");
  SizeMenus menus(builder.menus());
  while (table.next()) {
    Submission submission;
    submission.name = table.text(id);
    submission.submit = table.number(submit, kTimeLimits);
    submission.tenant = builder.tenant(table.text(tenant), table.line());
    submission.menu =
        menus.of(static_cast<std::uint32_t>(table.integer(devices, 1, kMaxJobDevices)));
    Truth truth;
    truth.work = table.number(duration, kDurationLimits);
    builder.add(table.line(), std::move(submission), std::move(truth));
  }
  return builder.finish();
}

struct DatedRow {
  std::int64_t timestamp;
  double duration;
  std::uint32_t devices;
  std::uint32_t row;
  TenantId tenant;

  auto key() const { return std::tie(timestamp, duration, devices, row); }
};

Result<Trace> parse_dated(TableReader& table, TraceBuilder& builder, std::size_t lines) {
  const int timestamp = table.column("timestamp"), duration = table.column("duration"),
            devices = table.column("num_gpus"), tenant = table.column("cluster");
  std::vector<DatedRow> rows;
  rows.reserve(lines);
  while (table.next()) {
    const auto time = parse_timestamp(table.text(timestamp));
    if (!time) table.refuse(timestamp, "a date such as 2017-10-09 07:01:55");
    rows.push_back({time.value_or(0), table.number(duration, kDurationLimits),
                    static_cast<std::uint32_t>(table.integer(devices, 1, kMaxJobDevices)),
                    static_cast<std::uint32_t>(table.row()),
                    builder.tenant(table.text(tenant), table.line())});
  }
  std::sort(rows.begin(), rows.end(),
            [](const DatedRow& a, const DatedRow& b) { return a.key() < b.key(); });
  SizeMenus menus(builder.menus());
  for (const DatedRow& row : rows) {
    Submission submission;
    submission.submit = static_cast<double>(row.timestamp - rows.front().timestamp);
    submission.tenant = row.tenant;
    submission.menu = menus.of(row.devices);
    Truth truth;
    truth.work = row.duration;
    builder.add_numbered(row.row, std::move(submission), std::move(truth));
  }
  return builder.finish();
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (text.size() != kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool fits =
        kShape[i] == 'd' ? digit : text[i] == kShape[i] || (i == 10 && text[i] == 'T');
    if (!fits) return std::nullopt;
  }
  const auto two = [&](std::size_t i) { return (text[i] - '0') * 10 + (text[i + 1] - '0'); };
  const std::chrono::year_month_day date{std::chrono::year{two(0) * 100 + two(2)},
                                         std::chrono::month{static_cast<unsigned>(two(5))},
                                         std::chrono::day{static_cast<unsigned>(two(8))}};
  const int hour = two(11), minute = two(14), second = two(17);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
  return std::int64_t{days} * 86400 + hour * 3600 + minute * 60 + second;
}

Result<Trace> parse_philly(const TextFile& file) {
  TraceBuilder builder(file.path, "philly");
  TableReader table(file, {',', true, '#'}, builder.complaints());
  const bool dated = table.column("timestamp") >= 0;
  const bool complete = dated
                            ? table.require({"timestamp", "duration", "num_gpus", "cluster"})
                            : table.require({"job_id", "submit_s", "num_gpus", "duration_s", "vc"});
  if (!complete) return builder.finish("Philly files are described in docs/formats.md");
  const auto lines = static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
  builder.reserve(lines);
  return dated ? parse_dated(table, builder, lines) : parse_numbered(table, builder);
}

}  // namespace weft

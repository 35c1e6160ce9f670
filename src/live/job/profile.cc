#include "live/job/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

constexpr std::size_t kMostRows = 1000;
constexpr double kMostRate = 1e12;

}  // namespace

Result<JobProfile> profile_from_json(const nlohmann::json& object) {
  JsonFields fields(object);
  JobProfile profile;
  profile.work = fields.number("work", 1e-9, 1e15, 0);
  const nlohmann::json* rows = fields.find("rows");
  if (profile.work <= 0) fields.complain("work is missing");
  if (rows == nullptr || !rows->is_array() || rows->empty() || rows->size() > kMostRows) {
    fields.complain(fmt::format("rows must be a list of 1 to {}", kMostRows));
  }
  if (!fields.wrong().empty()) return fields.error();
  for (const nlohmann::json& each : *rows) {
    JsonFields row(each);
    ProfileRow out;
    out.workers = static_cast<std::uint32_t>(row.whole("workers", 1, 1 << 20, 1));
    out.codec = row.text("codec");
    out.sync = row.text("sync");
    out.rate = row.number("rate", 1e-12, kMostRate, 0);
    out.scattered_rate = row.number("scattered_rate", 0, kMostRate, 0);
    out.compute = row.number("compute_s", 0, 1e9, 0);
    out.bytes_per_step = row.whole("bytes_per_step", 0, std::int64_t{1} << 50, 0);
    out.efficiency = row.number("efficiency", 1e-6, 1, 1);
    if (out.rate <= 0) row.complain("rate is missing");
    if (!row.wrong().empty()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("row {}: {}", profile.rows.size(), row.wrong()), ""};
    }
    profile.rows.push_back(std::move(out));
  }
  return profile;
}

Status apply_profile(const JobProfile& profile, const JobSpec& job, Submission& submission) {
  const std::uint32_t on_worker = std::max(1U, job.devices_per_node() / job.ranks_per_node());
  Menu measured;
  for (const Configuration& asked : submission.menu->configurations) {
    const auto row =
        std::find_if(profile.rows.begin(), profile.rows.end(), [&](const ProfileRow& r) {
          return r.workers == std::max(1U, asked.devices / on_worker) && r.codec == asked.codec &&
                 r.sync == asked.sync;
        });
    if (row == profile.rows.end()) {
      if (!measured.configurations.empty()) continue;
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the profile has no row for {} workers, codec '{}' and sync '{}', "
                               "which the job asks for",
                               asked.devices / on_worker, asked.codec, asked.sync),
                   ""};
    }
    Configuration c = asked;
    c.rate = row->rate;
    c.scattered_rate = row->scattered_rate;
    c.seconds_per_step = row->compute;
    c.efficiency = row->efficiency;
    if (row->bytes_per_step > 0) {
      c.traffic = {Traffic::Pattern::kAllReduce, row->bytes_per_step, 1};
    }
    measured.configurations.push_back(std::move(c));
  }
  submission.declared_work = profile.work;
  submission.estimate = {profile.work / measured.configurations.front().rate,
                         EstimateSource::kUser};
  submission.menu = std::make_shared<const Menu>(std::move(measured));
  return {};
}

}  // namespace weft::live

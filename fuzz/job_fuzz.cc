// Whatever the bytes are, reading them as a job gives one that check_job() accepts and that JSON
// keeps exactly, or an error; and making a submission of it ends in one that fits, or an error.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "live/job/fit.h"
#include "live/job/job_check.h"
#include "live/job/job_file.h"
#include "live/job/job_json.h"
#include "live/job/submission.h"

namespace {

using weft::live::JobSpec;

void check_sound(const weft::Result<JobSpec>& result) {
  if (!result.ok()) {
    CHECK(!result.error().what.empty());
    return;
  }
  CHECK(weft::live::check_job(*result).empty());
  const auto back = weft::live::spec_from_json(weft::live::to_json(*result));
  CHECK(back.ok() && *back == *result);
  static const weft::Cluster cluster = *weft::parse_cluster_shorthand("H100:2x8,A100:4x4");
  const auto made = weft::live::make_submission(*result, cluster, 0, {10, 1e9});
  if (!made.ok()) {
    CHECK(!made.error().what.empty());
    return;
  }
  for (const weft::Configuration& c : made->menu->configurations) {
    CHECK(c.devices >= 1 && c.milli >= 1 && c.milli <= weft::kWhole && c.rate > 0);
    CHECK(weft::live::fits_empty(cluster, {c, 1, made->spot_ok}));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_sound(weft::live::read_job_file(text, "fuzz.yaml"));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) check_sound(weft::live::spec_from_json(json));
  return 0;
}

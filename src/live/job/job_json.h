// Jobs as JSON: what the journal keeps and the HTTP interface speaks.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "live/job/job_spec.h"

namespace weft::live {

inline constexpr int kJobJsonVersion = 1;

// Every field, also those with their default: a journal must mean the same when a default changes.
// Fields have the names of job files, and their unit at the end where they have one: `time_s`,
// `memory_bytes`, `limit_bytes_per_s`.
nlohmann::json to_json(const JobSpec& job);

// Ensures: spec_from_json(to_json(job)) == job for every job that some reader made.
// Strict: "v" must be there, members have their type and limits and are known; one that is not
// there has its default. Every mistake is told at once.
Result<JobSpec> spec_from_json(const nlohmann::json& json);

}  // namespace weft::live

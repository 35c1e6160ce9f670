// Job files: YAML with the field names of SkyPilot, or a script with #SBATCH headers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/job/job_spec.h"

namespace weft::live {

// A text that begins with "#!" is a script, any other is YAML. `file_name` names the text in
// messages, and a job without a name is called after it.
// Ensures: a job that check_job() has nothing against, or every mistake at once, each with line,
// value and limit. `warnings`, if given, gets what was read but has no effect, line by line.
Result<JobSpec> read_job_file(std::string_view text, const std::string& file_name,
                              std::vector<std::string>* warnings = nullptr);

// The two forms. Requires: the text has at most kMaxJobFileBytes.
Result<JobSpec> read_job_yaml(std::string_view text, const std::string& file_name);
Result<JobSpec> read_job_script(std::string_view text, const std::string& file_name,
                                std::vector<std::string>& warnings);

// "jobs/train.yaml" as "train"; "job" where that is no name of a job.
std::string job_name_of(const std::string& file_name);

}  // namespace weft::live

// What `weft jobs` and `weft status` print for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft {

// "0.4 s", "42 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
std::string time_words(double seconds);

// What GET /v1/jobs answers, a line for each job.
std::string jobs_page(const nlohmann::json& answer);

// What else is known of a job than GET /v1/jobs/JOB answers.
struct JobExtras {
  std::string called;      // how the user named it; empty: by its name
  std::string policy;      // in force; empty: not known
  std::string waits_for;   // why it waits now; empty: it does not, or it is not known
  double start_in_s = -1;  // predicted; below 0: not known
  std::string log;         // file of rank 0 on this machine; empty: not there
};
std::string job_page(const nlohmann::json& job, const JobExtras& extras);

// One line on a job that has ended: "train failed: rank 0 exited with 1; `weft logs train` …".
std::string end_words(const nlohmann::json& job);

// What GET /v1/status answers.
std::string daemon_page(const nlohmann::json& status);

}  // namespace weft

// What is wrong with a job although each of its values could be read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/job/job_spec.h"

namespace weft::live {

// `field` is a path such as "checkpoint.grace" or "depends_on.2"; `what` a sentence that begins
// with it; `others` the fields that are part of the contradiction.
struct JobProblem {
  std::string field, what;
  std::vector<std::string> others;
};

// Fields whose value could not be read. They kept their defaults, of which nothing should be said.
class UnreadFields {
 public:
  void add(std::string path) { paths_.push_back(std::move(path)); }
  bool touch(const JobProblem& problem) const;

 private:
  std::vector<std::string> paths_;
};

// Ensures: empty for a job that a controller may take. Cost: O(size of the job).
std::vector<JobProblem> check_job(const JobSpec& job);

// Why a text may not be a value: too long, or bytes that no text holds; empty if it may.
std::string text_problem(std::string_view text, std::size_t max_bytes);

}  // namespace weft::live

// Pipeline schedules as JSON: docs/pipelines.md describes the form.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Text beyond this is not read.
inline constexpr std::size_t kMaxScheduleText = std::size_t{128} << 20;

// One line per operation. Ensures: parse_schedule() gives back an equal schedule.
std::string write_schedule(const Schedule& schedule);

// Nothing in the text is trusted: what is returned has passed verify(). The error lists all
// mistakes of form (the first 20 in words), or the first fault that verify() finds.
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace weft::pipeline

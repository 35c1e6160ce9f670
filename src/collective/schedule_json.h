// Schedules as JSON: docs/collectives.md describes the form.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collective/schedule.h"
#include "collective/verify.h"

namespace weft::collective {

// Text beyond this is not read.
inline constexpr std::size_t kMaxScheduleText = std::size_t{128} << 20;

// Proves contributions one by one, within limits of some minutes and some gigabytes.
VerifyOptions import_options();

// One line per round. Ensures: parse_schedule() gives back an equal schedule.
std::string write_schedule(const Schedule& schedule);

// Nothing in the text is trusted: what is returned has passed verify() with `options`. The error
// lists all mistakes of form (the first 20 in words), or the first fault that verify() finds.
Result<Schedule> parse_schedule(std::string_view text,
                                const VerifyOptions& options = import_options());

}  // namespace weft::collective

// Values of job files as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/job/job_spec.h"

namespace weft::live {

// "90" (seconds), "30s", "10min", "1h30m", "2d", "500ms". Units descend.
std::optional<Seconds> parse_duration(std::string_view text);
inline constexpr std::string_view kDurationWanted = "a duration such as 90s, 30min, 1h30m or 2d";

// "2026-11-16T18:00:00Z", "2026-11-16 18:00+01:00": seconds since 1970. The zone is required, for
// nobody knows whose a bare time is.
std::optional<double> parse_instant(std::string_view text);
std::string instant_text(double unix_s);  // to the second, in UTC
// A duration, or an instant.
std::optional<JobDeadline> parse_deadline(std::string_view text);
inline constexpr std::string_view kDeadlineWanted =
    "a duration after submission such as 2h, or a time with its zone such as 2026-11-16T18:00:00Z";

// "H100:8", "H100", "any:2", "2".
std::optional<AcceleratorChoice> parse_accelerator(std::string_view text);
std::string accelerator_text(const AcceleratorChoice& choice);
inline constexpr std::string_view kAcceleratorWanted =
    "TYPE, TYPE:COUNT or COUNT with a whole count from 1 to 64, such as H100:8";

// Ensures: one part more than there are separators.
std::vector<std::string_view> split_text(std::string_view text, char separator);

// "4" or "4+": the number, and whether the sign was there.
struct AtLeast {
  std::string_view text;
  bool or_more = false;
};
AtLeast split_at_least(std::string_view text);

// "32" (GiB), "512MB", "16GiB".
std::optional<double> parse_memory(std::string_view text);
inline constexpr std::string_view kMemoryWanted = "a size above 0 such as 32 (GiB), 512MB or 16GiB";

// "0-99%8", "1,3,5-7", "0-10:2". The error names the part and what is wrong with it.
Result<JobArray> parse_array(std::string_view text);
std::string array_text(const JobArray& array);  // empty without an array
std::int64_t member_count(const JobArray& array);
// Whether the job is one member of an array: it has one index, and its name ends with it.
bool is_array_member(const JobSpec& job);

// "USR1", "SIGUSR1", "usr1" as "SIGUSR1"; empty for a signal that jobs may not use.
std::string signal_name(std::string_view text);
// Requires: a result of signal_name that is not empty.
int signal_number(std::string_view name);
std::string signal_wanted();  // for messages

bool is_uuid(std::string_view text);
// Names of jobs and queues: letters, digits, '.', '_', '-', and no '-' or '.' in front.
bool is_plain_name(std::string_view text);
bool is_variable_name(std::string_view text);

}  // namespace weft::live

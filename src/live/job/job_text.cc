#include "live/job/job_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <csignal>

#include "base/delimited.h"
#include "base/quantity.h"
#include "live/job/job_fields.h"

namespace weft::live {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Unit {
  std::string_view name;
  double per_second;  // divided by, so that 5ms is the double nearest to 5e-3
  double seconds;
};
constexpr std::array<Unit, 8> kDurationUnits = {{{"d", 1, 86'400},
                                                 {"h", 1, 3600},
                                                 {"min", 1, 60},
                                                 {"m", 1, 60},
                                                 {"s", 1, 1},
                                                 {"ms", 1e3, 1},
                                                 {"us", 1e6, 1},
                                                 {"ns", 1e9, 1}}};

// Reads exactly `digits` digits at the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// "Z", "+01:00", "-0530": seconds east of Greenwich.
std::optional<int> parse_zone(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.empty()) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  take(text, ":");
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 14 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

// "3", "3-7", "3-7:2".
std::optional<ArrayRange> parse_range(std::string_view text) {
  ArrayRange range;
  std::string_view step = "1";
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    step = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (text.find('-') == std::string_view::npos) return std::nullopt;
  }
  const std::size_t dash = text.find('-');
  const std::string_view last = dash == std::string_view::npos ? text : text.substr(dash + 1);
  const auto read = [](std::string_view word, std::int64_t low, std::uint32_t& out) {
    if (word.empty() || !std::all_of(word.begin(), word.end(), is_digit)) return false;
    const auto value = parse_integer(word);
    if (!value || *value < low || *value > kMaxArrayIndex) return false;
    out = static_cast<std::uint32_t>(*value);
    return true;
  };
  if (!read(text.substr(0, dash), 0, range.first) || !read(last, 0, range.last) ||
      !read(step, 1, range.step) || range.last < range.first) {
    return std::nullopt;
  }
  return range;
}

constexpr std::array<std::pair<std::string_view, int>, 7> kSignals = {{{"SIGTERM", SIGTERM},
                                                                       {"SIGINT", SIGINT},
                                                                       {"SIGHUP", SIGHUP},
                                                                       {"SIGQUIT", SIGQUIT},
                                                                       {"SIGUSR1", SIGUSR1},
                                                                       {"SIGUSR2", SIGUSR2},
                                                                       {"SIGALRM", SIGALRM}}};

Error array_error(std::string what) {
  return Error{ErrorKind::kInvalidInput, std::move(what), "for example 0-99%8 or 1,3,5-9:2"};
}

}  // namespace

std::optional<Seconds> parse_duration(std::string_view text) {
  text = trimmed(text);
  if (const auto plain = parse_number(text)) {
    return *plain >= 0 ? std::optional(*plain) : std::nullopt;
  }
  Seconds sum = 0;
  std::size_t next_unit = 0;  // units descend, so that "30s1h" is a slip and not 1 h 30 s
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    const auto value = parse_number(text.substr(0, end));
    if (end == 0 || !value) return std::nullopt;
    text = trimmed(text.substr(end));
    end = 0;
    while (end < text.size() && is_letter(text[end])) ++end;
    const auto unit =
        std::find_if(kDurationUnits.begin() + static_cast<long>(next_unit), kDurationUnits.end(),
                     [&](const Unit& u) { return u.name == text.substr(0, end); });
    if (unit == kDurationUnits.end()) return std::nullopt;
    next_unit =
        static_cast<std::size_t>(unit - kDurationUnits.begin()) + (unit->name == "min" ? 2 : 1);
    sum += *value / unit->per_second * unit->seconds;
    text = trimmed(text.substr(end));
  }
  return next_unit == 0 || !std::isfinite(sum) ? std::nullopt : std::optional(sum);
}

std::optional<double> parse_instant(std::string_view text) {
  text = trimmed(text);
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, "Tt ")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute) return std::nullopt;
  const auto second = take(text, ":") ? take_digits(text, 2) : std::optional(0);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  const auto zone = parse_zone(trimmed(text));
  if (!second || !zone || !date.ok() || *year < 1970 || *hour > 23 || *minute > 59 || *second > 59)
    return std::nullopt;
  const double days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86'400 + *hour * 3600 + *minute * 60 + *second - *zone;
}

std::string instant_text(double unix_s) {
  const auto whole = static_cast<std::int64_t>(std::floor(unix_s));
  const std::chrono::sys_days day{std::chrono::days(whole / 86'400)};
  const std::chrono::year_month_day date(day);
  const std::int64_t rest = whole % 86'400;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, rest / 3600, rest / 60 % 60,
                     rest % 60);
}

std::optional<JobDeadline> parse_deadline(std::string_view text) {
  if (const auto duration = parse_duration(text)) {
    return JobDeadline{JobDeadline::Kind::kAfterSubmission, *duration};
  }
  if (const auto instant = parse_instant(text)) {
    return JobDeadline{JobDeadline::Kind::kAt, *instant};
  }
  return std::nullopt;
}

std::optional<AcceleratorChoice> parse_accelerator(std::string_view text) {
  text = trimmed(text);
  AcceleratorChoice choice;
  const std::size_t colon = text.rfind(':');
  const bool bare_count = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  std::string_view count = "1";
  if (bare_count) {
    count = text;
  } else {
    if (colon != std::string_view::npos) count = trimmed(text.substr(colon + 1));
    choice.type = std::string(trimmed(text.substr(0, colon)));
    if (choice.type.empty() || choice.type.size() > kMaxNameBytes) return std::nullopt;
    if (choice.type == "any") choice.type.clear();
  }
  if (count.empty() || !std::all_of(count.begin(), count.end(), is_digit)) return std::nullopt;
  const auto value = parse_integer(count);
  if (!value || *value < 1 || *value > Cluster::kMaxDevicesPerNode) return std::nullopt;
  choice.count = static_cast<std::uint32_t>(*value);
  return choice;
}

std::string accelerator_text(const AcceleratorChoice& choice) {
  return fmt::format("{}:{}", choice.type.empty() ? "any" : choice.type, choice.count);
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t to = text.find(separator);
    parts.push_back(text.substr(0, to));
    if (to == std::string_view::npos) return parts;
    text.remove_prefix(to + 1);
  }
}

AtLeast split_at_least(std::string_view text) {
  text = trimmed(text);
  const bool more = text.ends_with('+');
  if (more) text.remove_suffix(1);
  return {trimmed(text), more};
}

std::optional<double> parse_memory(std::string_view text) {
  const auto number = parse_number(text);
  const auto bytes = number ? std::optional(*number * 0x1p30) : parse_bytes(text);
  if (!bytes || *bytes < 1 || *bytes > kMaxMemory) return std::nullopt;
  return std::floor(*bytes);
}

Result<JobArray> parse_array(std::string_view text) {
  text = trimmed(text);
  JobArray array;
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    const auto at_once = parse_integer(text.substr(percent + 1));
    if (!at_once || *at_once < 1 || *at_once > kMaxArrayMembers) {
      return array_error(fmt::format("after % stands {}; it must be from 1 to {}",
                                     shown(text.substr(percent + 1)), kMaxArrayMembers));
    }
    array.at_once = static_cast<std::uint32_t>(*at_once);
    text = text.substr(0, percent);
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = trimmed(text.substr(begin, end - begin));
    const auto range = parse_range(part);
    if (!range) {
      return array_error(fmt::format("{} is no index, range or range:step from 0 to {}",
                                     shown(part), kMaxArrayIndex));
    }
    array.ranges.push_back(*range);
    if (member_count(array) > kMaxArrayMembers) {
      return array_error(fmt::format("it has more than {} members", kMaxArrayMembers));
    }
    begin = end + 1;
  }
  return array;
}

std::string array_text(const JobArray& array) {
  std::string text;
  for (const ArrayRange& range : array.ranges) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last != range.first || range.step != 1) text += fmt::format("-{}", range.last);
    if (range.step != 1) text += fmt::format(":{}", range.step);
  }
  if (array.at_once > 0) text += fmt::format("%{}", array.at_once);
  return text;
}

std::int64_t member_count(const JobArray& array) {
  std::int64_t count = 0;
  for (const ArrayRange& range : array.ranges) count += (range.last - range.first) / range.step + 1;
  return count;
}

bool is_array_member(const JobSpec& job) {
  return member_count(job.array) == 1 &&
         job.name.ends_with(fmt::format(".{}", job.array.ranges.front().first));
}

std::string signal_name(std::string_view text) {
  std::string name(trimmed(text));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (!name.starts_with("SIG")) name = "SIG" + name;
  const bool known = std::any_of(kSignals.begin(), kSignals.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  return known ? name : "";
}

int signal_number(std::string_view name) {
  const auto found = std::find_if(kSignals.begin(), kSignals.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  CHECK(found != kSignals.end());
  return found->second;
}

std::string signal_wanted() {
  std::string text = "one of";
  for (const auto& [name, number] : kSignals) text += fmt::format(" {}", name.substr(3));
  return text;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) {
      return false;
    }
  }
  return true;
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '-' &&
         text.front() != '.' && std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

}  // namespace weft::live

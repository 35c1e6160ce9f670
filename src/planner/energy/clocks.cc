#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/delimited.h"
#include "planner/energy/energy.h"

namespace weft::planner {
namespace {

constexpr std::array<const char*, 5> kColumns = {"do", "chunk", "clock", "seconds", "joules"};

std::optional<pipeline::Kind> kind_named(std::string_view word) {
  for (int i = 0; i < pipeline::kKinds; ++i) {
    const auto kind = static_cast<pipeline::Kind>(i);
    if (word == name_of(kind) && computes(kind)) return kind;
  }
  return {};
}

// The mistake of one record, or empty.
std::string read_record(std::span<const std::string_view> fields, ClockTable& table) {
  if (fields.size() != kColumns.size()) {
    return fmt::format("has {} fields; {} are needed", fields.size(), kColumns.size());
  }
  const auto kind = kind_named(trimmed(fields[0]));
  if (!kind) return fmt::format("{} is no operation that computes", shown(fields[0]));
  std::int64_t chunk = kAnyChunk;
  if (!trimmed(fields[1]).empty()) {
    const auto read = parse_integer(fields[1]);
    if (!read || *read < 0 || *read >= pipeline::kMaxChunks) {
      return fmt::format("{} is no chunk", shown(fields[1]));
    }
    chunk = *read;
  }
  std::array<double, 3> numbers = {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto read = parse_number(fields[i + 2]);
    if (!read || *read < 0 || *read > 1e12) {
      return fmt::format("{} is {}; it must be a number from 0 to 1e12", kColumns[i + 2],
                         shown(fields[i + 2]));
    }
    numbers[i] = *read;
  }
  table[{*kind, static_cast<int>(chunk)}].push_back({numbers[0], numbers[1], numbers[2]});
  return "";
}

}  // namespace

ClockTable model_clocks(const pipeline::Schedule& schedule, const ClockModel& model) {
  ClockTable table;
  for (const auto& program : schedule.programs) {
    for (const pipeline::Op& op : program) {
      if (!computes(op.kind) || op.seconds == 0) continue;
      auto& choices = table[{op.kind, op.work.chunk}];
      if (!choices.empty()) continue;
      for (const double clock : model.clocks) {
        const double seconds = op.seconds * (1 - model.bound + model.bound / clock);
        const double watts =
            model.idle_watts + (model.watts - model.idle_watts) * clock * clock * clock;
        choices.push_back({clock, seconds, watts * seconds});
      }
    }
  }
  return table;
}

Result<ClockTable> parse_clocks(const std::string& text, const std::string& name) {
  const auto wrong = [&](long line, const std::string& what) {
    return Error{ErrorKind::kInvalidInput, fmt::format("{}:{}: {}", name, line, what),
                 fmt::format("columns: {}", fmt::join(kColumns, ","))};
  };
  DelimitedScanner scanner(text);
  if (!scanner.next()) return wrong(1, "the file is empty");
  const std::vector<std::string_view> header(scanner.fields().begin(), scanner.fields().end());
  if (!std::equal(header.begin(), header.end(), kColumns.begin(), kColumns.end())) {
    return wrong(scanner.line(), "the first line must name the columns");
  }
  ClockTable table;
  while (scanner.next()) {
    std::string mistake(scanner.problem());
    if (mistake.empty()) mistake = read_record(scanner.fields(), table);
    if (!mistake.empty()) return wrong(scanner.line(), mistake);
  }
  if (table.empty()) return wrong(1, "no choice is given");
  return table;
}

}  // namespace weft::planner

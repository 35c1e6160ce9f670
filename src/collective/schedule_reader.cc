#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "collective/schedule_json.h"

namespace weft::collective {
namespace {

using Json = nlohmann::json;

// A place in the document, spelled out only when something is wrong there.
struct JsonPlace {
  const JsonPlace* above = nullptr;
  const char* key = nullptr;  // or
  std::size_t index = 0;

  std::string text() const {
    if (above == nullptr) return "";
    const std::string before = above->text();
    if (key == nullptr) return fmt::format("{}[{}]", before, index);
    return before.empty() ? key : fmt::format("{}.{}", before, key);
  }
};

class Reader {
 public:
  Complaints& complaints() { return complaints_; }

  void complain(const JsonPlace& place, const std::string& what) {
    const std::string where = place.text();
    complaints_.add(where.empty() ? what : fmt::format("{} {}", where, what));
  }

  // Whether `value` is an object with no other members than these.
  bool object(const Json& value, const JsonPlace& place, const std::vector<std::string>& known) {
    if (!value.is_object()) {
      complain(place, fmt::format("is {}; an object is needed", value.type_name()));
      return false;
    }
    for (const auto& item : value.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      const std::string near = near_miss(item.key(), known);
      complain(place, fmt::format("has the unknown member '{}'{}", item.key().substr(0, 40),
                                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    return true;
  }

  const Json* array(const Json& value, const char* key, const JsonPlace& place) {
    const auto found = value.find(key);
    if (found != value.end() && found->is_array()) return &*found;
    complain({&place, key}, found == value.end() ? "is missing" : "must be a list");
    return nullptr;
  }

  // A whole number; `usual` when it is absent, an error if there is no usual value.
  std::int64_t number(const Json& value, const char* key, const JsonPlace& place, std::int64_t low,
                      std::int64_t high, std::optional<std::int64_t> usual = {}) {
    const auto found = value.find(key);
    if (found == value.end()) {
      if (!usual) complain({&place, key}, "is missing");
      return usual.value_or(low);
    }
    return check_number(*found, {&place, key}, low, high);
  }

  std::int64_t check_number(const Json& value, const JsonPlace& place, std::int64_t low,
                            std::int64_t high) {
    const bool huge = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
    if (value.is_number_integer() && !huge) {
      const auto number = value.get<std::int64_t>();
      if (number >= low && number <= high) return number;
      complain(place, fmt::format("is {}; it must lie in {} .. {}", number, low, high));
    } else {
      complain(place, fmt::format("must be a whole number in {} .. {}", low, high));
    }
    return low;
  }

  bool flag(const Json& value, const char* key, const JsonPlace& place, bool usual) {
    const auto found = value.find(key);
    if (found == value.end()) return usual;
    if (found->is_boolean()) return found->get<bool>();
    complain({&place, key}, "must be true or false");
    return usual;
  }

  double part(const Json& value, const char* key, const JsonPlace& place) {
    const auto found = value.find(key);
    if (found == value.end()) return 1;
    if (found->is_number()) return found->get<double>();
    complain({&place, key}, "must be a number");
    return 1;
  }

  // The one of `count` values that has this name.
  template <typename Name>
  Name named(const Json& word, const JsonPlace& place, int count) {
    std::vector<std::string> known;
    for (int i = 0; i < count; ++i) known.emplace_back(name_of(static_cast<Name>(i)));
    if (word.is_string()) {
      for (int i = 0; i < count; ++i) {
        if (word.get_ref<const std::string&>() == known[static_cast<std::size_t>(i)]) {
          return static_cast<Name>(i);
        }
      }
    }
    complain(place, fmt::format("must be one of: {}", fmt::join(known, ", ")));
    return Name{};
  }

  template <typename Name>
  Name named(const Json& value, const char* key, const JsonPlace& place, int count) {
    const auto found = value.find(key);
    return named<Name>(found == value.end() ? Json() : *found, JsonPlace{&place, key}, count);
  }

 private:
  Complaints complaints_;
};

constexpr std::int64_t kLowest = std::numeric_limits<int>::min();
constexpr std::int64_t kHighest = std::numeric_limits<int>::max();

int small_number(Reader& reader, const Json& value, const char* key, const JsonPlace& place,
                 std::optional<std::int64_t> usual = {}) {
  return static_cast<int>(reader.number(value, key, place, kLowest, kHighest, usual));
}

Weights read_weights(Reader& reader, const Json& value, const JsonPlace& place) {
  Weights weights;
  if (!reader.object(value, place, {"count", "each", "weights"})) return weights;
  if (!value.contains("weights")) {
    weights.count = reader.number(value, "count", place, 0, kMaxCells);
    weights.each = static_cast<std::uint64_t>(
        reader.number(value, "each", place, 0, static_cast<std::int64_t>(kMaxWeight), 1));
    return weights;
  }
  if (value.size() > 1) reader.complain(place, "has both weights and count or each");
  const Json* list = reader.array(value, "weights", place);
  if (list == nullptr) return weights;
  if (list->empty()) reader.complain({&place, "weights"}, "is empty; say count 0 instead");
  const JsonPlace here{&place, "weights"};
  for (std::size_t i = 0; i < list->size(); ++i) {
    weights.list.push_back(static_cast<std::uint64_t>(reader.check_number(
        (*list)[i], {&here, nullptr, i}, 0, static_cast<std::int64_t>(kMaxWeight))));
  }
  weights.count = static_cast<std::int64_t>(weights.list.size());
  return weights;
}

Cells read_cells(Reader& reader, const Json& op, const char* key, const JsonPlace& above) {
  Cells cells;
  const JsonPlace place{&above, key};
  const auto found = op.find(key);
  if (found == op.end()) {
    reader.complain(place, "is missing");
    return cells;
  }
  if (!reader.object(*found, place,
                     {"buffer", "count", "base", "first", "advance", "modulus", "block", "step"})) {
    return cells;
  }
  cells.buffer = reader.named<Buffer>(*found, "buffer", place, 3);
  cells.count = small_number(reader, *found, "count", place);
  cells.base = small_number(reader, *found, "base", place, 0);
  cells.first = small_number(reader, *found, "first", place, 0);
  cells.advance = small_number(reader, *found, "advance", place, 0);
  cells.modulus = small_number(reader, *found, "modulus", place, 1);
  cells.block = small_number(reader, *found, "block", place, 1);
  cells.step = small_number(reader, *found, "step", place, 1);
  return cells;
}

Walk read_peer(Reader& reader, const Json& op, const JsonPlace& above) {
  Walk walk;
  const JsonPlace place{&above, "peer"};
  const auto found = op.find("peer");
  if (found == op.end() || !found->is_object()) {
    walk.base = small_number(reader, op, "peer", above);
    return walk;
  }
  if (!reader.object(*found, place, {"base", "stride", "first", "advance", "modulus"})) return walk;
  walk.base = small_number(reader, *found, "base", place);
  walk.stride = small_number(reader, *found, "stride", place, 1);
  walk.first = small_number(reader, *found, "first", place, 0);
  walk.advance = small_number(reader, *found, "advance", place, 0);
  walk.modulus = small_number(reader, *found, "modulus", place, 1);
  return walk;
}

Op read_op(Reader& reader, const Json& value, const JsonPlace& place) {
  Op op;
  std::vector<std::string> known = {"do"};
  if (!value.is_object()) {
    reader.object(value, place, known);
    return op;
  }
  op.kind = reader.named<Kind>(value, "do", place, 5);
  const bool local = op.kind == Kind::kCopy || op.kind == Kind::kReduce;
  if (!local) known.emplace_back("peer");
  if (op.kind != Kind::kReceive) known.emplace_back("source");
  if (op.kind == Kind::kSend) known.emplace_back("streamed");
  if (op.kind != Kind::kSend) known.emplace_back("target");
  reader.object(value, place, known);
  if (!local) op.peer = read_peer(reader, value, place);
  if (op.kind != Kind::kReceive) op.source = read_cells(reader, value, "source", place);
  if (op.kind != Kind::kSend) op.target = read_cells(reader, value, "target", place);
  if (op.kind == Kind::kSend) op.streamed = reader.flag(value, "streamed", place, false);
  return op;
}

Round read_round(Reader& reader, const Json& value, const JsonPlace& place) {
  Round round;
  if (!reader.object(value, place, {"repeat", "density", "ops"})) return round;
  round.repeat = reader.number(value, "repeat", place, 0, kMaxRepeat, 1);
  round.density = reader.part(value, "density", place);
  const Json* ops = reader.array(value, "ops", place);
  const JsonPlace here{&place, "ops"};
  for (std::size_t o = 0; ops != nullptr && o < ops->size(); ++o) {
    round.ops.push_back(read_op(reader, (*ops)[o], {&here, nullptr, o}));
  }
  return round;
}

Program read_program(Reader& reader, const Json& value, const JsonPlace& place) {
  Program program;
  if (!reader.object(value, place, {"scratch", "streams"})) return program;
  if (const auto found = value.find("scratch"); found != value.end()) {
    program.scratch = read_weights(reader, *found, {&place, "scratch"});
  }
  const Json* streams = reader.array(value, "streams", place);
  const JsonPlace here{&place, "streams"};
  for (std::size_t s = 0; streams != nullptr && s < streams->size(); ++s) {
    const JsonPlace stream{&here, nullptr, s};
    auto& rounds = program.streams.emplace_back();
    if (!(*streams)[s].is_array()) {
      reader.complain(stream, "must be a list of rounds");
      continue;
    }
    for (std::size_t k = 0; k < (*streams)[s].size(); ++k) {
      rounds.push_back(read_round(reader, (*streams)[s][k], {&stream, nullptr, k}));
    }
  }
  return program;
}

Schedule read_schedule(Reader& reader, const Json& value) {
  Schedule s;
  const JsonPlace top;
  if (!reader.object(value, top,
                     {"format", "version", "operation", "algorithm", "ranks", "root", "helpers",
                      "chunks", "whole", "credits", "lockstep", "in_place", "programs"})) {
    return s;
  }
  if (value.value("format", Json()) != "weft-collective") {
    reader.complain({&top, "format"}, "must be \"weft-collective\"");
  }
  reader.number(value, "version", top, 1, 1);
  s.operation = reader.named<Operation>(value, "operation", top, kOperations);
  const Json name = value.value("algorithm", Json("imported"));
  if (!name.is_string()) reader.complain({&top, "algorithm"}, "must be text");
  if (name.is_string()) s.algorithm = name.get<std::string>();
  s.ranks = static_cast<int>(reader.number(value, "ranks", top, 1, kMaxEndpoints));
  s.root = static_cast<int>(reader.number(value, "root", top, 0, kMaxEndpoints, 0));
  const JsonPlace helpers{&top, "helpers"};
  const Json* kinds = value.contains("helpers") ? reader.array(value, "helpers", top) : nullptr;
  for (std::size_t h = 0; kinds != nullptr && h < kinds->size(); ++h) {
    s.helpers.push_back(reader.named<HelperKind>((*kinds)[h], JsonPlace{&helpers, nullptr, h}, 2));
  }
  s.chunks = read_weights(reader, value.value("chunks", Json()), {&top, "chunks"});
  s.whole = static_cast<std::uint64_t>(
      reader.number(value, "whole", top, 1, std::numeric_limits<std::int64_t>::max()));
  s.credits = static_cast<int>(reader.number(value, "credits", top, 0, kHighest, 0));
  s.lockstep = reader.flag(value, "lockstep", top, false);
  s.in_place = reader.flag(value, "in_place", top, false);
  const Json* programs = reader.array(value, "programs", top);
  const JsonPlace here{&top, "programs"};
  for (std::size_t e = 0; programs != nullptr && e < programs->size(); ++e) {
    s.programs.push_back(read_program(reader, (*programs)[e], {&here, nullptr, e}));
  }
  return s;
}

}  // namespace

VerifyOptions import_options() {
  return {.exact = true, .max_work = std::int64_t{1} << 30, .max_cells = std::int64_t{1} << 27};
}

Result<Schedule> parse_schedule(std::string_view text, const VerifyOptions& options) {
  if (text.size() > kMaxScheduleText) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the schedule has {} bytes; at most {} are read", text.size(),
                             kMaxScheduleText),
                 ""};
  }
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) {
    return Error{ErrorKind::kInvalidInput, "the schedule is not JSON",
                 "docs/collectives.md shows the form"};
  }
  Reader reader;
  Schedule schedule = read_schedule(reader, document);
  if (!reader.complaints().empty()) {
    return reader.complaints().error("docs/collectives.md shows the form");
  }
  if (const Status status = verify(schedule, options); !status.ok()) return status.error();
  return schedule;
}

}  // namespace weft::collective

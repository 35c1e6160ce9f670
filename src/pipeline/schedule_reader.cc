#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pipeline/faults.h"
#include "pipeline/schedule_json.h"
#include "pipeline/verify.h"

namespace weft::pipeline {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostVersions = std::int64_t{1} << 30;

// One object of the document: its members are asked for one by one, and those never asked for are
// unknown. Mistakes are gathered.
class Object {
 public:
  Object(const Json& value, std::string place, Complaints& complaints)
      : value_(value), place_(std::move(place)), complaints_(complaints) {
    if (!value.is_object()) complain("", "must be an object");
  }

  // Requires: called once, at the end.
  void close() {
    if (!value_.is_object()) return;
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    for (const auto& item : value_.items()) {
      if (asked_.contains(item.key())) continue;
      const std::string near = near_miss(item.key(), known);
      complain("", fmt::format("has the unknown member '{}'{}", item.key().substr(0, 40),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
  }

  const Json* find(const char* key, bool needed) {
    asked_.insert(key);
    if (!value_.is_object()) return nullptr;
    const auto found = value_.find(key);
    if (found != value_.end()) return &*found;
    if (needed) complain(key, "is missing");
    return nullptr;
  }

  const Json* list(const char* key, bool needed) {
    const Json* found = find(key, needed);
    if (found == nullptr || found->is_array()) return found;
    complain(key, "must be a list");
    return nullptr;
  }

  int number(const char* key, std::int64_t low, std::int64_t high, int usual, bool needed = false) {
    const Json* found = find(key, needed);
    return found == nullptr ? usual : whole(*found, key, low, high);
  }

  double real(const char* key, double usual) {
    const Json* found = find(key, false);
    if (found == nullptr) return usual;
    if (found->is_number()) return found->get<double>();
    complain(key, "must be a number");
    return usual;
  }

  std::string text(const char* key, bool needed) {
    const Json* found = find(key, needed);
    if (found == nullptr) return "";
    if (found->is_string()) return found->get<std::string>();
    complain(key, "must be text");
    return "";
  }

  template <typename Name>
  Name named(const char* key, int count, bool needed) {
    const std::string word = text(key, needed);
    std::vector<std::string> known;
    for (int i = 0; i < count; ++i) {
      known.emplace_back(name_of(static_cast<Name>(i)));
      if (word == known.back()) return static_cast<Name>(i);
    }
    if (!word.empty()) complain(key, fmt::format("must be one of: {}", fmt::join(known, ", ")));
    return Name{};
  }

  std::vector<double> reals(const char* key, bool needed) {
    std::vector<double> out;
    const Json* found = list(key, needed);
    for (std::size_t i = 0; found != nullptr && i < found->size(); ++i) {
      const bool sound = (*found)[i].is_number();
      if (!sound) complain(key, "must hold numbers only");
      out.push_back(sound ? (*found)[i].get<double>() : 0);
    }
    return out;
  }

  std::vector<int> wholes(const Json& values, const char* key, std::int64_t high) {
    std::vector<int> out;
    for (const Json& value : values) out.push_back(whole(value, key, 0, high));
    return out;
  }

  void complain(const char* key, const std::string& what) {
    const char* dot = place_.empty() || *key == '\0' ? "" : ".";
    const std::string where = place_ + dot + key;
    complaints_.add(where.empty() ? "the schedule " + what : where + " " + what);
  }

 private:
  int whole(const Json& value, const char* key, std::int64_t low, std::int64_t high) {
    const bool huge =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high);
    if (value.is_number_integer() && !huge && value.get<std::int64_t>() >= low &&
        value.get<std::int64_t>() <= high) {
      return value.get<int>();
    }
    complain(key, fmt::format("must be a whole number in {} .. {}", low, high));
    return static_cast<int>(low);
  }

  const Json& value_;
  std::string place_;
  Complaints& complaints_;
  std::set<std::string> asked_;
};

Work scheduled_work(Object& object, bool needed) {
  return {object.number("micro_batch", 0, kMaxMicroBatches, 0, needed),
          object.number("chunk", 0, kMaxChunks, 0, needed),
          object.number("slice", 0, kMaxSlices, 0)};
}

Op read_op(const Json& value, const std::string& place, Complaints& complaints) {
  Object object(value, place, complaints);
  Op op;
  op.kind = object.named<Kind>("do", kKinds, true);
  op.work = scheduled_work(object, op.kind != Kind::kOptimizer);
  if (op.kind == Kind::kForwardBackward) {
    if (const Json* other = object.find("other", true); other != nullptr) {
      Object inner(*other, place + ".other", complaints);
      op.other = scheduled_work(inner, true);
      inner.close();
    }
  }
  op.flow = object.named<Flow>("flow", 2, false);
  op.peer = object.number("peer", kHost, kMaxDevices, kHost);
  op.version = object.number("version", 0, kMostVersions, 0);
  op.codec = object.number("codec", 0, kMaxDevices, 0);
  op.seconds = object.real("seconds", 0);
  op.joules = object.real("joules", 0);
  object.close();
  return op;
}

void read_lists(Object& top, Schedule& s) {
  if (const Json* list = top.list("route_of", false); list != nullptr) {
    s.route_of = top.wholes(*list, "route_of", kMaxDevices);
  }
  s.limits = top.reals("limits", false);
  s.activation = top.reals("activation", true);
  s.transfer_seconds = top.reals("transfer_seconds", false);
  const Json* codecs = top.list("codecs", false);
  for (std::size_t i = 0; codecs != nullptr && i < codecs->size(); ++i) {
    if (!(*codecs)[i].is_string()) top.complain("codecs", "must hold names only");
    s.codecs.push_back((*codecs)[i].is_string() ? (*codecs)[i].get<std::string>() : "");
  }
  const Json* routes = top.list("routes", true);
  for (std::size_t r = 0; routes != nullptr && r < routes->size(); ++r) {
    if (!(*routes)[r].is_array()) top.complain("routes", "must hold lists of devices");
    s.routes.push_back(top.wholes((*routes)[r], "routes", kMaxDevices));
  }
}

Schedule read_schedule(const Json& document, Complaints& complaints) {
  Object top(document, "", complaints);
  Schedule s;
  if (top.text("format", true) != "weft-pipeline") {
    top.complain("format", "must be \"weft-pipeline\"");
  }
  top.number("version", 1, 1, 1, true);
  s.name = top.text("name", false);
  s.devices = top.number("devices", 1, kMaxDevices, 1, true);
  s.chunks = top.number("chunks", 1, kMaxChunks, 1, true);
  s.micro_batches = top.number("micro_batches", 1, kMaxMicroBatches, 1, true);
  s.slices = top.number("slices", 1, kMaxSlices, 1);
  s.staleness = top.number("staleness", 0, kMaxMicroBatches, 0);
  s.weight_versions = top.number("weight_versions", 1, kMaxMicroBatches, 1);
  if (const Json* listed = top.find("listed_transfers", false); listed != nullptr) {
    if (!listed->is_boolean()) top.complain("listed_transfers", "must be true or false");
    s.listed_transfers = listed->is_boolean() && listed->get<bool>();
  }
  s.checkpoint_part = top.real("checkpoint_part", 0);
  s.weight_part = top.real("weight_part", 1);
  s.idle_watts = top.real("idle_watts", 0);
  read_lists(top, s);
  const Json* programs = top.list("programs", true);
  for (std::size_t d = 0; programs != nullptr && d < programs->size(); ++d) {
    auto& program = s.programs.emplace_back();
    if (!(*programs)[d].is_array()) {
      top.complain("programs", "must hold lists of operations");
      continue;
    }
    for (std::size_t i = 0; i < (*programs)[d].size(); ++i) {
      program.push_back(
          read_op((*programs)[d][i], fmt::format("programs[{}][{}]", d, i), complaints));
    }
  }
  top.close();
  return s;
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  if (text.size() > kMaxScheduleText) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the schedule has {} bytes; at most {} are read", text.size(),
                             kMaxScheduleText),
                 ""};
  }
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) {
    return Error{ErrorKind::kInvalidInput, "the schedule is not JSON", kFormHint};
  }
  Complaints complaints;
  Schedule schedule = read_schedule(document, complaints);
  if (!complaints.empty()) return complaints.error(kFormHint);
  if (const Status status = verify(schedule); !status.ok()) return status.error();
  return schedule;
}

}  // namespace weft::pipeline

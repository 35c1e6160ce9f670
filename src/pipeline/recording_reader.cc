#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "pipeline/faults.h"
#include "pipeline/recording.h"
#include "pipeline/verify.h"

namespace weft::pipeline {
namespace {

using Json = nlohmann::json;

constexpr int kMostSteps = 1 << 20;
// About 30,000 years: beyond this, sums of times lose their meaning.
constexpr double kMostMicroseconds = 1e18;

Error wrong(std::string what) { return {ErrorKind::kInvalidInput, std::move(what), kFormHint}; }

struct Event {
  Op op;
  int step = 0, device = 0;
  int place = -1;             // in the device's list, if the trace says so
  double begin = 0, end = 0;  // microseconds
};

// One event's members; the first mistake is kept.
class Members {
 public:
  explicit Members(const Json& value) : value_(value) {}

  int whole(const char* key, int high, std::optional<int> usual, int low = 0) {
    const Json* found = find(key, !usual);
    if (found == nullptr) return usual.value_or(low);
    if (found->is_number_integer() &&
        !(found->is_number_unsigned() &&
          found->get<std::uint64_t>() > static_cast<std::uint64_t>(high)) &&
        found->get<std::int64_t>() >= low && found->get<std::int64_t>() <= high) {
      return found->get<int>();
    }
    mistake_ = fmt::format("its {} must be a whole number in {} .. {}", key, low, high);
    return low;
  }

  double real(const char* key, std::optional<double> usual, double low) {
    const Json* found = find(key, !usual);
    if (found == nullptr) return usual.value_or(low);
    const double value = found->is_number() ? found->get<double>() : -kMostMicroseconds * 2;
    if (value >= low && value <= kMostMicroseconds) return value;
    mistake_ = fmt::format("its {} must be a number in {:g} .. {:g}", key, low, kMostMicroseconds);
    return low;
  }

  const Json* find(const char* key, bool needed) {
    if (value_.is_object()) {
      const auto found = value_.find(key);
      if (found != value_.end()) return &*found;
    }
    if (needed) mistake_ = fmt::format("it has no {}", key);
    return nullptr;
  }

  const std::string& mistake() const { return mistake_; }

 private:
  const Json& value_;
  std::string mistake_;
};

Work recorded_work(Members& members) {
  return {members.whole("micro_batch", kMaxMicroBatches - 1, {}),
          members.whole("chunk", kMaxChunks - 1, {}), members.whole("slice", kMaxSlices - 1, 0)};
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Kind> kind_of(const Json& event) {
  const std::string word = text_of(event, "cat");
  for (int i = 0; i < kKinds; ++i) {
    if (word == name_of(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  return {};
}

Result<Event> read_event(const Json& value, Kind kind) {
  static const Json kNothing = Json::object();
  Members event(value);
  Event out;
  out.op.kind = kind;
  out.device = event.whole("tid", 2 * kMaxDevices - 1, {}) / 2;
  out.begin = event.real("ts", {}, -kMostMicroseconds);
  out.end = out.begin + event.real("dur", {}, 0);
  const Json* found = event.find("args", kind != Kind::kOptimizer);
  Members arguments(found == nullptr ? kNothing : *found);
  out.step = arguments.whole("step", kMostSteps, 0);
  out.place = arguments.whole("place", std::numeric_limits<int>::max(), -1, -1);
  if (kind != Kind::kOptimizer) out.op.work = recorded_work(arguments);
  if (kind == Kind::kForwardBackward) {
    const Json* other = arguments.find("other", true);
    Members inner(other == nullptr ? kNothing : *other);
    out.op.other = recorded_work(inner);
    if (!inner.mistake().empty()) return wrong("of the backward pass: " + inner.mistake());
  }
  if (!computes(kind)) out.op.peer = arguments.whole("peer", kMaxDevices - 1, kHost, kHost);
  if (kind == Kind::kSend || kind == Kind::kReceive) {
    const bool back = found != nullptr && text_of(*found, "flow") == name_of(Flow::kBackward);
    out.op.flow = back ? Flow::kBackward : Flow::kForward;
  }
  out.op.version = arguments.whole("version", 1 << 30, 0);
  out.op.joules = arguments.real("joules", 0, 0);
  out.op.seconds = (out.end - out.begin) / 1e6;
  for (const Members* members : {&event, &arguments}) {
    if (!members->mistake().empty()) return wrong(members->mistake());
  }
  return out;
}

// Puts the events of one step together.
class Step {
 public:
  explicit Step(std::vector<Event> events) : events_(std::move(events)) {}

  Result<RecordedStep> build() {
    Schedule& s = out_.schedule;
    count();
    const double works = 1.0 * s.micro_batches * s.chunks * s.slices;
    if (works > static_cast<double>(events_.size())) {
      return wrong(
          fmt::format("{} operations cannot be those of {} micro-batches, {} chunks and {} "
                      "slices",
                      events_.size(), s.micro_batches, s.chunks, s.slices));
    }
    if (const Status status = find_routes(); !status.ok()) return status.error();
    fill();
    if (const Status status = time_transfers(); !status.ok()) return status.error();
    if (const Status status = verify(s); !status.ok()) return status.error();
    return std::move(out_);
  }

 private:
  void count() {
    Schedule& s = out_.schedule;
    const auto see = [&](const Work& work) {
      s.micro_batches = std::max(s.micro_batches, work.micro_batch + 1);
      s.chunks = std::max(s.chunks, work.chunk + 1);
      s.slices = std::max(s.slices, work.slice + 1);
    };
    for (const Event& event : events_) {
      s.devices = std::max(s.devices, event.device + 1);
      see(event.op.work);
      see(event.op.other);
      s.listed_transfers = s.listed_transfers || event.op.kind == Kind::kSend;
    }
    // A recording declares nothing; versions must still be made before they are used.
    s.staleness = s.weight_versions = kMaxMicroBatches;
    s.activation.assign(static_cast<std::size_t>(s.chunks), 1.0 * s.devices / s.chunks / s.slices);
  }

  Status find_routes() {
    Schedule& s = out_.schedule;
    const auto chunks = static_cast<std::size_t>(s.chunks);
    std::vector<std::vector<int>> route(static_cast<std::size_t>(s.micro_batches),
                                        std::vector<int>(chunks, -1));
    for (const Event& event : events_) {
      if (!runs_forward(event.op.kind)) continue;
      const Work& work = event.op.work;
      route[static_cast<std::size_t>(work.micro_batch)][static_cast<std::size_t>(work.chunk)] =
          event.device;
    }
    std::map<std::vector<int>, int> known;
    for (std::size_t m = 0; m < route.size(); ++m) {
      const auto missing = std::find(route[m].begin(), route[m].end(), -1);
      if (missing != route[m].end()) {
        return wrong(fmt::format("micro-batch {}, chunk {} has no forward pass", m,
                                 missing - route[m].begin()));
      }
      const auto [place, fresh] = known.try_emplace(route[m], static_cast<int>(known.size()));
      if (fresh) s.routes.push_back(route[m]);
      s.route_of.push_back(place->second);
    }
    return {};
  }

  void fill() {
    Schedule& s = out_.schedule;
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.place, a.begin) < std::tuple(b.place, b.begin);
    });
    double from = std::numeric_limits<double>::infinity(), until = -from;
    for (const Event& event : events_) {
      from = std::min(from, event.begin);
      until = std::max(until, event.end);
    }
    s.programs.resize(static_cast<std::size_t>(s.devices));
    out_.spans.resize(s.programs.size());
    std::vector<int> updates(s.programs.size());
    for (const Event& event : events_) {
      const auto d = static_cast<std::size_t>(event.device);
      s.programs[d].push_back(event.op);
      if (event.op.kind == Kind::kOptimizer) s.programs[d].back().version = ++updates[d];
      out_.spans[d].push_back({(event.begin - from) / 1e6, (event.end - from) / 1e6});
    }
    out_.seconds = (until - from) / 1e6;
  }

  Status time_transfers() {
    Schedule& s = out_.schedule;
    if (s.listed_transfers || s.chunks < 2) return {};
    const Result<Index> index = index_schedule(s);
    if (!index.ok()) return index.error();
    const auto span = [&](std::int32_t o) {
      const auto d = static_cast<std::size_t>(index->device[static_cast<std::size_t>(o)]);
      return out_.spans[d][static_cast<std::size_t>(o - index->first[d])];
    };
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> least(static_cast<std::size_t>(s.chunks) - 1, kNever);
    for (Work work; work.micro_batch < s.micro_batches; ++work.micro_batch) {
      for (work.chunk = 0; work.chunk + 1 < s.chunks; ++work.chunk) {
        for (work.slice = 0; work.slice < s.slices; ++work.slice) {
          const Work next{work.micro_batch, work.chunk + 1, work.slice};
          if (s.device(work) == s.device(next)) continue;
          const std::size_t a = s.number(work), b = s.number(next);
          double& lag = least[static_cast<std::size_t>(work.chunk)];
          lag = std::min({lag, span(index->forward[b]).begin - span(index->forward[a]).end,
                          span(index->backward[a]).begin - span(index->backward[b]).end});
        }
      }
    }
    for (double& lag : least) lag = lag == kNever ? 0 : std::max(lag, 0.0);
    if (std::any_of(least.begin(), least.end(), [](double lag) { return lag > 0; })) {
      s.transfer_seconds = std::move(least);
    }
    return {};
  }

  std::vector<Event> events_;
  RecordedStep out_;
};

struct Events {
  std::string name;
  std::map<int, std::vector<Event>> by_step;
};

Result<Events> read_events(const Json& list) {
  Events out;
  std::set<Json> processes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& value = list[i];
    if (!value.is_object()) return wrong(fmt::format("event {} must be an object", i));
    const std::string phase = text_of(value, "ph");
    if (phase == "M" && text_of(value, "name") == "process_name" && value.contains("args") &&
        value["args"].is_object()) {
      out.name = text_of(value["args"], "name");
    }
    const std::optional<Kind> kind = kind_of(value);
    if (phase != "X" || !kind) continue;
    Result<Event> event = read_event(value, *kind);
    if (!event.ok()) {
      return wrong(fmt::format("event {} ({}): {}", i, name_of(*kind), event.error().what));
    }
    processes.insert(value.contains("pid") ? value["pid"] : Json());
    out.by_step[event->step].push_back(std::move(*event));
  }
  if (processes.size() > 1) {
    return wrong(fmt::format("the trace holds the operations of {} processes; one is read",
                             processes.size()));
  }
  if (out.by_step.empty()) return wrong("the trace holds no pipeline operation");
  return out;
}

}  // namespace

Result<Recording> parse_recording(std::string_view text) {
  if (text.size() > kMaxRecordingText) {
    return wrong(
        fmt::format("the trace has {} bytes; at most {} are read", text.size(), kMaxRecordingText));
  }
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return wrong("the trace is not JSON");
  const Json* list = &document;
  if (document.is_object()) {
    const auto found = document.find("traceEvents");
    list = found == document.end() ? nullptr : &*found;
  }
  if (list == nullptr || !list->is_array()) return wrong("the trace has no list traceEvents");
  Result<Events> events = read_events(*list);
  if (!events.ok()) return events.error();
  Recording out{events->name, {}};
  for (auto& [number, step] : events->by_step) {
    Result<RecordedStep> built = Step(std::move(step)).build();
    if (!built.ok()) return wrong(fmt::format("step {}: {}", number, built.error().what));
    built->schedule.name = out.name;
    out.steps.push_back(std::move(*built));
  }
  return out;
}

}  // namespace weft::pipeline

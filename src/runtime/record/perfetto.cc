#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/call.h"
#include "runtime/record/summary.h"

namespace weft::runtime {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kStepTrack = 0, kComputeTrack = 1;  // others: the kernel's thread numbers

class TraceWriter {
 public:
  TraceWriter(const Recording& recording, double origin_ns, ordered_json& out)
      : recording_(recording), origin_ns_(origin_ns), out_(out) {}

  void write() {
    out_.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", recording_.rank},
                    {"args", {{"name", fmt::format("rank {}", recording_.rank)}}}});
    for (const Event& event : recording_.events) take(event);
    if (step_ && !recording_.events.empty()) end_step(recording_.events.back());
  }

 private:
  double at_us(const Event& event) const {
    return 1e-3 * (static_cast<double>(event.time_ns) +
                   static_cast<double>(recording_.clock_offset_ns) - origin_ns_);
  }
  void slice(const std::string& name, std::uint32_t track, const Event& from, const Event& to) {
    out_.push_back({{"ph", "X"},
                    {"name", name},
                    {"pid", recording_.rank},
                    {"tid", track},
                    {"ts", at_us(from)},
                    {"dur", std::max(0.0, at_us(to) - at_us(from))}});
  }
  void end_step(const Event& at) {
    slice(fmt::format("step {}", step_->sequence), kStepTrack, *step_, at);
  }
  void operation(const char* phase, const Event& event) {
    const std::string id = fmt::format("{}.{}.{}.{}.{}", recording_.rank, event.group, event.epoch,
                                       event.stream, event.sequence);
    out_.push_back({{"ph", phase},
                    {"cat", "operation"},
                    {"id", id},
                    {"name", name_of(static_cast<Operation>(event.operation))},
                    {"pid", recording_.rank},
                    {"tid", event.thread},
                    {"ts", at_us(event)},
                    {"args",
                     {{"stream", event.stream},
                      {"sequence", event.sequence},
                      {"bytes", event.bytes},
                      {"is", name_of(event.kind)}}}});
  }
  void take(const Event& event) {
    switch (event.kind) {
      case EventKind::kStep:
        if (step_) end_step(event);
        step_ = event;
        break;
      case EventKind::kComputeBegin:
        compute_ = event;
        break;
      case EventKind::kComputeEnd:
        if (compute_) slice("compute", kComputeTrack, *compute_, event);
        compute_.reset();
        break;
      case EventKind::kSubmitted:
        operation("b", event);
        break;
      case EventKind::kBegun:
        operation("n", event);
        break;
      case EventKind::kEnded:
      case EventKind::kFailed:
        operation("e", event);
        break;
      case EventKind::kWaitBegin:
        waits_[event.thread] = event;
        break;
      case EventKind::kWaitEnd:
        if (const auto wait = waits_.find(event.thread); wait != waits_.end()) {
          slice("wait", event.thread, wait->second, event);
          waits_.erase(wait);
        }
        break;
    }
  }

  const Recording& recording_;
  double origin_ns_;
  ordered_json& out_;
  std::optional<Event> step_, compute_;
  std::map<std::uint32_t, Event> waits_;  // by thread
};

}  // namespace

std::string perfetto_json(const std::vector<Recording>& recordings) {
  double origin_ns = 0;
  bool any = false;
  for (const Recording& recording : recordings) {
    for (const Event& event : recording.events) {
      const double at =
          static_cast<double>(event.time_ns) + static_cast<double>(recording.clock_offset_ns);
      origin_ns = any ? std::min(origin_ns, at) : at;
      any = true;
    }
  }
  ordered_json events = ordered_json::array();
  for (const Recording& recording : recordings) TraceWriter(recording, origin_ns, events).write();
  return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace weft::runtime

#include "control/decision_log.h"

#include <fmt/format.h>

#include <iterator>

namespace weft {
namespace {

const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kSubmit:
      return "submit";
    case EventKind::kWithdraw:
      return "withdraw";
    case EventKind::kOutcome:
      return "outcome";
    case EventKind::kFinished:
      return "finished";
    case EventKind::kCrashed:
      return "crashed";
    case EventKind::kProgress:
      return "progress";
    case EventKind::kLoad:
      return "load";
    case EventKind::kNodeDown:
      return "node-down";
    case EventKind::kNodeUp:
      return "node-up";
    case EventKind::kNodeNotice:
      return "node-notice";
    case EventKind::kTick:
      return "tick";
    case EventKind::kRelease:
      return "release";
    case EventKind::kEvict:
      return "evict";
    case EventKind::kLost:
      return "lost";
    case EventKind::kClose:
      return "close";
    case EventKind::kHoldBack:
      return "hold-back";
    case EventKind::kHold:
      return "hold";
  }
  return "";
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

const char* name_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::kNone:
      return "none";
    case CommandKind::kStart:
      return "start";
    case CommandKind::kStop:
      return "stop";
    case CommandKind::kResize:
      return "resize";
  }
  return "";
}

}  // namespace

void DecisionLog::event(const Event& e) {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "{} event {}", e.at, name_of(e.kind));
  if (e.submission != nullptr) fmt::format_to(out, " {}", e.submission->name);
  if (e.job != kNoJob) fmt::format_to(out, " job={} epoch={}", e.job, e.epoch);
  if (e.kind == EventKind::kOutcome) {
    fmt::format_to(out, " number={} {}", e.number, name_of(e.outcome));
  }
  if (e.kind == EventKind::kLoad || e.kind == EventKind::kProgress) {
    fmt::format_to(out, " value={}", e.value);
  }
  if (e.node != kNoNode) fmt::format_to(out, " node={}", e.node);
  if (e.device != kNoDevice) fmt::format_to(out, " device={}", e.device);
  text_ += '\n';
}

void DecisionLog::decision(Seconds at) {
  fmt::format_to(std::back_inserter(text_), "{} decide\n", at);
}

void DecisionLog::command(Seconds at, const Command& c) {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "{} command {} job={} epoch={} number={}", at, name_of(c.kind), c.job,
                 c.epoch, c.number);
  if (c.allocation != nullptr) {
    fmt::format_to(out, " configuration={}", c.allocation->configuration);
    if (c.allocation->watts_cap > 0) fmt::format_to(out, " cap={}W", c.allocation->watts_cap);
    fmt::format_to(out, " devices=");
    for (size_t i = 0; i < c.allocation->devices.size(); ++i) {
      const DeviceShare& share = c.allocation->devices[i];
      fmt::format_to(out, "{}{}", i == 0 ? "" : ",", share.device);
      if (share.milli != kWhole) fmt::format_to(out, ":{}", share.milli);
    }
  }
  text_ += '\n';
}

void DecisionLog::rejected(Seconds at, JobId job, const std::string& why) {
  fmt::format_to(std::back_inserter(text_), "{} reject job={} {}\n", at, job, why);
}

}  // namespace weft

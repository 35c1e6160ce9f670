// How the cluster fares, for people and for monitors.
#include <fmt/core.h>

#include "live/daemon/api_answers.h"
#include "live/daemon/routes.h"

namespace weft::live {

namespace {

constexpr Seconds kIdleTold = 60;  // what is idle for less may only be slow

}  // namespace

namespace handlers {

using Json = nlohmann::json;

void list_events(ApiParts& parts, const ApiCall& call) {
  Json rows = Json::array();
  for (const StoryLine& line : parts.board.story_after(call.number("after", 0))) {
    rows.push_back(view_of(line));
  }
  call.answer(json_answer(200, {{"events", rows}}));
}

void status(ApiParts& parts, const ApiCall& call) {
  const Brain::Health health = parts.brain.health();
  std::map<std::string, int> count;
  for (const JobView& job : parts.board.jobs([](const JobView&) { return true; })) {
    ++count[kStandingNames[static_cast<int>(job.standing)]];
  }
  const Seconds full = parts.journal.full_since();
  call.answer(json_answer(200, {{"term", parts.journal.term()},
                                {"policy", parts.brain.policy_name()},
                                {"executor", parts.fleet.statement().name},
                                {"executor_can", names_of(parts.fleet.statement().can)},
                                {"cluster", parts.cluster.text},
                                {"now_s", parts.journal.now()},
                                {"records", parts.journal.last_seq()},
                                {"decisions", health.decisions},
                                {"last_round_s", health.last_s},
                                {"worst_round_s", health.worst_s},
                                {"disk_full_since_s", maybe(full)},
                                {"jobs", count}}));
}

void metrics(ApiParts& parts, const ApiCall& call) {
  const Brain::Health health = parts.brain.health();
  std::map<std::string, int> count;
  double used = 0, idle = 0;
  for (const JobView& job : parts.board.jobs([](const JobView&) { return true; })) {
    ++count[kStandingNames[static_cast<int>(job.standing)]];
    used += job.held.device_count();
    if (job.idle_s >= kIdleTold) idle += job.held.device_count();
  }
  std::string text;
  const auto add = [&](const char* name, const char* kind, double value) {
    text += fmt::format("# TYPE {} {}\n{} {}\n", name, kind, name, value);
  };
  text += "# TYPE weft_jobs gauge\n";
  for (const char* name : kStandingNames) {
    text += fmt::format("weft_jobs{{state=\"{}\"}} {}\n", name, count[name]);
  }
  add("weft_devices", "gauge", parts.cluster.device_count());
  add("weft_devices_allocated", "gauge", used);
  add("weft_devices_allocated_idle", "gauge", idle);
  add("weft_decisions_total", "counter", static_cast<double>(health.decisions));
  add("weft_round_seconds", "gauge", health.last_s);
  add("weft_round_seconds_worst", "gauge", health.worst_s);
  add("weft_inbox", "gauge", static_cast<double>(health.inbox));
  add("weft_journal_records", "counter", static_cast<double>(parts.journal.last_seq()));
  add("weft_term", "counter", static_cast<double>(parts.journal.term()));
  call.answer({200, text, "text/plain; version=0.0.4"});
}

void down(ApiParts& parts, const ApiCall& call) {
  call.answer(json_answer(200, {{"stopping", true}}));
  parts.stop(call.flag("now"));
}

}  // namespace handlers

}  // namespace weft::live

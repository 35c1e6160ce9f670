// How the cluster fares, for people and for monitors.
#include <fmt/format.h>

#include "live/daemon/api.h"
#include "live/daemon/api_answers.h"

namespace weft::live {

void Api::events(const Target& target, const Answer& answer) {
  Json rows = Json::array();
  for (const StoryLine& line : parts_.board.story_after(number_of(target.query, "after", 0))) {
    rows.push_back(
        {{"number", line.number}, {"at_s", line.at}, {"job", line.uuid}, {"what", line.what}});
  }
  answer(json_answer(200, {{"events", rows}}));
}

void Api::status(const Answer& answer) {
  const Brain::Health health = parts_.brain.health();
  std::map<std::string, int> count;
  for (const JobView& job : parts_.board.jobs([](const JobView&) { return true; })) {
    ++count[kStandingNames[static_cast<int>(job.standing)]];
  }
  const Seconds full = parts_.journal.full_since();
  answer(json_answer(200, {{"term", parts_.journal.term()},
                           {"policy", parts_.policy},
                           {"cluster", parts_.cluster.text},
                           {"now_s", parts_.journal.now()},
                           {"records", parts_.journal.last_seq()},
                           {"decisions", health.decisions},
                           {"last_round_s", health.last_s},
                           {"worst_round_s", health.worst_s},
                           {"disk_full_since_s", maybe(full)},
                           {"jobs", count}}));
}

void Api::metrics(const Answer& answer) {
  const Brain::Health health = parts_.brain.health();
  std::map<std::string, int> count;
  double used = 0;
  for (const JobView& job : parts_.board.jobs([](const JobView&) { return true; })) {
    ++count[kStandingNames[static_cast<int>(job.standing)]];
    used += job.held.device_count();
  }
  std::string text;
  const auto add = [&](const char* name, const char* kind, double value) {
    text += fmt::format("# TYPE {} {}\n{} {}\n", name, kind, name, value);
  };
  text += "# TYPE weft_jobs gauge\n";
  for (const char* name : kStandingNames) {
    text += fmt::format("weft_jobs{{state=\"{}\"}} {}\n", name, count[name]);
  }
  add("weft_devices", "gauge", parts_.cluster.device_count());
  add("weft_devices_allocated", "gauge", used);
  add("weft_decisions_total", "counter", static_cast<double>(health.decisions));
  add("weft_round_seconds", "gauge", health.last_s);
  add("weft_round_seconds_worst", "gauge", health.worst_s);
  add("weft_inbox", "gauge", static_cast<double>(health.inbox));
  add("weft_journal_records", "counter", static_cast<double>(parts_.journal.last_seq()));
  add("weft_term", "counter", static_cast<double>(parts_.journal.term()));
  answer({200, text, "text/plain; version=0.0.4"});
}

}  // namespace weft::live

#include "job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/units.h"
#include "base/wrap.h"

namespace weft {
namespace {

using Json = nlohmann::json;

double number_in(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

std::string text_in(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool known_time(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number();
}

std::string many(double count, const char* noun) {
  return fmt::format("{:g} {}{}", count, noun, count == 1 ? "" : "s");
}

// "node-0, node-1, 3 more"
std::string names_of_nodes(const Json& job, std::size_t most) {
  std::string text;
  const Json& nodes = job.at("nodes");
  for (std::size_t i = 0; i < nodes.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + nodes[i].get<std::string>();
  }
  if (nodes.size() > most) text += fmt::format(", {} more", nodes.size() - most);
  return text;
}

std::string service_words(const Json& job) {
  const auto service = job.find("service");
  if (service == job.end()) return "";
  return fmt::format("{} of {:g} to {:g} replicas, {:.3g} requests/s",
                     service->at("replicas").size(), number_in(*service, "min_replicas"),
                     number_in(*service, "max_replicas"), number_in(*service, "qps"));
}

// Why it is as it is, what is wrong with its run, and whether it uses what it holds.
std::string reasons(const Json& job) {
  constexpr double kIdleShown = 60;
  std::string text = text_in(job, "why");
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  };
  add(text_in(job, "remark"));
  const double idle_s = number_in(job, "idle_s");
  if (idle_s >= kIdleShown) add("has used nothing of its devices for " + time_words(idle_s));
  return text;
}

struct JobTimes {
  double waited = 0, ran = 0;
  bool started = false, ended = false;
};

JobTimes times_of(const Json& job, double now) {
  JobTimes times;
  times.started = known_time(job, "started_s");
  times.ended = known_time(job, "ended_s");
  const double end = times.ended ? number_in(job, "ended_s") : now;
  const double begin = times.started ? number_in(job, "started_s") : end;
  times.waited = std::max(0.0, begin - number_in(job, "submitted_s"));
  times.ran = times.started ? std::max(0.0, end - begin) : 0;
  return times;
}

std::string progress_words(const Json& job) {
  const double step = number_in(job, "step"), rate = number_in(job, "rate");
  if (step == 0 && rate == 0) return "";
  std::string text = fmt::format("step {:.0f}", step);
  if (rate > 0) text += fmt::format(", {} steps/s", three_digits(rate));
  if (const double loss = number_in(job, "loss"); loss != 0) {
    text += fmt::format(", loss {}", three_digits(loss));
  }
  return text;
}

// For columns: "9.9 s", "42 s", "4.8 min", "2.1 h", "3.2 d".
std::string short_time(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 2 * kDay ? fmt::format("{:.1f} h", seconds / kHour)
                            : fmt::format("{:.1f} d", seconds / kDay);
}

// Whether not all jobs have the same there.
bool differ(const Json& jobs, const char* key) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const Json& job) {
    return text_in(job, key) != text_in(jobs.front(), key);
  });
}

// What the user may want to do about a job in this state.
std::string next_steps(const std::string& state, const std::string& name) {
  struct NextStep {
    const char *state, *says;
  };
  constexpr NextStep kSteps[] = {
      {"queued", "`weft explain {0}` predicts its start; `weft cancel {0}` withdraws it"},
      {"held", "it waits until then; `weft cancel {0}` withdraws it"},
      {"starting", "`weft logs {0} -f` follows its output"},
      {"running", "`weft logs {0} -f` follows its output; `weft cancel {0}` ends it"},
      {"stopping", "`weft events -f` shows when it has stopped"},
      {"finished", "`weft logs {0}` prints its output; `weft usage` adds up what it used"},
      {"failed", "`weft logs {0}` prints its output; mend it and `weft submit` it again"},
      {"cancelled", "`weft submit` it again if it should run after all"},
      {"rejected", "change what the reason names and `weft submit` it again"},
  };
  for (const NextStep& row : kSteps) {
    if (state == row.state) return fmt::format(fmt::runtime(row.says), name);
  }
  return "";
}

// Lines `key  text`, texts wrapped below each other; empty texts are left out.
class KeyedLines {
 public:
  void add(const std::string& key, const std::string& text) {
    if (text.empty()) return;
    text_ += fmt::format("{:<{}}{}\n", key, kIndent, wrapped(text, kPageColumns, kIndent, kIndent));
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kIndent = 11;
  std::string text_;
};

std::string state_words(const Json& job, const JobTimes& times, double now) {
  const std::string state = text_in(job, "state");
  if (times.ended) {
    return fmt::format("{} {} ago", state, time_words(now - number_in(job, "ended_s")));
  }
  return fmt::format("{} for {}", state, time_words(times.started ? times.ran : times.waited));
}

std::string device_words(const Json& job) {
  const double held = number_in(job, "devices");
  if (held > 0) return fmt::format("{} on {}", many(held, "device"), names_of_nodes(job, 8));
  return "";
}

}  // namespace

std::string time_words(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(0.0, seconds));
  const auto whole = static_cast<long>(std::lround(seconds));
  constexpr long kMinutes = 60, kHours = 3600, kDays = 86'400;
  if (whole < 2 * kMinutes) return fmt::format("{} s", whole);
  if (whole < kHours) return fmt::format("{} min {} s", whole / kMinutes, whole % kMinutes);
  if (whole < kDays) {
    return fmt::format("{} h {} min", whole / kHours, whole % kHours / kMinutes);
  }
  return fmt::format("{} d {} h", whole / kDays, whole % kDays / kHours);
}

std::string jobs_page(const Json& answer) {
  if (answer.at("jobs").empty()) return "no jobs; `weft jobs --all` also lists those that ended\n";
  const double now = number_in(answer, "now_s");
  const bool users = differ(answer.at("jobs"), "user"), queues = differ(answer.at("jobs"), "queue");
  std::vector<std::string> headings = {"<uuid", "<name"};
  if (users) headings.emplace_back("<user");
  if (queues) headings.emplace_back("<queue");
  for (const char* more : {"<state", "waited", "ran", "devices", "<where and why"}) {
    headings.emplace_back(more);
  }
  Table table(std::move(headings));
  for (const Json& job : answer.at("jobs")) {
    const JobTimes times = times_of(job, now);
    std::string why = names_of_nodes(job, 2);
    const double restarts = number_in(job, "restarts");
    for (const std::string& more :
         {service_words(job), restarts > 0 ? many(restarts, "restart") : "", reasons(job)}) {
      if (!more.empty()) why += (why.empty() ? "" : "; ") + more;
    }
    std::vector<std::string> row = {text_in(job, "uuid").substr(0, 8), text_in(job, "name")};
    if (users) row.push_back(text_in(job, "user"));
    if (queues) row.push_back(text_in(job, "queue"));
    row.insert(row.end(), {text_in(job, "state"), short_time(times.waited),
                           times.started ? short_time(times.ran) : "-",
                           fmt::format("{:g}", number_in(job, "devices")), why});
    table.row(std::move(row));
  }
  return table.text(kPageColumns);
}

std::string job_page(const Json& job, const JobExtras& extras) {
  const std::string name = text_in(job, "name"), state = text_in(job, "state");
  const double now = number_in(job, "now_s");
  const JobTimes times = times_of(job, now);
  KeyedLines lines;
  lines.add("job", fmt::format("{} ({})", name, text_in(job, "uuid")));
  lines.add("state", state_words(job, times, now));
  std::string why = extras.waits_for.empty() ? reasons(job) : extras.waits_for;
  if (extras.start_in_s >= 0 && !times.started && !times.ended) {
    why += fmt::format("{}predicted to start {}", why.empty() ? "" : "; ",
                       extras.start_in_s < 1 ? "now" : "in " + time_words(extras.start_in_s));
  }
  lines.add("why", why);
  lines.add("devices", device_words(job));
  lines.add("service", service_words(job));
  lines.add("method", text_in(job, "way"));
  lines.add("progress", progress_words(job));
  std::string spent = "submitted " + time_words(now - number_in(job, "submitted_s")) + " ago";
  spent += fmt::format(", waited {}", time_words(times.waited));
  if (times.started) {
    spent += fmt::format(", {} {}", times.ended ? "ran" : "has run for", time_words(times.ran));
  }
  lines.add("times", spent);
  const double restarts = number_in(job, "restarts"), failures = number_in(job, "failures");
  lines.add("restarts", failures == 0 ? fmt::format("{:g}", restarts)
                                      : fmt::format("{:g}; it failed {} itself", restarts,
                                                    many(failures, "time")));
  lines.add("owner", fmt::format("{}, queue {}, priority {:g}", text_in(job, "user"),
                                 text_in(job, "queue"), number_in(job, "priority")));
  lines.add("policy", extras.policy);
  lines.add("logs", extras.log);
  lines.add("next", next_steps(state, extras.called.empty() ? name : extras.called));
  return lines.text();
}

std::string end_words(const Json& job) {
  const std::string name = text_in(job, "name"), state = text_in(job, "state");
  std::string why = text_in(job, "why");
  // Some reasons begin with the state themselves.
  if (why.starts_with(state)) why.erase(0, state.size());
  const JobTimes times = times_of(job, number_in(job, "now_s"));
  std::string text = fmt::format("{} {}", name, state);
  if (!why.empty()) text += why.starts_with(':') || why.starts_with(' ') ? why : ": " + why;
  if (times.started) text += " after " + time_words(times.ran);
  if (state == "finished" || state == "cancelled") return text;
  return text + "\n  hint: " + next_steps(state, name);
}

std::string daemon_page(const Json& status) {
  KeyedLines lines;
  lines.add("daemon", fmt::format("term {:g}, {} executor", number_in(status, "term"),
                                  text_in(status, "executor")));
  lines.add("cluster", text_in(status, "cluster").find('\n') == std::string::npos
                           ? text_in(status, "cluster")
                           : "from a YAML file; `weft nodes` lists it");
  lines.add("policy", text_in(status, "policy"));
  std::string jobs;
  for (const auto& [state, count] : status.at("jobs").items()) {
    jobs += fmt::format("{}{} {}", jobs.empty() ? "" : ", ", count.dump(), state);
  }
  lines.add("jobs", jobs.empty() ? "none yet" : jobs);
  lines.add("decisions",
            fmt::format("{:.0f}; the last took {:.1f} ms, the worst {:.1f} ms",
                        number_in(status, "decisions"), 1e3 * number_in(status, "last_round_s"),
                        1e3 * number_in(status, "worst_round_s")));
  lines.add("journal", fmt::format("{:.0f} records", number_in(status, "records")));
  if (known_time(status, "disk_full_since_s")) {
    lines.add("disk", fmt::format("full for {}: nothing is accepted until there is room",
                                  time_words(number_in(status, "now_s") -
                                             number_in(status, "disk_full_since_s"))));
  }
  std::string can;
  for (const Json& word : status.at("executor_can")) {
    can += (can.empty() ? "" : ", ") + word.get<std::string>();
  }
  lines.add("can", can);
  lines.add("next", "`weft jobs` lists jobs, `weft nodes` nodes; `weft status JOB` shows one job");
  return lines.text();
}

}  // namespace weft

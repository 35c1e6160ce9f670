#include "job_commands.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "daemon_client.h"
#include "job_page.h"
#include "live/daemon/daemon.h"
#include "live/daemon/replay.h"
#include "live/http/poll.h"
#include "live/job/job_file.h"
#include "live/job/job_json.h"
#include "option_checks.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct JobArguments {
  std::string store, job, file, replica;
  bool json = false, all = false, follow = false, wait = false, dry_run = false;
  int rank = 0;
};
using Shared = std::shared_ptr<JobArguments>;

std::string store_of(const JobArguments& a) {
  return a.store.empty() ? live::default_store() : a.store;
}

bool has_ended(const std::string& state) {
  return state == "finished" || state == "failed" || state == "cancelled" || state == "rejected";
}

// What a policy may choose from, where there is more than one thing.
void print_menu(const Json& menu) {
  const auto text = [](const Json& value) {
    return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
  };
  const auto digits = [](const Json& value, double times) {
    return value.is_null() ? "-" : three_digits(value.get<double>() * times);
  };
  Table table({"devices", "<type", "<codec", "<sync", "<collective", "rate", "progress",
               "MB a step", "coding s", "<source of progress"});
  for (const Json& row : menu) {
    table.row({text(row.at("devices")), text(row.at("type")), text(row.at("codec")),
               text(row.at("sync")), text(row.at("collective")), digits(row.at("rate"), 1),
               digits(row.at("efficiency"), 1), digits(row.at("bytes_per_step"), 1e-6),
               digits(row.at("coding_s"), 1), text(row.at("efficiency_source"))});
  }
  if (menu.size() > 1) fmt::print("{}\n", table.text());
  fmt::print("valid: it would be accepted\n");
}

int run_submit(const JobArguments& a) {
  const auto text = read_file(a.file, 4 << 20);
  if (!text.ok()) return report_error("submit", text.error());
  std::vector<std::string> warnings;
  auto spec = live::read_job_file(*text, a.file, &warnings);
  if (!spec.ok()) return report_error("submit", spec.error());
  for (const std::string& warning : warnings) fmt::print(stderr, "weft submit: {}\n", warning);
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  // Where the job runs is where it was submitted from, unless its file says otherwise.
  spec->workdir = (here / spec->workdir).lexically_normal().string();
  DaemonClient client(a.store);
  const auto made =
      client.ask("POST", "/v1/jobs", {{"spec", live::to_json(*spec)}, {"dry_run", a.dry_run}});
  if (!made.ok()) return report_error("submit", made.error());
  if (a.dry_run) {
    a.json ? fmt::print("{}\n", made->dump()) : print_menu(made->at("menu"));
    return kExitDone;
  }
  if (a.json) fmt::print("{}\n", made->dump());
  for (const Json& job : made->at("jobs")) {
    if (!a.json)
      fmt::print("{} {}\n", job.at("uuid").get<std::string>(), job.at("name").get<std::string>());
  }
  std::fflush(stdout);
  if (!a.wait) return kExitDone;
  bool well = true;
  for (const Json& job : made->at("jobs")) {
    live::poll_until([&] {  // also while the daemon is away
      const auto view = client.ask("GET", "/v1/jobs/" + job.at("uuid").get<std::string>());
      if (!view.ok() || !has_ended(view->at("state"))) return false;
      well = well && view->at("state") == "finished";
      fmt::print(stderr, "{}\n", end_words(*view));
      return true;
    });
  }
  return well ? kExitDone : kExitNo;
}

int run_jobs(const JobArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("GET", a.all ? "/v1/jobs?all=1" : "/v1/jobs");
  if (!answer.ok()) return report_error("jobs", answer.error());
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  fmt::print("{}", jobs_page(*answer));
  return kExitDone;
}

// What else the page of a job tells. A daemon that does not say is no mistake of the user's.
JobExtras extras_of(DaemonClient& client, const JobArguments& a, const Json& job) {
  JobExtras extras;
  extras.called = a.job;
  const std::string uuid = job.at("uuid");
  const std::string log = path_in(store_of(a), "logs/" + uuid + "/rank-0.log");
  if (is_file(log)) extras.log = log;
  if (job.at("state") != "queued" && job.at("state") != "held") return extras;
  const auto told = client.ask("GET", "/v1/jobs/" + uuid + "/explain");
  if (!told.ok()) return extras;
  const Json why = told->value("why", Json()), start = told->value("predicted_start_s", Json());
  extras.policy = told->value("policy", "");
  if (why.is_string()) extras.waits_for = why;
  if (start.is_number()) {
    extras.start_in_s = std::max(0.0, start.get<double>() - told->at("now_s").get<double>());
  }
  return extras;
}

int run_status(const JobArguments& a) {
  DaemonClient client(a.store);
  const auto answer =
      client.ask("GET", a.job.empty() ? "/v1/status" : "/v1/jobs/" + in_path(a.job));
  if (!answer.ok()) {
    return report_error(
        "status", answer.error(),
        answer.error().kind == ErrorKind::kNotFound && !a.job.empty() ? kExitNo : kExitBadInput);
  }
  if (a.json) {
    fmt::print("{}\n", answer->dump());
  } else if (a.job.empty()) {
    fmt::print("{}", daemon_page(*answer));
  } else {
    fmt::print("{}", job_page(*answer, extras_of(client, a, *answer)));
  }
  return kExitDone;
}

// Prints what is new; true when no more will come.
Result<bool> print_log(DaemonClient& client, const JobArguments& a, std::uint64_t& offset) {
  while (true) {
    const auto part = client.ask(
        "GET", fmt::format("/v1/jobs/{}/logs?rank={}&offset={}{}{}", in_path(a.job), a.rank, offset,
                           a.replica.empty() ? "" : "&replica=", a.replica));
    if (!part.ok()) return part.error();
    const std::string text = part->at("text");
    fmt::print("{}", text);
    std::fflush(stdout);
    offset = part->at("next");
    if (text.empty()) return !a.follow || part->at("ended").get<bool>();
  }
}

int run_logs(const JobArguments& a) {
  DaemonClient client(a.store);
  std::uint64_t offset = 0;
  int code = kExitDone;
  live::poll_until([&] {
    const auto over = print_log(client, a, offset);
    if (!over.ok()) code = report_error("logs", over.error());
    return !over.ok() || *over;
  });
  return code;
}

int run_cancel(const JobArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("POST", "/v1/jobs/" + in_path(a.job) + "/cancel");
  if (!answer.ok()) return report_error("cancel", answer.error(), kExitNo);
  if (a.json) fmt::print("{}\n", answer->dump());
  return kExitDone;
}

void print_event(const JobArguments& a, const Json& line) {
  fmt::print("{}\n", a.json ? line.dump()
                            : fmt::format("{:>12.3f} s  {}", line.at("at_s").get<double>(),
                                          line.at("what").get<std::string>()));
}

// Server-sent events; when the daemon goes away, from the last one on when it is back.
int follow_events(DaemonClient& client, const JobArguments& a) {
  std::string last;
  int code = kExitDone;
  live::poll_until([&] {
    const Status ended = client.follow(
        "GET", "/v1/events/stream", "",
        [&](std::string_view line) {
          if (line.starts_with("id: ")) last = line.substr(4);
          if (line.starts_with("data: ")) {
            const Json event = Json::parse(line.substr(6), nullptr, false);
            if (event.is_object()) print_event(a, event);
          }
          return std::fflush(stdout) == 0;
        },
        last);
    if (!ended.ok() && last.empty()) code = report_error("events", ended.error());
    return code != kExitDone || std::ferror(stdout) != 0;
  });
  return code;
}

int run_events(const JobArguments& a) {
  DaemonClient client(a.store);
  if (a.follow) return follow_events(client, a);
  const auto answer = client.ask("GET", "/v1/events");
  if (!answer.ok()) return report_error("events", answer.error());
  for (const Json& line : answer->at("events")) print_event(a, line);
  return kExitDone;
}

int run_replay(const JobArguments& a) {
  const auto report = live::replay(store_of(a));
  if (!report.ok()) return report_error("replay", report.error());
  if (a.json) {
    const Json json = {{"events", report->events},         {"steps", report->steps},
                       {"decisions", report->decisions},   {"commands", report->commands},
                       {"terms", report->terms},           {"same", report->same()},
                       {"differs_at", report->differs_at}, {"how", report->how}};
    fmt::print("{}\n", json.dump());
  } else if (report->same()) {
    fmt::print("{} events, {} decisions of {} terms: the same {} commands\n", report->events,
               report->decisions, report->terms, report->commands);
  } else {
    fmt::print("record {} differs: {}\n", report->differs_at, report->how);
  }
  return report->same() ? kExitDone : kExitNo;
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* says, const Shared& a) {
  CLI::App* verb = app.add_subcommand(name, says);
  verb->add_option("--store", a->store,
                   "folder of the daemon's journal (WEFT_HOME, or a usual place)");
  verb->add_flag("--json", a->json, "print JSON");
  return verb;
}

}  // namespace

std::vector<Verb> add_job_commands(CLI::App& app) {
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, const char* says, int (*run)(const JobArguments&)) {
    const auto a = std::make_shared<JobArguments>();
    CLI::App* verb = add_verb(app, name, says, a);
    verbs.push_back({verb, [a, run] { return run(*a); }});
    return std::pair{verb, a};
  };
  const auto [submit, s] = add("submit", "hand a job file to the daemon", run_submit);
  submit->add_option("file", s->file, "job file: YAML or a script with #SBATCH lines")->required();
  submit->add_flag("--dry-run", s->dry_run, "only say whether it would be accepted");
  submit->add_flag("--wait", s->wait, "return when it has ended; 1 if it did not finish");
  const auto [jobs, j] = add("jobs", "list jobs (also: weft queue)", run_jobs);
  jobs->alias("queue");
  jobs->add_flag("--all", j->all, "also those that have ended");
  const auto [status, t] = add("status", "show one job, or the daemon", run_status);
  status->add_option("job", t->job, "uuid, its beginning, or name");
  const auto [logs, l] = add("logs", "print what a rank has written", run_logs);
  logs->add_option("job", l->job, "uuid, its beginning, or name")->required();
  logs->add_option("--rank", l->rank, "which (0)")->check(whole_number_from(0, 1 << 24));
  logs->add_option("--replica", l->replica, "of a service: which, as `weft status` names them");
  logs->add_flag("-f,--follow", l->follow, "go on until the job has ended");
  const auto [cancel, c] = add("cancel", "end a job, or withdraw it from the queue", run_cancel);
  cancel->add_option("job", c->job, "uuid, its beginning, or name")->required();
  const auto [events, e] = add("events", "print what has happened, or follow it", run_events);
  events->add_flag("-f,--follow", e->follow, "go on for ever");
  add("replay", "replay the journal and compare the commands", run_replay);
  return verbs;
}

}  // namespace weft

#include "job_commands.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "daemon_client.h"
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
  std::string store, job, file, node, node_verb, from, to, queue, in, replica;
  bool json = false, all = false, follow = false, wait = false, dry_run = false;
  int rank = 0, number = 0, lasts_s = 3600;
};
using Shared = std::shared_ptr<JobArguments>;

std::string store_of(const JobArguments& a) {
  return a.store.empty() ? live::default_store() : a.store;
}

bool has_ended(const std::string& state) {
  return state == "finished" || state == "failed" || state == "cancelled" || state == "rejected";
}

std::string duration(const Json& from, const Json& to) {
  if (!from.is_number() || !to.is_number()) return "-";
  const double seconds = to.get<double>() - from.get<double>();
  return seconds < 600 ? fmt::format("{:.1f} s", seconds)
                       : fmt::format("{:.1f} h", seconds / kHour);
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
      fmt::print(stderr, "{} {}\n", view->at("name").get<std::string>(),
                 view->at("state").get<std::string>());
      return true;
    });
  }
  return well ? kExitDone : kExitNo;
}

// Why it is as it is, what is wrong with its run, and whether it uses what it holds.
std::string told_of_job(const Json& job) {
  constexpr double kWorthTelling = 60;
  std::string text = job.at("why");
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (const std::string remark = job.value("remark", ""); !remark.empty()) add(remark);
  const double idle_s = job.value("idle_s", 0.0);
  if (idle_s >= kWorthTelling) add(fmt::format("idle for {:.0f} s", idle_s));
  if (const auto service = job.find("service"); service != job.end()) {
    add(fmt::format("{} of {} to {} replicas, {:.3g} requests/s", service->at("replicas").size(),
                    service->at("min_replicas").get<int>(), service->at("max_replicas").get<int>(),
                    service->at("qps").get<double>()));
  }
  return text;
}

int run_jobs(const JobArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("GET", a.all ? "/v1/jobs?all=1" : "/v1/jobs");
  if (!answer.ok()) return report_error("jobs", answer.error());
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  Table table(
      {"uuid", "name", "user", "queue", "state", "waited", "ran", "nodes", "restarts", "why"});
  for (const Json& job : answer->at("jobs")) {
    std::string nodes;
    for (const Json& node : job.at("nodes"))
      nodes += (nodes.empty() ? "" : ",") + node.get<std::string>();
    const Json& now = answer->at("now_s");
    const Json& started = job.at("started_s");
    const Json& ended = job.at("ended_s");
    table.row({job.at("uuid").get<std::string>().substr(0, 8), job.at("name"), job.at("user"),
               job.at("queue"), job.at("state"),
               duration(job.at("submitted_s"),
                        started.is_null() ? (ended.is_null() ? now : ended) : started),
               duration(started, ended.is_null() ? now : ended), nodes.empty() ? "-" : nodes,
               std::to_string(job.at("restarts").get<int>()), told_of_job(job)});
  }
  fmt::print("{}", table.text());
  return kExitDone;
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
  fmt::print("{}\n", a.json ? answer->dump() : answer->dump(2));
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

int change_node(const JobArguments& a, DaemonClient& client) {
  std::string target = "/v1/nodes/" + in_path(a.node) + "/" + a.node_verb;
  if (a.node_verb == "reserve") {
    target += fmt::format("?to={}", in_path(a.to));
    if (!a.from.empty()) target += "&from=" + in_path(a.from);
    if (!a.queue.empty()) target += "&for=" + in_path(a.queue);
  } else if (a.node_verb == "open") {
    target += fmt::format("?number={}", a.number);
  } else if (a.node_verb == "notice" && !a.in.empty()) {
    target += "?in=" + in_path(a.in);
  } else if (a.node_verb == "invite") {
    target += fmt::format("?lasts={}", a.lasts_s);
  }
  const auto changed = client.ask("POST", target);
  if (!changed.ok()) return report_error("nodes", changed.error(), kExitNo);
  if (a.json) {
    fmt::print("{}\n", changed->dump());
  } else if (a.node_verb == "reserve") {
    fmt::print("reservation {} of {}\n", changed->at("number").get<std::uint32_t>(), a.node);
  } else if (a.node_verb == "invite") {
    // Alone on standard output, so that it can go to a file and never be seen.
    fmt::print("{}\n", changed->at("token").get<std::string>());
    fmt::print(stderr, "weft nodes: for {}, once, within {} s; it is not shown again\n", a.node,
               a.lasts_s);
  }
  return kExitDone;
}

// What `weft nodes` says of a node besides its state.
std::string told_of(const Json& node, double now_s) {
  std::string text = node.at("why");
  for (const Json& row : node.value("reservations", Json::array())) {
    const std::string queue = row.at("for");
    text +=
        fmt::format("{}reservation {} for {} in {:.0f} s for {:.0f} s", text.empty() ? "" : "; ",
                    row.at("number").get<int>(), queue.empty() ? "nobody" : queue,
                    std::max(0.0, row.at("from_s").get<double>() - now_s),
                    row.at("to_s").get<double>() - row.at("from_s").get<double>());
  }
  return text;
}

int run_nodes(const JobArguments& a) {
  DaemonClient client(a.store);
  if (!a.node_verb.empty()) return change_node(a, client);
  const auto answer = client.ask("GET", "/v1/nodes");
  if (!answer.ok()) return report_error("nodes", answer.error());
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  Table table({"node", "type", "devices", "used", "state", "why"});
  for (const Json& node : answer->at("nodes")) {
    const std::string state = node.at("drained")      ? "drained"
                              : node.at("in_service") ? "in service"
                                                      : "out of service";
    table.row({node.at("node"), node.at("type"), std::to_string(node.at("devices").get<int>()),
               fmt::format("{:g}", node.at("devices_used").get<double>()), state,
               told_of(node, answer->value("now_s", 0.0))});
  }
  fmt::print("{}", table.text());
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
  const auto [submit, s] = add("submit", "hand a job to the daemon", run_submit);
  submit->add_option("file", s->file, "job file: YAML or a script with #SBATCH lines")->required();
  submit->add_flag("--dry-run", s->dry_run, "only say whether it would be accepted");
  submit->add_flag("--wait", s->wait, "return when it has ended; 1 if it did not finish");
  const auto [jobs, j] = add("jobs", "list jobs", run_jobs);
  jobs->add_flag("--all", j->all, "also those that have ended");
  const auto [status, t] = add("status", "the daemon, or one job, in full", run_status);
  status->add_option("job", t->job, "uuid, its beginning, or name");
  const auto [logs, l] = add("logs", "what a rank has written", run_logs);
  logs->add_option("job", l->job, "uuid, its beginning, or name")->required();
  logs->add_option("--rank", l->rank, "which (0)")->check(whole_number_from(0, 1 << 24));
  logs->add_option("--replica", l->replica, "of a service: which, as `weft status` names them");
  logs->add_flag("-f,--follow", l->follow, "go on until the job has ended");
  const auto [cancel, c] = add("cancel", "end a job, or take it back", run_cancel);
  cancel->add_option("job", c->job, "uuid, its beginning, or name")->required();
  const auto [nodes, n] = add("nodes", "list nodes, or change one", run_nodes);
  nodes->add_option("verb", n->node_verb, "drain, undrain, fence, reserve, open, notice or invite")
      ->check(CLI::IsMember({"drain", "undrain", "fence", "reserve", "open", "notice", "invite"}));
  nodes->add_option("node", n->node, "its name");
  nodes->add_option("--from", n->from, "reserve: when it begins, 2h from now or a time (now)");
  nodes->add_option("--to", n->to, "reserve: when it ends");
  nodes->add_option("--for", n->queue, "reserve: whose jobs may be there (nobody's)");
  nodes->add_option("--number", n->number, "open: which reservation ends now");
  nodes->add_option("--in", n->in, "notice: after how long the node is taken away (2min)");
  nodes->add_option("--lasts", n->lasts_s, "invite: seconds in which its agent may join (3600)")
      ->check(whole_number_from(1, 30 * 24 * 3600));
  const auto [events, e] = add("events", "what has happened", run_events);
  events->add_flag("-f,--follow", e->follow, "go on for ever");
  add("replay", "decide the journal's events anew and compare the commands", run_replay);
  return verbs;
}

}  // namespace weft

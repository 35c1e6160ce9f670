#include "launch_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "option_checks.h"
#include "runtime/launch/launch_job.h"

namespace weft {
namespace {

using runtime::LaunchPlan;
using runtime::LaunchReport;
using runtime::MemberReport;

constexpr int kMostRanks = 100'000;
// Stands for "--" while CLI11 parses: it gives what follows one to the wrong verb.
char dashes[] = "\x01--";

struct LaunchArguments {
  int ranks = 0, max_restarts = -1, port = 0;
  int per_node = 0, nodes = 0;  // torchrun's way to say how many; 0: not said
  double grace_s = 30;
  std::string hosts, elastic, log_dir, via, address;
  std::vector<std::string> variables;
  bool no_prefix = false, json = false;
};

Error bad_use(std::string what, std::string hint = "") {
  return {ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
}

Status read_elastic(const LaunchArguments& a, runtime::LaunchRules& rules) {
  if (a.elastic.empty()) return {};
  const std::size_t colon = a.elastic.find(':');
  const auto least = parse_integer(a.elastic.substr(0, colon));
  const auto most =
      colon == std::string::npos ? std::nullopt : parse_integer(a.elastic.substr(colon + 1));
  if (!least || !most || *least < 1 || *most > kMostRanks) {
    return bad_use(fmt::format("--elastic {} is not MIN:MAX with whole numbers from 1 to {}",
                               shown(a.elastic), kMostRanks));
  }
  if (*least > *most) {
    return bad_use(fmt::format("--elastic {}: the least, {}, is above the most, {}", a.elastic,
                               *least, *most));
  }
  if (a.ranks < *least || a.ranks > *most) {
    return bad_use(fmt::format("-n {} lies outside --elastic {}; the job starts with -n ranks",
                               a.ranks, a.elastic));
  }
  rules.least = static_cast<int>(*least);
  rules.most = static_cast<int>(*most);
  return {};
}

// -n, or torchrun's two numbers.
Status read_ranks(LaunchArguments& a) {
  if (a.ranks > 0) return {};
  if (a.per_node == 0) {
    return bad_use("nothing says how many ranks to start", "weft launch -n 4 python3 train.py");
  }
  const std::int64_t ranks = std::int64_t{a.per_node} * std::max(1, a.nodes);
  if (ranks > kMostRanks) {
    return bad_use(fmt::format("--nnodes {} times --nproc-per-node {} is {} ranks; at most {}",
                               a.nodes, a.per_node, ranks, kMostRanks));
  }
  if (a.nodes > 1 && a.hosts.empty()) {
    return bad_use(fmt::format("--nnodes {} needs --hosts with {} hosts", a.nodes, a.nodes),
                   "`weft launch` is run once, and starts the ranks of every host by ssh");
  }
  a.ranks = static_cast<int>(ranks);
  return {};
}

// --nnodes: the first hosts, each with as many slots as ranks are asked for there.
Status keep_nodes(const LaunchArguments& a, std::vector<runtime::Host>& hosts) {
  if (a.per_node == 0) return {};
  const auto nodes = static_cast<std::size_t>(std::max(1, a.nodes));
  if (hosts.size() < nodes) {
    return bad_use(
        fmt::format("{} has {} hosts, but --nnodes is {}", a.hosts, hosts.size(), nodes));
  }
  hosts.resize(nodes);
  for (runtime::Host& host : hosts) host.slots = a.per_node;
  return {};
}

Status read_hosts(const LaunchArguments& a, LaunchPlan& plan) {
  const int most = std::max(plan.rules.ranks, plan.rules.most);
  if (a.hosts.empty()) {
    plan.hosts = runtime::this_machine(most);
    return {};
  }
  const Result<std::string> text = read_file(a.hosts, 16 << 20);
  if (!text.ok()) return text.error();
  Result<std::vector<runtime::Host>> hosts = runtime::parse_hosts(*text, a.hosts);
  if (!hosts.ok()) return hosts.error();
  plan.hosts = std::move(*hosts);
  if (Status kept = keep_nodes(a, plan.hosts); !kept.ok()) return kept;
  const int slots = runtime::slots_of(plan.hosts);
  if (slots >= most) return {};
  return bad_use(
      fmt::format("{} offers {} slots, but {} needs {}", a.hosts, slots,
                  plan.rules.elastic() ? "--elastic " + a.elastic : fmt::format("-n {}", a.ranks),
                  most),
      "a host without slots=N has one");
}

Result<LaunchPlan> read_plan(LaunchArguments a, std::vector<std::string> command) {
  if (command.empty())
    return bad_use("there is no command to run", "weft launch -n 4 python3 t.py");
  if (command[0].starts_with('-')) {
    return bad_use(fmt::format("there is no option {}", shown(command[0])),
                   "weft launch --help lists them; the command comes after the options");
  }
  if (Status read = read_ranks(a); !read.ok()) return read.error();
  LaunchPlan plan;
  plan.rules.ranks = a.ranks;
  plan.rules.grace_s = a.grace_s;
  if (Status read = read_elastic(a, plan.rules); !read.ok()) return read.error();
  constexpr int kElasticRestarts = 3;
  plan.rules.max_restarts = a.max_restarts >= 0    ? a.max_restarts
                            : plan.rules.elastic() ? kElasticRestarts
                                                   : 0;
  if (Status read = read_hosts(a, plan); !read.ok()) return read.error();
  for (const std::string& text : a.variables) {
    auto variable = runtime::parse_variable(text);
    if (!variable.ok()) return variable.error();
    plan.user.push_back(std::move(*variable));
  }
  if (!a.via.empty() && trimmed(a.via).empty()) return bad_use("--via holds no command");
  plan.via = a.via;
  plan.address = a.address;
  plan.port = a.port;
  plan.command = std::move(command);
  plan.log_dir = a.log_dir;
  plan.prefix = !a.no_prefix;
  plan.out_fd = a.json ? 2 : 1;  // standard output is for the JSON
  return plan;
}

nlohmann::ordered_json member_json(const MemberReport& member) {
  return {
      {"rank", member.start.rank},   {"member", member.start.member}, {"epoch", member.start.epoch},
      {"joined", member.start.join}, {"host", member.host},           {"pid", member.pid},
      {"exit_code", member.code},    {"began_s", member.began_s},     {"ended_s", member.ended_s},
      {"stdout", member.out_path},   {"stderr", member.err_path}};
}

void print_launch_json(const LaunchReport& report) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["job"] = report.job;
  j["exit_code"] = report.verdict.exit_code;
  j["why"] = report.verdict.why;
  j["seconds"] = report.seconds;
  j["log_dir"] = report.log_dir;
  j["logs_kept"] = report.logs_kept;
  j["failed"] = nullptr;
  if (report.verdict.failed) {
    const MemberReport& failed = report.members[*report.verdict.failed];
    j["failed"] = member_json(failed);
    j["failed"]["last_lines"] = failed.last_lines;
  }
  j["members"] = nlohmann::ordered_json::array();
  for (const MemberReport& member : report.members) j["members"].push_back(member_json(member));
  // Lines of a log may hold any bytes.
  std::fputs((j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n").c_str(),
             stdout);
}

void print_failure(const LaunchReport& report) {
  if (!report.verdict.failed) {
    std::fputs(fmt::format("weft launch: {}\n", report.verdict.why).c_str(), stderr);
    return;
  }
  const MemberReport& failed = report.members[*report.verdict.failed];
  std::string text =
      fmt::format("\nweft launch: rank {} failed first: {} after {:.1f} s\n", failed.start.rank,
                  runtime::name_of_end(failed.code), failed.ended_s - failed.began_s);
  for (const std::string& line : failed.last_lines) text += "  | " + line + "\n";
  if (failed.last_lines.empty()) text += "  it wrote nothing\n";
  text += fmt::format("  log: {}\n       {}\n  host {}, pid {}, member {}, epoch {}\n",
                      failed.err_path, failed.out_path, failed.host, failed.pid,
                      failed.start.member, failed.start.epoch);
  std::string others;
  for (const MemberReport& member : report.members) {
    if (member.start.member == failed.start.member || member.start.epoch != failed.start.epoch) {
      continue;
    }
    others += fmt::format("{}rank {}: {}", others.empty() ? "" : ", ", member.start.rank,
                          runtime::name_of_end(member.code));
  }
  if (!others.empty()) text += fmt::format("  others: {}\n", others);
  text += fmt::format("weft launch: the job failed: {}\n", report.verdict.why);
  std::fputs(text.c_str(), stderr);
}

// The words after the options as the user wrote them, less a first "--".
std::vector<std::string> command_of(std::vector<std::string> words) {
  if (!words.empty() && words[0] == dashes) words.erase(words.begin());
  std::replace(words.begin(), words.end(), std::string(dashes), std::string("--"));
  return words;
}

int launch_job(const LaunchArguments& a, std::vector<std::string> command) {
  const Result<LaunchPlan> plan = read_plan(a, std::move(command));
  if (!plan.ok()) return report_error("launch", plan.error());
  const Result<LaunchReport> report = runtime::run_launch(*plan);
  if (!report.ok()) return report_error("launch", report.error());
  if (report->verdict.exit_code != 0) print_failure(*report);
  if (a.json) print_launch_json(*report);
  return report->verdict.exit_code;
}

}  // namespace

void protect_launch_words(int argc, char** argv) {
  if (argc < 2 || argv[1] != std::string_view("launch")) return;
  for (int i = 2; i < argc; ++i) {
    if (argv[i] == std::string_view("--")) argv[i] = dashes;
  }
}

Verb add_launch_command(CLI::App& app) {
  const auto a = std::make_shared<LaunchArguments>();  // shared by parser and runner
  CLI::App* verb = app.add_subcommand(
      "launch", "start the ranks of a job, as torchrun does, and keep them running");
  verb->prefix_command();
  verb->add_option("-n,--ranks", a->ranks, "how many processes to start")
      ->check(whole_number_from(1, kMostRanks));
  verb->add_option("--nproc-per-node,--nproc_per_node", a->per_node,
                   "torchrun's way instead of -n: processes on each node")
      ->check(whole_number_from(1, kMostRanks))
      ->excludes("--ranks");
  verb->add_option("--nnodes", a->nodes, "and on how many hosts of --hosts, in its order (1)")
      ->check(whole_number_from(1, kMostRanks))
      ->needs("--nproc-per-node");
  verb->add_option("--hosts", a->hosts, "file of lines `host [slots=N] [address=A]`; by ssh");
  verb->add_option("--elastic", a->elastic, "MIN:MAX: replace ranks that fail, one by one");
  verb->add_option("--max-restarts", a->max_restarts,
                   "of the whole job (0); elastic: failed replacements in a row (3)")
      ->check(whole_number_from(0, 1000));
  verb->add_option("--grace", a->grace_s, "seconds from SIGTERM to SIGKILL (30)")
      ->check(number_from(0, 1e6));
  verb->add_option("--log-dir", a->log_dir, "keep the ranks' output there, one file per stream");
  verb->add_option("--env", a->variables, "NAME=VALUE for every rank; repeatable")
      ->allow_extra_args(false);
  verb->add_option("--port", a->port, "of the rendezvous store (0: a free one)")
      ->check(whole_number_from(0, 65535));
  verb->add_option("--address", a->address, "of this machine for other hosts (its name)");
  verb->add_option("--via", a->via, "command in place of ssh, such as 'ip netns exec {host}'");
  verb->add_flag("--no-prefix", a->no_prefix, "print lines without [rank N]");
  verb->add_flag("--json", a->json, "print a report as JSON; the ranks' lines go to stderr");
  verb->footer(
      "Signals: SIGUSR1 goes to all ranks (checkpoint), SIGTERM and SIGINT ask them to leave, a\n"
      "second SIGINT kills; SIGUSR2 adds a rank to an elastic job. The exit code is 0, or that of\n"
      "the first rank that failed.\n"
      "example: weft launch -n 4 python3 train.py --epochs 3\n"
      "         weft launch --nproc-per-node 8 --nnodes 2 --hosts hosts.txt python3 train.py\n"
      "         weft launch -n 4 --elastic 2:4 --log-dir logs python3 train.py");
  return {verb, [a, verb] { return launch_job(*a, command_of(verb->remaining())); }};
}

}  // namespace weft

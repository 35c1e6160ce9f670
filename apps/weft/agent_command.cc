#include "agent_command.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "daemon_client.h"
#include "live/agent/agent.h"
#include "live/agent/keeper_server.h"
#include "live/agent/meeting.h"
#include "live/http/client.h"
#include "live/http/server.h"
#include "option_checks.h"

namespace weft {
namespace {

struct AgentArguments {
  std::string controller, secret_file, dir;
  bool join = false;
  live::NodeWishes wishes;
};

// Every rank costs a few descriptors.
void raise_descriptor_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string own_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "node";
}

// Trades the invitation of WEFT_TOKEN_FILE for the cluster's secret, which is kept in the folder:
// an agent that starts again there asks nobody.
Status join(AgentArguments& a) {
  a.secret_file = path_in(a.dir, "secret");
  const std::string place = path_in(a.dir, "controller");
  if (!is_file(a.secret_file) || !is_file(place)) {
    const char* url = std::getenv("WEFT_URL");
    const auto at = live::parse_url(url != nullptr ? url : "");
    if (!at.ok() || at->host.empty()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("WEFT_URL is '{}'; it must say where the daemon listens",
                               url != nullptr ? url : ""),
                   "as in WEFT_URL=https://head:8443 WEFT_TOKEN_FILE=node.token"};
    }
    std::error_code failed;
    std::filesystem::create_directories(a.dir, failed);
    if (failed) return Error{ErrorKind::kIo, fmt::format("{}: {}", a.dir, failed.message()), ""};
    DaemonClient client("");
    const auto answer = client.ask("POST", "/v1/nodes/" + in_path(a.wishes.node) + "/join");
    if (!answer.ok()) return answer.error();
    const nlohmann::json told = answer->value("secret", nlohmann::json());
    const nlohmann::json at_port = answer->value("port", nlohmann::json());
    const auto secret = runtime::Secret::from_hex(told.is_string() ? told.get<std::string>() : "");
    const int port = at_port.is_number_integer() ? at_port.get<int>() : 0;
    if (!secret.ok() || port < 1 || port > 65535) {
      return Error{ErrorKind::kInvalidInput, "the daemon's answer names no secret and port", ""};
    }
    const bool v6 = at->host.find(':') != std::string::npos;
    const std::string host = v6 ? fmt::format("[{}]", at->host) : at->host;
    for (const auto& [path, text] : {std::pair{place, fmt::format("{}:{}\n", host, port)},
                                     std::pair{a.secret_file, secret->hex() + "\n"}}) {
      if (Status kept = write_file_durably(path, text); !kept.ok()) return kept;
    }
  }
  if (a.controller.empty()) {
    auto kept = read_file(place, 4096);
    if (!kept.ok()) return kept.error();
    a.controller = kept->substr(0, kept->find('\n'));
  }
  if (a.wishes.reach.address.empty()) a.wishes.reach.address = live::address_towards(a.controller);
  return {};
}

int run(AgentArguments a) {
  umask(077);
  if (a.wishes.node.empty()) a.wishes.node = own_name();
  if (a.join) {
    if (const Status joined = join(a); !joined.ok()) return report_error("agent", joined.error());
  } else if (a.controller.empty() || a.secret_file.empty()) {
    return report_error("agent",
                        {ErrorKind::kInvalidInput, "--controller and --secret-file are needed",
                         "or an invitation and --join"});
  }
  const auto secret = runtime::Secret::from_file(a.secret_file);
  if (!secret.ok()) return report_error("agent", secret.error());
  const auto facts = live::discover_node(a.wishes);
  if (!facts.ok()) return report_error("agent", facts.error());
  raise_descriptor_limit();
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before other threads are there
  signal(SIGPIPE, SIG_IGN);
  std::error_code ignored;
  live::AgentSettings settings;
  settings.controller = a.controller;
  settings.secret = *secret;
  settings.facts = *facts;
  settings.limits.cpu_milli = a.wishes.cpu_milli;
  if (!a.wishes.cpus.empty()) settings.limits.cpus = facts->cpus;
  settings.limits.memory = a.wishes.memory;
  settings.folder = std::filesystem::absolute(a.dir, ignored).lexically_normal().string();
  settings.program = WEFT_VERSION;
  settings.encrypt = !live::is_loopback(a.controller);
  settings.keeper_command = {"/proc/self/exe", "agent", "keep"};
  settings.log = [node = a.wishes.node](const std::string& line) {
    fmt::print(stderr, "agent {}: {}\n", node, line);
  };
  const auto agent = live::Agent::start(settings);
  if (!agent.ok()) return report_error("agent", agent.error());
  // For whoever wants to end it later.
  const std::string pid_file = settings.folder + "/pid";
  static_cast<void>(write_file_atomically(pid_file, std::to_string(getpid())));
  int number = 0;
  sigwait(&ends, &number);
  unlink(pid_file.c_str());
  return kExitDone;
}

}  // namespace

std::optional<int> run_keeper(int argc, char** argv) {
  if (argc != 5 || argv[1] != std::string_view("agent") || argv[2] != std::string_view("keep")) {
    return std::nullopt;
  }
  return live::serve_keepers(argv[3], {argv[4], std::strlen(argv[4])});
}

std::optional<int> run_meeting(int argc, char** argv) {
  if (argc != 4 || argv[1] != std::string_view("agent") || argv[2] != std::string_view("meet")) {
    return std::nullopt;
  }
  const Status served = live::serve_meeting(argv[3]);
  return served.ok() ? kExitDone : report_error("agent", served.error());
}

Verb add_agent_command(CLI::App& app) {
  const auto a = std::make_shared<AgentArguments>();  // shared by parser and runner
  CLI::App* verb = app.add_subcommand("agent", "run ranks on this node for a daemon on another");
  verb->add_option("--controller", a->controller, "host:port where agents are expected");
  verb->add_option("--secret-file", a->secret_file, "the cluster's secret, 64 hexadecimal digits");
  verb->add_flag("--join", a->join,
                 "in place of both: by the invitation in WEFT_TOKEN_FILE of the daemon at WEFT_URL")
      ->excludes("--secret-file");
  verb->add_option("--dir", a->dir, "its folder: what it must know after a crash")->required();
  verb->add_option("--node", a->wishes.node, "name of this node (the host's)");
  verb->add_option("--devices", a->wishes.devices,
                   "so many CPU slots as devices (0: GPUs, or a slot for each processor)")
      ->check(whole_number_from(0, 4096));
  verb->add_option("--cpu-milli", a->wishes.cpu_milli,
                   "thousandths of processors that ranks share (0: all)")
      ->check(whole_number_from(0, 10'000'000));
  verb->add_option("--cpus", a->wishes.cpus, "processors that ranks may use, such as 0-3,6 (all)");
  verb->add_option("--memory", a->wishes.memory, "bytes that ranks share (0: all)")
      ->check(whole_number_from(0, std::int64_t{1} << 50));
  live::NodeReach& reach = a->wishes.reach;
  verb->add_option("--namespace", reach.space, "network namespace in which ranks run (root)");
  verb->add_option("--interface", reach.interface, "network interface towards other nodes");
  verb->add_option("--address", reach.address, "where other nodes reach ranks of this one");
  verb->add_option("--link", reach.bytes_per_s,
                   "bytes per second of the interface, whose queue has classes (0: none)")
      ->check(number_from(0, 1e12));
  verb->footer(
      "Ranks outlive the agent for one lease; an agent that is started again in the same folder\n"
      "takes them over.\n"
      "Off the daemon's machine: `weft nodes invite NAME >NAME.token` there, and here\n"
      "WEFT_URL=https://head:8443 WEFT_TOKEN_FILE=NAME.token weft agent --join --node NAME --dir "
      "D\n"
      "example: weft agent --controller 10.0.0.1:7777 --secret-file cluster.key --dir "
      "/var/lib/weft");
  return {verb, [a] { return run(*a); }};
}

}  // namespace weft

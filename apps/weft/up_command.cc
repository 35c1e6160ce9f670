#include "up_command.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "daemon_client.h"
#include "live/daemon/daemon.h"
#include "live/daemon/queue_quotas.h"
#include "live/http/poll.h"
#include "model/cluster.h"
#include "option_checks.h"
#include "policy/composition.h"
#include "sim/forecast.h"

namespace weft {
namespace {

struct UpArguments {
  std::string cluster, policy, store;
  std::string listen, certificate, key, quotas, budgets, agents_at;
  double lease_s = 10, reclaim_idle_s = kNever;
  bool no_agents = false, namespaces = false, insecure = false;
};

constexpr long kDownLooks = 6000;  // ten minutes

std::atomic<bool> stop_now = false;
void on_signal(int) { stop_now = true; }

// This machine: its processors as slots.
std::string this_machine() {
  return fmt::format("1x{}", std::max(1u, std::thread::hardware_concurrency()));
}

// A file's whole text, because the journal must mean the same when the file changes.
Result<std::string> text_of(const std::string& given) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  if (!is_file(given)) return given;
  return read_file(given, kMostBytes);
}

// Tokens that cross a network in the clear are everybody's.
Status check_listening(const UpArguments& a) {
  const auto wrong = [](const char* what, const char* hint) {
    return Error{ErrorKind::kInvalidInput, what, hint};
  };
  if (a.listen.empty()) {
    if (a.certificate.empty() && a.key.empty() && !a.insecure) return {};
    return wrong("--tls-cert, --tls-key and --insecure say how to listen, but not where",
                 "add --listen ADDRESS:PORT");
  }
  if (a.certificate.empty() != a.key.empty()) {
    return wrong("--tls-cert and --tls-key belong together", "give both");
  }
  if (a.certificate.empty() && !live::is_loopback(a.listen) && !a.insecure) {
    return wrong("without TLS, tokens would cross the network in the clear",
                 "give --tls-cert and --tls-key, listen at 127.0.0.1, or say --insecure");
  }
  return {};
}

Status choose_policy(const UpArguments& a, live::DaemonOptions& options) {
  if (a.policy.empty() && a.quotas.empty()) return {};  // the daemon chooses
  const auto text = text_of(a.policy);
  if (!text.ok()) return text.error();
  options.policy_text = *text;
  if (!a.quotas.empty()) {
    if (a.policy != "quota") {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("--quotas are for the quota policy, not for {}", a.policy),
                   "add --policy quota"};
    }
    const auto written = read_file(a.quotas, 1 << 20);
    if (!written.ok()) return written.error();
    auto quotas = live::parse_quotas(*written, a.quotas);
    if (!quotas.ok()) return quotas.error();
    options.queues = std::move(quotas->queues);
    options.policy_text = std::move(quotas->policy);
  }
  auto composition =
      a.quotas.empty() ? find_policy(a.policy) : parse_composition(options.policy_text, a.quotas);
  if (!composition.ok()) return composition.error();
  if (Status can = live::check_needs(*composition, live::Fleet::local()); !can.ok()) return can;
  auto policy = assemble(*composition);
  if (!policy.ok()) return policy.error();
  options.policy = std::move(*policy);
  return {};
}

Status read_budgets(const UpArguments& a, live::DaemonOptions& options) {
  if (a.budgets.empty()) return {};
  const auto written = read_file(a.budgets, 16 << 20);
  if (!written.ok()) return written.error();
  auto budgets = live::parse_budgets(*written, a.budgets);
  if (!budgets.ok()) return budgets.error();
  options.budgets = std::move(*budgets);
  return {};
}

int run_up(const UpArguments& a) {
  if (const Status well = check_listening(a); !well.ok()) return report_error("up", well.error());
  live::DaemonOptions options;
  options.listen = a.listen;
  options.agents_at = a.agents_at;
  options.certificate = a.certificate;
  options.key = a.key;
  options.store = a.store.empty() ? live::default_store() : a.store;
  const std::string asked = a.cluster.empty() ? this_machine() : a.cluster;
  auto cluster = read_cluster(asked);
  if (!cluster.ok()) return report_error("up", cluster.error());
  options.cluster = std::move(*cluster);
  const auto cluster_text = text_of(asked);
  if (!cluster_text.ok()) return report_error("up", cluster_text.error());
  options.cluster_text = *cluster_text;
  if (const Status chosen = choose_policy(a, options); !chosen.ok()) {
    return report_error("up", chosen.error());
  }
  if (const Status read = read_budgets(a, options); !read.ok())
    return report_error("up", read.error());
  options.forecaster = std::make_shared<const SimForecaster>();
  options.program = WEFT_VERSION;
  options.lease_s = a.lease_s;
  options.reclaim_idle_s = a.reclaim_idle_s;
  options.namespaces = a.namespaces;
  if (!a.no_agents) {
    std::error_code failed;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
      return report_error("up", {ErrorKind::kIo, "cannot find the program's own file", ""});
    options.agent_command = {own.string(), "agent"};
  }
  signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGTERM, SIGINT}) signal(number, on_signal);
  const std::string store = options.store;
  auto daemon = live::Daemon::start(std::move(options));
  if (!daemon.ok()) return report_error("up", daemon.error());
  fmt::print("weft: up (term {}, {} jobs known, {} policy) at {}\n", (*daemon)->term(),
             (*daemon)->jobs(), (*daemon)->policy_name(), live::socket_of(store));
  if (const std::string url = (*daemon)->url(); !url.empty()) {
    fmt::print("weft: listens at {} for callers with a token\n", url);
  }
  if (a.no_agents) {
    fmt::print("weft: agents are expected at {}, invited or with --secret-file {}\n",
               (*daemon)->agents_at(), (*daemon)->secret_file());
  }
  std::fflush(stdout);
  const Status ended = (*daemon)->wait(stop_now);
  if (!ended.ok()) return report_error("up", ended.error());
  if (!stop_now) (*daemon)->stop_agents();  // `weft down`: not only the daemon
  fmt::print("weft: {}\n", stop_now ? "ended; agents and ranks go on" : "down");
  return kExitDone;
}

int run_down(const std::string& store, bool now) {
  DaemonClient client(store);
  const auto reply = client.ask("POST", now ? "/v1/down?now=1" : "/v1/down");
  if (!reply.ok()) return report_error("down", reply.error());
  // It is down when it answers no more, which may take the longest grace of a job.
  if (live::poll_until([&] { return !client.ask("GET", "/v1/status").ok(); }, kDownLooks)) {
    return kExitDone;
  }
  fmt::print(stderr, "weft down: jobs are still being stopped; `weft down --now` waits for none\n");
  return kExitNo;
}

}  // namespace

Verb add_up_command(CLI::App& app) {
  const auto a = std::make_shared<UpArguments>();
  CLI::App* verb = app.add_subcommand("up", "run the daemon of a cluster on this machine");
  verb->add_option("--cluster", a->cluster,
                   "4x2 or a YAML file (this machine, a device for each processor)");
  verb->add_option("--policy", a->policy,
                   "by name or YAML file (the one last in force here, else backfill)");
  verb->add_option("--store", a->store, "folder of the journal (WEFT_HOME, or a usual place)");
  verb->add_option("--lease", a->lease_s, "seconds that agents may be silent (10)")
      ->check(number_from(0.5, 3600));
  verb->add_option("--quotas", a->quotas,
                   "YAML file with the shares of queues, for --policy quota");
  verb->add_option("--budgets", a->budgets,
                   "YAML file with what users and queues may spend (docs/job-life.md)");
  verb->add_option("--reclaim-idle", a->reclaim_idle_s,
                   "seconds after which a job that uses nothing makes room for others (never)")
      ->check(number_from(1, 1e9));
  verb->add_flag("--namespaces", a->namespaces,
                 "each node has a network of its own, as fast as the cluster file says (root)");
  verb->add_flag("--no-agents", a->no_agents, "start none: they come from other machines");
  verb->add_option("--agents-at", a->agents_at,
                   "ADDRESS:PORT where agents come to; encrypted beyond this machine (127.0.0.1)");
  verb->add_option("--listen", a->listen, "ADDRESS:PORT for callers with a token (none)");
  verb->add_option("--tls-cert", a->certificate, "certificate chain (PEM) for --listen");
  verb->add_option("--tls-key", a->key, "its key (PEM)");
  verb->add_flag("--insecure", a->insecure, "listen beyond this machine without TLS");
  verb->footer(
      "Every node of the cluster is an agent on this machine unless --no-agents is given.\n"
      "SIGTERM ends the daemon alone: jobs go on, and the next `weft up` takes them over.\n"
      "example: weft up --cluster 4x2 --policy 2d-las --store /tmp/weft");
  return {verb, [a] { return run_up(*a); }};
}

Verb add_down_command(CLI::App& app) {
  const auto store = std::make_shared<std::string>();
  const auto now = std::make_shared<bool>(false);
  CLI::App* verb =
      app.add_subcommand("down", "stop jobs at a checkpoint, then the daemon and its agents");
  verb->add_option("--store", *store, "folder of the journal");
  verb->add_flag("--now", *now, "wait for no job: ranks end within a lease");
  verb->footer("Jobs that were stopped wait again, and start with the next `weft up`.");
  return {verb, [store, now] { return run_down(*store, *now); }};
}

}  // namespace weft

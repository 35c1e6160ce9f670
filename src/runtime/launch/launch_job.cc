#include "runtime/launch/launch_job.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/launch/child_process.h"
#include "runtime/launch/job_loop.h"
#include "runtime/launch/remote_command.h"
#include "runtime/launch/run_folder.h"
#include "runtime/net/store.h"

namespace weft::runtime {
namespace {

constexpr Seconds kReachable_s = 10;

std::string name_of_this_host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// How other ranks reach a host: as the file says, else by its name without a user.
std::string address_of(const Host& host, const std::string& ours) {
  if (!host.address.empty()) return host.address;
  if (host.local()) return ours;
  return host.name.substr(host.name.find('@') + 1);
}

Status check_command(const LaunchPlan& plan) {
  const auto local = [](const Host& host) { return host.local(); };
  if (std::none_of(plan.hosts.begin(), plan.hosts.end(), local)) return {};
  const Result<std::string> program = find_program(plan.command[0]);
  return program.ok() ? Status() : program.error();
}

Status check_hosts(const LaunchPlan& plan) {
  std::vector<std::pair<std::string, Way>> others;
  for (const Host& host : plan.hosts) {
    if (!host.local()) others.emplace_back(host.name, way_to(plan, host));
  }
  return others.empty() ? Status() : check_reachable(others, kReachable_s);
}

Result<std::string> make_log_dir(const LaunchPlan& plan, const RunFolder& folder) {
  if (plan.log_dir.empty()) return folder.path();
  std::error_code failed;
  std::filesystem::create_directories(plan.log_dir, failed);
  const std::filesystem::path whole = std::filesystem::canonical(plan.log_dir, failed);
  if (!failed && access(whole.c_str(), W_OK | X_OK) == 0) return whole.string();
  return Error{ErrorKind::kIo,
               fmt::format("--log-dir {} cannot be made or written to{}", plan.log_dir,
                           failed ? ": " + failed.message() : ""),
               ""};
}

void say_defaults(const LaunchPlan& plan, JobLoop& loop) {
  const auto sets = [](const auto& variable) { return variable.first == "OMP_NUM_THREADS"; };
  const Variables defaults = default_variables(std::max(plan.rules.ranks, plan.rules.most));
  if (std::none_of(defaults.begin(), defaults.end(), sets)) return;
  if (std::any_of(plan.user.begin(), plan.user.end(), sets)) return;
  if (getenv("OMP_NUM_THREADS") != nullptr) return;
  loop.say("OMP_NUM_THREADS is set to 1 in every rank; set it to give them more threads");
}

}  // namespace

Way way_to(const LaunchPlan& plan, const Host& host) {
  return plan.via.empty() ? ssh_to(host.name) : via_to(plan.via, host.name);
}

Result<LaunchReport> run_launch(const LaunchPlan& plan) {
  CHECK(!plan.command.empty() &&
        slots_of(plan.hosts) >= std::max(plan.rules.ranks, plan.rules.most));
  if (Status found = check_command(plan); !found.ok()) return found.error();
  if (Status reached = check_hosts(plan); !reached.ok()) return reached.error();
  // Before the threads of the store, which inherit what is blocked here.
  Result<SignalEvents> signals = SignalEvents::make();
  if (!signals.ok()) return signals.error();
  if (Status adopted = adopt_orphans(); !adopted.ok()) return adopted.error();

  const Result<Secret> secret = Secret::fresh();
  if (!secret.ok()) return secret.error();
  Result<RunFolder> folder = RunFolder::make(*secret);
  if (!folder.ok()) return folder.error();
  Result<std::string> log_dir = make_log_dir(plan, *folder);
  if (!log_dir.ok()) return log_dir.error();
  Result<std::string> job = fresh_uuid();
  if (!job.ok()) return job.error();

  const bool alone = std::all_of(plan.hosts.begin(), plan.hosts.end(),
                                 [](const Host& host) { return host.local(); });
  const std::string ours = !plan.address.empty() ? plan.address
                           : alone               ? "127.0.0.1"
                                                 : name_of_this_host();
  const auto store =
      StoreServer::start(fmt::format("{}:{}", alone ? "127.0.0.1" : "0.0.0.0", plan.port), *secret);
  if (!store.ok()) return store.error();

  JobFacts facts{*job,
                 fmt::format("{}:{}", ours, (*store)->port()),
                 address_of(plan.hosts[0], ours),
                 0,
                 *log_dir,
                 plan.rules,
                 plan.hosts,
                 plan.user};
  JobLoop loop(plan, std::move(facts), *secret, folder->secret_path(), std::move(*signals),
               fmt::format("127.0.0.1:{}", (*store)->port()));
  say_defaults(plan, loop);
  LaunchReport report = loop.run();
  report.logs_kept = !plan.log_dir.empty() || report.verdict.exit_code != 0;
  if (plan.log_dir.empty() && report.logs_kept) folder->keep();
  return report;
}

}  // namespace weft::runtime

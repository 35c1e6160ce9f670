#include "runtime/launch/job_loop.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/stopwatch.h"
#include "runtime/launch/run_folder.h"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kSignals = ~std::uint64_t{0}, kLogs = kSignals - 1;
constexpr Seconds kRemoteKill_s = 5;  // for a remote shell to kill its rank
constexpr Seconds kLogLook_s = 0.1;   // where the kernel does not tell of new lines
constexpr Seconds kSlowReader_s = 0.02;
constexpr Seconds kLastLines_s = 5;  // for a slow reader, when all ranks have ended
constexpr int kNotStarted = 126;     // as shells have it

std::int64_t size_of_file(const std::string& path) {
  struct stat facts = {};
  return stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

}  // namespace

JobLoop::JobLoop(const LaunchPlan& plan, JobFacts facts, const Secret& secret,
                 std::string secret_path, SignalEvents signals, std::string store_address)
    : plan_(plan),
      facts_(std::move(facts)),
      secret_(secret),
      secret_path_(std::move(secret_path)),
      signals_(std::move(signals)),
      store_address_(std::move(store_address)),
      launcher_(plan.rules),
      relay_(plan.out_fd, plan.err_fd),
      began_ns_(monotonic_ns()),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      inotify_fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  CHECK(epoll_fd_ >= 0);
  watch(signals_.fd(), kSignals);
  if (inotify_fd_ >= 0 && inotify_add_watch(inotify_fd_, facts_.log_dir.c_str(), IN_MODIFY) < 0) {
    close(inotify_fd_);
    inotify_fd_ = -1;
  }
  if (inotify_fd_ >= 0) watch(inotify_fd_, kLogs);
}

JobLoop::~JobLoop() {
  close(epoll_fd_);
  if (inotify_fd_ >= 0) close(inotify_fd_);
}

Seconds JobLoop::now() const { return static_cast<double>(monotonic_ns() - began_ns_) * 1e-9; }

void JobLoop::watch(int fd, std::uint64_t tag) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0);
}

LaunchReport JobLoop::run() {
  launcher_.begin(now());
  obey();
  while (!launcher_.verdict() || !remains_.empty()) {
    wait_for_events();
    if (launcher_.wake_at() <= now()) launcher_.woken(now());
    for (auto& [member, entry] : members_) {
      if (entry.give_up_at > now()) continue;
      entry.give_up_at = kNever;
      entry.process.kill_here();
    }
    obey();
    relay_.pump();
  }
  drain_logs();
  LaunchReport report{facts_.job, facts_.log_dir, false, now(), *launcher_.verdict(), reports_};
  if (report.verdict.failed) {
    MemberReport& failed = report.members[*report.verdict.failed];
    failed.last_lines = last_lines(failed.err_path, failed.err_begin, kShownLines);
    if (failed.last_lines.empty()) {
      failed.last_lines = last_lines(failed.out_path, failed.out_begin, kShownLines);
    }
  }
  return report;
}

void JobLoop::obey() {
  // Starting can fail, which is an event and brings new commands.
  for (auto commands = launcher_.take_commands(); !commands.empty();
       commands = launcher_.take_commands()) {
    for (const LaunchCommand& command : commands) {
      if (const auto* rank = std::get_if<StartRank>(&command)) start(*rank);
      if (const auto* order = std::get_if<SignalMember>(&command)) signal(*order);
      if (const auto* words = std::get_if<Say>(&command)) relay_.say(words->text);
    }
  }
}

ChildPlan JobLoop::plan_of(const StartRank& start, MemberReport& report) {
  const Host& host = plan_.hosts[place_of(plan_.hosts, start.rank, start.world).host];
  report.start = start;
  report.host = host.name;
  report.began_s = now();
  const std::string log =
      fmt::format("{}/rank-{}.member-{}", facts_.log_dir, start.rank, start.member);
  report.out_path = log + ".out";
  report.err_path = log + ".err";
  report.out_begin = size_of_file(report.out_path);
  report.err_begin = size_of_file(report.err_path);
  const Variables defaults = default_variables(std::max(plan_.rules.ranks, plan_.rules.most));
  ChildPlan child;
  child.out_path = report.out_path;
  child.err_path = report.err_path;
  JobFacts facts = facts_;
  if (host.local()) {
    Variables variables = rank_variables(facts, start);
    variables.emplace_back("WEFT_SECRET_FILE", secret_path_);
    child.words = plan_.command;
    child.environment = full_environment(defaults, variables);
  } else {
    if (plan_.log_dir.empty()) facts.log_dir.clear();  // a private folder of this host
    std::error_code ignored;
    child.words = over(way_to(plan_, host),
                       rank_script(defaults, rank_variables(facts, start),
                                   std::filesystem::current_path(ignored), plan_.command));
    child.environment = full_environment({}, {});
    child.input = secret_.hex() + "\n";
  }
  const Result<std::string> program = find_program(child.words[0]);
  child.program = program.ok() ? *program : child.words[0];
  return child;
}

void JobLoop::start(const StartRank& start) {
  if (port_epoch_ != start.epoch) {
    const Result<int> port = free_port();
    if (port.ok()) facts_.master_port = *port;
    port_epoch_ = start.epoch;
  }
  CHECK(start.member == reports_.size());
  MemberReport& report = reports_.emplace_back();
  const ChildPlan child = plan_of(start, report);
  const std::string prefix = plan_.prefix ? fmt::format("[rank {}] ", start.rank) : "";
  relay_.follow(start.member, FileFollower(report.out_path, report.out_begin, prefix),
                FileFollower(report.err_path, report.err_begin, prefix));
  Result<ChildProcess> process = ChildProcess::start(child);
  if (!process.ok()) {
    relay_.say(fmt::format("rank {}: {}", start.rank, process.error().what));
    return ended(start.member, kNotStarted);
  }
  report.pid = process->pid();
  watch(process->ended_fd(), start.member);
  members_.emplace(start.member, Member{std::move(*process), child.input.has_value()});
}

void JobLoop::signal(const SignalMember& command) {
  const auto at = members_.find(command.member);
  if (at == members_.end()) return;
  at->second.process.signal(command.signal);
  if (at->second.remote && command.signal == SIGKILL) {
    at->second.give_up_at = now() + kRemoteKill_s;
  }
}

Seconds JobLoop::next_wake() const {
  Seconds at = launcher_.wake_at();
  for (const auto& [member, entry] : members_) at = std::min(at, entry.give_up_at);
  if (inotify_fd_ < 0) at = std::min(at, now() + kLogLook_s);
  if (relay_.blocked()) at = std::min(at, now() + kSlowReader_s);
  return at;
}

void JobLoop::wait_for_events() {
  const Seconds wait = relay_.pump() && !relay_.blocked() ? 0 : next_wake() - now();
  const int timeout_ms =
      wait == kNever ? -1 : static_cast<int>(std::ceil(std::clamp(wait, 0.0, 3600.0) * 1e3));
  epoll_event events[64];
  const int count = epoll_wait(epoll_fd_, events, 64, timeout_ms);
  // In the order in which they happened, so that the first to fail is known.
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[i].data.u64;
    if (tag == kLogs) {
      char told[4096];
      while (read(inotify_fd_, told, sizeof told) > 0) {
      }
    } else if (tag != kSignals) {
      leader_ended(static_cast<MemberId>(tag));
    }
  }
  for (const int number : signals_.take()) {
    if (number != SIGCHLD) launcher_.signalled(number, now());
  }
  look_at_groups();
  reap_strangers();
}

void JobLoop::leader_ended(MemberId member) {
  const auto at = members_.find(member);
  if (at == members_.end()) return;
  Member& entry = at->second;
  const std::optional<int> code = entry.process.reap();
  if (!code) return;
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, entry.process.ended_fd(), nullptr);
  entry.leader_ended = true;
  if (launcher_.stopping()) {
    // What it leaves behind was not asked yet, and has the rest of the grace time.
    return entry.process.signal(SIGTERM);
  }
  entry.process.signal(SIGKILL);
  remains_.push_back(std::move(entry.process));
  members_.erase(at);
  ended(member, *code);
}

void JobLoop::ended(MemberId member, int code) {
  reports_[member].code = code;
  reports_[member].ended_s = now();
  relay_.close(member);
  if (code != 0) look_who_joined();
  launcher_.exited(member, code, now());
}

void JobLoop::look_at_groups() {
  std::erase_if(remains_, [](ChildProcess& process) { return !process.group_lives(); });
  std::vector<std::pair<MemberId, int>> gone;
  for (auto& [member, entry] : members_) {
    if (!entry.leader_ended || entry.process.group_lives()) continue;
    gone.emplace_back(member, entry.process.reap().value_or(0));
  }
  for (const auto& [member, code] : gone) {
    members_.erase(member);
    ended(member, code);
  }
}

// Orphans that left their rank's group are nobody's; they only must not stay as zombies.
void JobLoop::reap_strangers() {
  while (true) {
    siginfo_t info = {};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const auto is_rank = [&](const auto& entry) {
      return entry.second.process.pid() == info.si_pid;
    };
    // A rank is left for its own event, which is on its way.
    if (std::any_of(members_.begin(), members_.end(), is_rank)) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

void JobLoop::look_who_joined() {
  if (!plan_.rules.elastic()) return;
  constexpr Seconds kLook_s = 1;
  for (const MemberId member : launcher_.unsettled()) {
    if (!store_) {
      auto client = StoreClient::connect(store_address_, secret_, kLook_s);
      if (!client.ok()) return;
      store_ = std::move(*client);
    }
    const Result<std::string> said = store_->look(joined_key(member), kLook_s);
    if (said.ok()) {
      launcher_.joined(member);
    } else if (said.error().kind != ErrorKind::kNotFound) {
      store_.reset();
      return;
    }
  }
}

void JobLoop::drain_logs() {
  const Seconds deadline = now() + kLastLines_s;
  while (relay_.pump() && now() < deadline) {
    if (relay_.blocked()) usleep(static_cast<useconds_t>(kSlowReader_s * 1e6));
  }
}

}  // namespace weft::runtime

// The keepers of the ranks of this node: started, adopted, heard, and settled when they are gone.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/stopwatch.h"
#include "live/agent/json_fields.h"
#include "live/agent/keeper_link.h"
#include "live/agent/process_tree.h"
#include "live/agent/run_table.h"

namespace weft::live {
namespace {

constexpr std::int64_t kStartDeadlineNs = 30'000'000'000;
constexpr Seconds kStopSlack = 3;  // beyond the grace, after which a keeper does not do its work
constexpr Seconds kRankLookAgain = 0.005;

Seconds now_s() { return 1e-9 * static_cast<double>(monotonic_ns()); }

}  // namespace

RunTable::Run* RunTable::find(const RunKey& key) {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

RunTable::Rank* RunTable::find(const RunKey& key, int rank) {
  Run* run = find(key);
  if (run == nullptr) return nullptr;
  const auto found = run->ranks.find(rank);
  return found == run->ranks.end() ? nullptr : &found->second;
}

Status RunTable::sync_order(const RunKey& key) {
  const std::string path = settings_.paths.order(key);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fdatasync(file) == 0;
  if (file >= 0) close(file);
  if (!synced) return Error{ErrorKind::kIo, "cannot sync " + path, ""};
  if (Status run = sync_folder(settings_.paths.run(key)); !run.ok()) return run;
  return sync_folder(settings_.paths.runs());
}

GroupLimits RunTable::limits_of(const RankShare& share) const {
  GroupLimits limits;
  limits.cpu_milli = share.cpu_milli;
  limits.weight_milli = share.milli * std::max(1, static_cast<int>(share.devices.size()));
  limits.cpus = share.cpus;
  if (share.cpu_more) {
    // Weights are in thousandths of a processor, so that whoever has more of them gets more.
    limits.weight_milli = std::max(limits.weight_milli, share.cpu_milli);
    limits.cpu_milli = 0;
  }
  (share.memory_more ? limits.kept_memory : limits.memory) = share.memory;
  for (const NodeDevice& device : settings_.facts.devices) {
    const bool given =
        std::find(share.devices.begin(), share.devices.end(), device.index) != share.devices.end();
    if (!given && device.major >= 0) limits.denied.emplace_back(device.major, device.minor);
  }
  return limits;
}

int RunTable::free_traffic_class() const {
  std::set<int> taken;
  for (const auto& [key, run] : runs_) {
    for (const auto& [number, rank] : run.ranks) taken.insert(rank.setup.traffic_class);
  }
  int free = 1;
  while (taken.contains(free)) ++free;
  return free;
}

Status RunTable::set_traffic(const Rank& rank) const {
  const auto group = rank.setup.groups.find("traffic");
  if (rank.setup.traffic_class == 0 || group == rank.setup.groups.end()) return {};
  return settings_.traffic.set(group->second, rank.setup.traffic_class,
                               {rank.share.network_guarantee, rank.share.network_limit});
}

// What must be there before the rank's command is.
Status RunTable::prepare(const Rank& rank) const {
  const Status made = settings_.groups.make(rank.setup, limits_of(rank.share));
  return made.ok() ? set_traffic(rank) : made;
}

void RunTable::plan(const Run& run, Rank& rank) {
  RankSetup& setup = rank.setup;
  const NodeReach& reach = settings_.facts.reach;
  if (!reach.space.empty()) setup.network_space = "/run/netns/" + reach.space;
  if (!reach.interface.empty()) {
    for (const char* name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
      setup.environment[name] = reach.interface;
    }
  }
  if (!run.order.group.empty()) {
    setup.environment["WEFT_SECRET_FILE"] = settings_.paths.secret(run.order.key);
  }
  if (settings_.traffic.works() && settings_.groups.has("traffic")) {
    setup.traffic_class = free_traffic_class();  // also without a share: ranks get the same then
  } else if (rank.share.network_limit > 0) {
    setup.environment["WEFT_PACE_BYTES_PER_S"] = fmt::format("{:.0f}", rank.share.network_limit);
  }
  std::string cuda;
  for (const int index : rank.share.devices) {
    const NodeDevice& device = settings_.facts.devices[static_cast<std::size_t>(index)];
    if (device.kind == "cuda") cuda += fmt::format("{}{}", cuda.empty() ? "" : ",", index);
  }
  if (!cuda.empty()) {
    setup.environment["CUDA_VISIBLE_DEVICES"] = cuda;
    if (rank.share.milli < 1000) {
      setup.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] =
          fmt::format("{:g}", 0.1 * rank.share.milli);
    }
  }
  if (!settings_.groups.has("memory") && !rank.share.memory_more) {
    setup.data_limit = rank.share.memory;
  }
  if (!settings_.groups.has("cpuset")) {
    setup.cpus = rank.share.cpus.empty() ? settings_.facts.cpus : rank.share.cpus;
  }
  settings_.groups.plan(name_of(run.order.key, rank.share.rank), setup);
}

void RunTable::spawn_keeper(Run& run, Rank& rank) {
  const RunKey& key = run.order.key;
  rank.kill_keeper_at_ns = monotonic_ns() + kStartDeadlineNs;
  const auto link = server_->fork_keeper(key, rank.share.rank);
  Status linked = link.ok() ? port_->adopt(*link) : Status(link.error());
  if (linked.ok()) {
    rank.link = *link;
    links_[rank.link] = {key, rank.share.rank};
    return;
  }
  if (link.ok()) close(*link);
  set_end(run, rank, {kNotStarted, 0, linked.error().what, false, now_s()}, true);
}

void RunTable::watch(Run& run, Rank& rank, pid_t keeper) {
  rank.keeper = keeper;
  // By number: the header of glibc 2.36 does not declare its function for C++.
  rank.pidfd = static_cast<int>(syscall(SYS_pidfd_open, keeper, 0));
  await_keeper(run, rank);
}

void RunTable::await_keeper(const Run& run, Rank& rank) {
  const RunKey key = run.order.key;
  const int number = rank.share.rank;
  if (rank.pidfd >= 0 && reactor_
                             .add(rank.pidfd, EPOLLIN,
                                  [this, key, number](std::uint32_t) { keeper_ended(key, number); })
                             .ok()) {
    return;
  }
  if (rank.pidfd >= 0) close(std::exchange(rank.pidfd, -1));
  // It has ended already, or there are too few descriptors; both are looked at again.
  look_again(key, number);
}

void RunTable::look_again(const RunKey& key, int number) {
  reactor_.after(kRankLookAgain, [this, life = std::weak_ptr<int>(life_), key, number] {
    if (life.expired()) return;
    Rank* rank = find(key, number);
    if (rank != nullptr && !rank->end) settle(*find(key), *rank);
  });
}

void RunTable::release(Rank& rank) {
  if (rank.pidfd >= 0) {
    reactor_.remove(rank.pidfd);
    close(std::exchange(rank.pidfd, -1));
  }
  if (rank.link >= 0) {
    links_.erase(rank.link);
    port_->drop(std::exchange(rank.link, -1));
  }
}

void RunTable::tell(Rank& rank, const Json& message) {
  if (rank.link < 0 || send_message(rank.link, message)) return;
  links_.erase(rank.link);
  port_->drop(std::exchange(rank.link, -1));  // it comes back when it can listen again
}

void RunTable::tell_lease(const Run& run, Rank& rank, const char* word) {
  const std::int64_t until = run.order.ends_without_controller
                                 ? controller_until_ns_
                                 : monotonic_ns() + static_cast<std::int64_t>(lease_s_ * 1e9);
  tell(rank, {{"do", word}, {"until_ns", until}, {"lease_s", lease_s_}});
}

void RunTable::stop_rank(const Run& run, Rank& rank) {
  rank.kill_keeper_at_ns =
      monotonic_ns() +
      static_cast<std::int64_t>((run.stop.value("grace_s", 0.0) + kStopSlack) * 1e9);
  tell(rank, run.stop);
}

void RunTable::keeper_came(int link, pid_t peer, const Json& message) {
  const auto named = read_run_key(message);
  Run* run = named.ok() ? run_of_keeper(*named) : nullptr;
  Rank* rank = run != nullptr ? find(run->order.key, message.value("rank", -1)) : nullptr;
  if (rank == nullptr || rank->keeper != peer || rank->end || !message.value("claimed", false)) {
    return port_->drop(link);
  }
  if (rank->link >= 0) {
    links_.erase(rank->link);
    port_->drop(rank->link);
  }
  rank->link = link;
  links_[link] = {run->order.key, rank->share.rank};
  tell_lease(*run, *rank, "alive");
  rank->behind = named->epoch != run->order.key.epoch;
  rank->command = message.value("pid", -1);
  rank->executed = message.value("exec", false);
  rank->frozen = message.value("frozen", false);
  if (rank->executed && !run->stopping) rank->kill_keeper_at_ns = 0;
  if (run->stopping) {
    stop_rank(*run, *rank);
  } else if (run->active && (run->op == "freeze" || run->op == "thaw")) {
    tell(*rank, {{"do", run->op}});
  } else if (rank->behind) {
    tell_to_go_on(*run, *rank);
  }
  conclude(*run);
}

void RunTable::keeper_said(int link, const Json& message) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  Run* run = find(found->second.first);
  Rank* rank = find(found->second.first, found->second.second);
  if (rank == nullptr) return;
  const std::string is = message.value("is", "");
  if (is == "keeper") {
    watch(*run, *rank, message.value("keeper", -1));
  } else if (is == "exec") {
    rank->command = message.value("pid", -1);
    rank->executed = true;
    if (!run->stopping) rank->kill_keeper_at_ns = 0;
    conclude(*run);
  } else if (is == "froze") {
    rank->frozen = message.value("frozen", false);
    rank->behind = message.value("epoch", std::uint64_t{0}) != run->order.key.epoch;
    if (!message.value("well", true) && run->result.empty()) {
      return answer(*run, "failed", fmt::format("rank {}: the kernel refused", rank->share.rank));
    }
    conclude(*run);
  } else if (is == "progress" && message.contains("values")) {
    Json out = message["values"];
    out["op"] = "progress";
    out["uuid"] = run->order.key.uuid;
    out["epoch"] = run->order.key.epoch;
    out["rank"] = rank->share.rank;
    settings_.say(out);
  } else if (is == "ended") {
    rank->said_end =
        RankEnd{message.value("code", 0), message.value("signal", 0), message.value("why", ""),
                message.value("ran", false), message.value("at_s", now_s())};
  }
}

void RunTable::link_ended(int link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const auto [key, number] = found->second;
  links_.erase(found);
  Rank* rank = find(key, number);
  if (rank == nullptr) return;
  rank->link = -1;
  // One that has claimed comes back if it lives. One that has not is gone, or never came to be.
  const auto claim = claim_of(*find(key), *rank);
  if (rank->end || (claim && claim->held)) return;
  release(*rank);
  settle(*find(key), *rank);
}

void RunTable::keeper_ended(const RunKey& key, int number) {
  Rank* rank = find(key, number);
  CHECK(rank != nullptr);
  // What it said last may still be in the link.
  if (rank->link >= 0) port_->read_rest(rank->link);
  release(*rank);
  settle(*find(key), *rank);
}

// Finds out what became of a rank whose keeper is gone or was started by the agent before.
void RunTable::settle(Run& run, Rank& rank) {
  const RunKey& key = run.order.key;
  const int number = rank.share.rank;
  if (rank.end || rank.sweeping) return;
  const auto end = read_end(settings_.paths, key, number);
  if (end) return sweep(key, number, end);
  const auto claim = claim_of(run, rank);
  if (claim && claim->held) {
    if (rank.pidfd >= 0) return;
    rank.command = claim->command;
    rank.executed = claim->command > 0;
    rank.frozen = is_frozen(rank.setup);
    watch(run, rank, claim->keeper);
    // It may have ended, and its number gone to another process, before it was watched.
    const auto now = claim_of(run, rank);
    if (now && now->held) return;
    release(rank);
    return look_again(key, number);
  }
  if (claim) {
    rank.command = claim->command;
    return sweep(key, number, rank.said_end);
  }
  // Nobody has claimed it, and nobody shall: we do.
  if (!Claim::make(settings_.paths, key, number).ok()) return look_again(key, number);
  const std::string why = run.result.empty() && !run.why.empty() ? run.why
                          : run.stopping                         ? "stopped"
                                                                 : "it was not started";
  sweep(key, number, RankEnd{kNotStarted, 0, why, false, now_s()});
}

// Ends what a rank may have left, then takes note of its end. No end: its keeper is gone without a
// word.
void RunTable::sweep(const RunKey& key, int number, const std::optional<RankEnd>& end) {
  Rank* rank = find(key, number);
  if (rank == nullptr || rank->end) return;
  rank->sweeping = true;
  if (rank->executed || rank->command > 0) measure(*rank);
  const bool beside = execs_->kill(key, number, fmt::format("rank {} has ended", number));
  bool gone = clear_groups(rank->setup);
  if (rank->setup.groups.empty() && (beside || !end)) {
    const std::vector<pid_t> left =
        marked_processes(mark_of({key.uuid, find(key)->marked}, number));
    for (const pid_t process : left) kill(process, SIGKILL);
    gone = left.empty();
  }
  if (!gone) {
    reactor_.after(kRankLookAgain, [this, life = std::weak_ptr<int>(life_), key, number, end] {
      if (!life.expired()) sweep(key, number, end);
    });
    return;
  }
  if (rank->setup.traffic_class > 0) settings_.traffic.drop(rank->setup.traffic_class);
  set_end(*find(key), *rank, end.value_or(RankEnd{0, SIGKILL, "keeper lost", true, now_s()}), true);
}

void RunTable::set_end(Run& run, Rank& rank, const RankEnd& end, bool write) {
  release(rank);
  rank.sweeping = false;
  rank.end = end;
  rank.executed = end.ran;
  if (write && !is_file(settings_.paths.end(run.order.key, rank.share.rank))) {
    const Status written = write_end(settings_.paths, run.order.key, rank.share.rank, end);
    if (!written.ok()) settings_.log(written.error().what);
  }
  say_end(run, rank);
  if (run.active) conclude(run);
}

void RunTable::set_lease(std::int64_t until_ns, Seconds lease_s) {
  controller_until_ns_ = std::max(controller_until_ns_, until_ns);
  lease_s_ = lease_s;
}

void RunTable::tick() {
  if (Status there = server_->start(); !there.ok()) settings_.log(there.error().what);
  const std::int64_t now = monotonic_ns();
  for (auto& [key, run] : runs_) {
    for (auto& [number, rank] : run.ranks) {
      if (rank.end) continue;
      tell_lease(run, rank, "alive");
      if (rank.kill_keeper_at_ns == 0 || now < rank.kill_keeper_at_ns) continue;
      settings_.log(fmt::format("the keeper of rank {} of {} does not do its work and is killed",
                                number, key.text()));
      rank.kill_keeper_at_ns = now + kStartDeadlineNs;
      if (rank.pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, rank.pidfd, SIGKILL, nullptr, 0);
      } else {
        release(rank);  // it has not even come: without the link it will not begin
        look_again(key, number);
      }
    }
  }
}

}  // namespace weft::live

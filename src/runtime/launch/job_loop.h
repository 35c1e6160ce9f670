// The loop of a launcher: turns what happens to processes into events of Launcher, and its commands
// into processes and signals.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "runtime/launch/child_process.h"
#include "runtime/launch/launch_job.h"
#include "runtime/launch/log_relay.h"
#include "runtime/launch/remote_command.h"
#include "runtime/launch/signal_events.h"
#include "runtime/net/store.h"

namespace weft::runtime {

Way way_to(const LaunchPlan& plan, const Host& host);

class JobLoop {
 public:
  // Requires: adopt_orphans() was called; `plan` outlives the loop.
  JobLoop(const LaunchPlan& plan, JobFacts facts, const Secret& secret, std::string secret_path,
          SignalEvents signals, std::string store_address);
  ~JobLoop();
  JobLoop(const JobLoop&) = delete;
  JobLoop& operator=(const JobLoop&) = delete;

  void say(const std::string& line) { relay_.say(line); }
  // Runs until every rank has ended. Call once.
  LaunchReport run();

 private:
  struct Member {
    ChildProcess process;
    bool remote = false;
    bool leader_ended = false;
    Seconds give_up_at = kNever;  // on a remote shell that was told to kill
  };

  Seconds now() const;
  void obey();
  void start(const StartRank& start);
  ChildPlan plan_of(const StartRank& start, MemberReport& report);
  void signal(const SignalMember& command);
  void wait_for_events();
  void leader_ended(MemberId member);
  void ended(MemberId member, int code);
  void look_at_groups();
  void reap_strangers();
  void look_who_joined();
  Seconds next_wake() const;
  void drain_logs();
  void watch(int fd, std::uint64_t tag);

  const LaunchPlan& plan_;
  JobFacts facts_;
  Secret secret_;
  std::string secret_path_;
  SignalEvents signals_;
  std::string store_address_;
  std::unique_ptr<StoreClient> store_;
  Launcher launcher_;
  LogRelay relay_;
  std::int64_t began_ns_;
  int epoll_fd_ = -1, inotify_fd_ = -1;
  int port_epoch_ = 0;  // of the job, for which facts_.master_port was found
  std::map<MemberId, Member> members_;
  std::list<ChildProcess> remains_;    // groups that were killed after their leader ended
  std::vector<MemberReport> reports_;  // by member
};

}  // namespace weft::runtime

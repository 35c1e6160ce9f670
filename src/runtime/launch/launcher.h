// The brain of `weft launch`: which rank is started, signalled or given up, and when. It is fed
// with events and answers with commands; it knows no process and no clock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "runtime/transport.h"

namespace weft::runtime {

struct LaunchRules {
  int ranks = 1;
  // Elastic: ranks that fail are replaced one by one. `most` 0: not elastic.
  int least = 0, most = 0;
  // How often the whole job may start again; elastic: how many replacements of a rank may fail in a
  // row while fewer than `least` are well.
  int max_restarts = 0;
  Seconds grace_s = 30;  // between SIGTERM and SIGKILL

  bool elastic() const { return most > 0; }
};

// A joiner counts as well when it says so (joined_key), or after this long.
inline constexpr Seconds kSettledAfter_s = 10;
// The wait before the second replacement in a row; doubles up to the longest.
inline constexpr Seconds kFirstDelay_s = 0.25, kLongestDelay_s = 30;

// The key in the store by which a joiner says that it has the state of the job.
std::string joined_key(MemberId member);

struct StartRank {
  int rank = 0;
  MemberId member = 0;
  int epoch = 1;  // of the job
  int world = 1;  // ranks that run, with this one, when all is well
  bool join = false;
};
struct SignalMember {
  MemberId member = 0;
  int signal = 0;
};
struct Say {
  std::string text;  // one line for the user
};
using LaunchCommand = std::variant<StartRank, SignalMember, Say>;

struct Verdict {
  int exit_code = 0;               // 0, or that of the member that failed first
  std::optional<MemberId> failed;  // whose log tells why; absent when ranks ended as asked
  std::string why;                 // a sentence
};

// "exit code 3", "SIGKILL".
std::string name_of_end(int code);

class Launcher {
 public:
  // Requires: ranks >= 1; elastic: 1 <= least <= ranks <= most.
  explicit Launcher(const LaunchRules& rules);

  // Events, with the seconds since the start; time never runs backwards.
  void begin(Seconds now);
  // `code` is the exit code, or 128 + signal. Requires: the member was started and has not exited.
  void exited(MemberId member, int code, Seconds now);
  // The member said that it has joined. Members that are gone are passed over.
  void joined(MemberId member);
  // SIGUSR1: checkpoint; SIGUSR2: one rank more; SIGTERM, SIGHUP, SIGINT: leave.
  void signalled(int signal, Seconds now);
  void woken(Seconds now);

  // When woken() wants to be called; kNever: not at all.
  Seconds wake_at() const;
  // What to do now, in this order.
  std::vector<LaunchCommand> take_commands();
  // Whether ranks have been asked to leave.
  bool stopping() const { return stop_ != Stop::kNo; }
  // Members that run and have not settled: those whose joined_key is worth a look.
  std::vector<MemberId> unsettled() const;
  // Set when everything has ended.
  const std::optional<Verdict>& verdict() const { return verdict_; }

 private:
  enum class Stop { kNo, kAsked, kFailed, kRestart };
  struct Run {
    int rank = 0;
    Seconds started = 0;
    bool settled = false;  // it has the state of the job
  };
  struct Rank {
    int failures_in_a_row = 0;
    Seconds start_at = kNever;  // of the next process, while none runs
    bool join = false;          // that process
  };

  void start_due(Seconds now);
  void start_all(Seconds at);
  void stop(Stop why, Seconds now);
  void signal_all(int signal);
  void grow(Seconds now);
  void fail(MemberId member, const Run& run, int code, Seconds now);
  void replace(MemberId member, const Run& run, int code, Seconds now);
  void ended_if_empty(Seconds now);
  void remember_first(MemberId member, int rank, int code);
  void say(std::string text) { commands_.push_back(Say{std::move(text)}); }
  static bool well(const Run& run, Seconds now);
  int count_well(Seconds now) const;

  LaunchRules rules_;
  std::vector<Rank> ranks_;
  std::map<MemberId, Run> running_;
  std::vector<LaunchCommand> commands_;
  MemberId next_member_ = 0;
  int epoch_ = 1, restarts_ = 0, ended_well_ = 0;
  int starts_in_vain_ = 0;  // of all ranks, in a row, with nobody well after them
  bool asked_ = false;
  Stop stop_ = Stop::kNo;
  Seconds kill_at_ = kNever, restart_delay_ = 0;
  std::optional<Verdict> first_, verdict_;
};

}  // namespace weft::runtime

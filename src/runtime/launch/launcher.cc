#include "runtime/launch/launcher.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace weft::runtime {
namespace {

Seconds delay_after(int failures_in_a_row) {
  if (failures_in_a_row <= 1) return 0;
  return std::min(kLongestDelay_s, kFirstDelay_s * std::exp2(failures_in_a_row - 2));
}

}  // namespace

std::string joined_key(MemberId member) { return fmt::format("launch/joined/{}", member); }

std::string name_of_end(int code) {
  const char* name = code > 128 ? sigabbrev_np(code - 128) : nullptr;
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("exit code {}", code);
}

Launcher::Launcher(const LaunchRules& rules)
    : rules_(rules), ranks_(static_cast<std::size_t>(rules.ranks)) {
  CHECK(rules.ranks >= 1 && rules.max_restarts >= 0 && rules.grace_s >= 0);
  CHECK(!rules.elastic() ||
        (1 <= rules.least && rules.least <= rules.ranks && rules.ranks <= rules.most));
}

void Launcher::begin(Seconds now) {
  start_all(now);
  start_due(now);
}

void Launcher::start_all(Seconds at) {
  for (Rank& rank : ranks_) {
    rank.start_at = at;
    rank.join = false;
  }
}

void Launcher::start_due(Seconds now) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.start_at > now) continue;
    rank.start_at = kNever;
    const MemberId member = next_member_++;
    const bool has_state = !rank.join && rank.failures_in_a_row == 0;
    running_[member] = {static_cast<int>(r), now, has_state};
    commands_.push_back(
        StartRank{static_cast<int>(r), member, epoch_, static_cast<int>(ranks_.size()), rank.join});
  }
}

void Launcher::exited(MemberId member, int code, Seconds now) {
  const auto at = running_.find(member);
  CHECK(at != running_.end());
  const Run run = at->second;
  // Judged while it still counts: a rank that was well begins a new row of failures.
  if (well(run, now)) {
    ranks_[static_cast<std::size_t>(run.rank)].failures_in_a_row = 0;
    starts_in_vain_ = 0;
  }
  running_.erase(at);
  if (stopping()) {
    if (asked_ && code != 0) remember_first(member, run.rank, code);
  } else if (code == 0) {
    // The job is coming to its end; nobody could bring a joiner up to date any more.
    ++ended_well_;
    for (Rank& rank : ranks_) rank.start_at = kNever;
  } else {
    fail(member, run, code, now);
  }
  ended_if_empty(now);
}

void Launcher::fail(MemberId member, const Run& run, int code, Seconds now) {
  if (rules_.elastic() && ended_well_ == 0) return replace(member, run, code, now);
  remember_first(member, run.rank, code);
  if (rules_.elastic()) {
    return say(fmt::format("rank {} ended with {} while others end well; it is not replaced",
                           run.rank, name_of_end(code)));
  }
  stop(restarts_ < rules_.max_restarts ? Stop::kRestart : Stop::kFailed, now);
}

void Launcher::replace(MemberId member, const Run& run, int code, Seconds now) {
  Rank& rank = ranks_[static_cast<std::size_t>(run.rank)];
  const int others_well = count_well(now);
  starts_in_vain_ = others_well == 0 ? starts_in_vain_ + 1 : 0;
  // Whichever rank fails first each time, a job that never gets going ends as one rank would.
  const int failures = std::max(++rank.failures_in_a_row, starts_in_vain_);
  const std::string end =
      fmt::format("rank {} (member {}) ended with {}", run.rank, member, name_of_end(code));
  if (failures > rules_.max_restarts && others_well < rules_.least) {
    remember_first(member, run.rank, code);
    first_->why = fmt::format(
        "{}; {} failed {} times in a row (at most {} replacements may fail) and {} of at least {} "
        "ranks are well",
        end, failures == rank.failures_in_a_row ? "it" : "the job", failures, rules_.max_restarts,
        others_well, rules_.least);
    return stop(Stop::kFailed, now);
  }
  const Seconds delay = delay_after(failures);
  if (others_well == 0) {
    say(fmt::format("{}; nobody is left who has the state, so all ranks start again", end));
    restart_delay_ = delay;
    return stop(Stop::kRestart, now);
  }
  say(delay == 0 ? fmt::format("{}; member {} takes its place", end, next_member_)
                 : fmt::format("{}, {} times in a row; another takes its place in {:g} s", end,
                               failures, delay));
  rank.start_at = now + delay;
  rank.join = true;
  start_due(now);
}

void Launcher::remember_first(MemberId member, int rank, int code) {
  if (first_) return;
  first_ =
      Verdict{code, member,
              fmt::format("rank {} (member {}) ended with {}", rank, member, name_of_end(code))};
  // What we ended ourselves needs no log to explain it.
  if (asked_ && (code == 128 + SIGTERM || code == 128 + SIGKILL)) first_->failed.reset();
}

void Launcher::joined(MemberId member) {
  if (const auto at = running_.find(member); at != running_.end()) at->second.settled = true;
}

bool Launcher::well(const Run& run, Seconds now) {
  return run.settled || now - run.started >= kSettledAfter_s;
}

int Launcher::count_well(Seconds now) const {
  return static_cast<int>(std::count_if(running_.begin(), running_.end(), [&](const auto& entry) {
    return well(entry.second, now);
  }));
}

std::vector<MemberId> Launcher::unsettled() const {
  std::vector<MemberId> members;
  for (const auto& [member, run] : running_) {
    if (!run.settled) members.push_back(member);
  }
  return members;
}

void Launcher::signalled(int signal, Seconds now) {
  if (verdict_) return;
  if (signal == SIGUSR1) return stopping() ? void() : signal_all(SIGUSR1);
  if (signal == SIGUSR2) return grow(now);
  if (asked_ && signal == SIGINT) {
    say("killing the ranks at once");
    kill_at_ = kNever;
    return signal_all(SIGKILL);
  }
  const bool first_time = !asked_;
  asked_ = true;
  for (Rank& rank : ranks_) rank.start_at = kNever;
  if (running_.empty()) {
    first_ = Verdict{128 + signal, std::nullopt, "asked to leave before any rank ran again"};
  }
  if (!stopping()) {
    stop(Stop::kAsked, now);
  } else if (first_time && stop_ == Stop::kRestart) {
    stop_ = Stop::kFailed;  // it is ending already; it will not start again
  }
  ended_if_empty(now);
}

void Launcher::grow(Seconds now) {
  if (stopping() || ended_well_ > 0) return;
  if (!rules_.elastic() || static_cast<int>(ranks_.size()) >= rules_.most) {
    return say(rules_.elastic()
                   ? fmt::format("no rank is added: {} is the most of --elastic", rules_.most)
                   : std::string("no rank is added: the job is not elastic"));
  }
  ranks_.push_back({0, now, true});
  say(fmt::format("rank {} is added as member {}", ranks_.size() - 1, next_member_));
  start_due(now);
}

void Launcher::signal_all(int signal) {
  for (const auto& [member, run] : running_) commands_.push_back(SignalMember{member, signal});
}

void Launcher::stop(Stop why, Seconds now) {
  stop_ = why;
  for (Rank& rank : ranks_) rank.start_at = kNever;
  signal_all(SIGTERM);
  if (!running_.empty()) kill_at_ = now + rules_.grace_s;
}

void Launcher::woken(Seconds now) {
  if (kill_at_ <= now) {
    kill_at_ = kNever;
    say(fmt::format("{} of the ranks did not leave within {:g} s; killing them", running_.size(),
                    rules_.grace_s));
    signal_all(SIGKILL);
  }
  if (!stopping()) start_due(now);
}

Seconds Launcher::wake_at() const {
  Seconds at = kill_at_;
  for (const Rank& rank : ranks_) at = std::min(at, rank.start_at);
  return at;
}

std::vector<LaunchCommand> Launcher::take_commands() { return std::exchange(commands_, {}); }

void Launcher::ended_if_empty(Seconds now) {
  if (!running_.empty() || verdict_) return;
  kill_at_ = kNever;
  if (stop_ == Stop::kRestart) {
    ++restarts_;
    ++epoch_;
    stop_ = Stop::kNo;
    ended_well_ = 0;
    say(first_ ? fmt::format("{}; starting all ranks again ({} of {} times)", first_->why,
                             restarts_, rules_.max_restarts)
               : std::string("starting all ranks again"));
    first_.reset();
    start_all(now + restart_delay_);
    restart_delay_ = 0;
    return start_due(now);
  }
  for (const Rank& rank : ranks_) {
    if (rank.start_at != kNever) return;
  }
  const bool enough = rules_.elastic() && !stopping() && ended_well_ >= rules_.least;
  verdict_ = first_ && !enough ? *first_ : Verdict{0, std::nullopt, "all ranks ended well"};
}

}  // namespace weft::runtime

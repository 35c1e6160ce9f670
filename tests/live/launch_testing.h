// A running `weft launch` for tests: started in the background, waited for with a deadline, and
// gone with all its ranks afterwards.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/stopwatch.h"
#include "runtime/launch/child_process.h"
#include "runtime/launch/environment.h"
#include "tests/cross_testing.h"

namespace weft {

inline constexpr double kDeadline_s = 30;

// Looks again and again until it holds; false at the deadline.
inline bool wait_until(const std::function<bool()>& condition) {
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(kDeadline_s * 1e9);
  while (!condition()) {
    if (monotonic_ns() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline bool lives(pid_t pid) {
  // A zombie has ended; it only waits to be seen by whoever adopted it.
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t after_name = stat.rfind(") ");
  return after_name != std::string::npos && stat[after_name + 2] != 'Z';
}

// Ranks tell their process ids in files `pid.MEMBER` of the scratch folder: scripts begin with
// `tell`.
inline constexpr const char* kTell =
    "echo $$ >$T/pid.new.$WEFT_MEMBER; "
    "mv $T/pid.new.$WEFT_MEMBER $T/pid.$WEFT_MEMBER; ";

class Launch {
 public:
  // `options` before the command, which is `sh -c script`; T is the scratch folder.
  Launch(std::vector<std::string> options, const std::string& script)
      : Launch(std::move(options), {"sh", "-c", kTell + script}, 0) {}
  Launch(std::vector<std::string> options, std::vector<std::string> command, int) {
    std::vector<std::string> words = {WEFT_BINARY, "launch"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), command.begin(), command.end());
    const auto environment =
        runtime::full_environment({}, {{"T", scratch.path("")}, {"TMPDIR", scratch.path("")}});
    EXPECT_TRUE(runtime::adopt_orphans().ok());
    auto started =
        runtime::ChildProcess::start({WEFT_BINARY, words, environment, scratch.path("stdout"),
                                      scratch.path("stderr"), std::nullopt});
    EXPECT_TRUE(started.ok());
    if (started.ok()) process_.emplace(std::move(*started));
  }
  ~Launch() {
    if (process_ && !process_->reap()) process_->signal(SIGKILL);
    for (int member = 0; member < 64; ++member) {
      if (const pid_t rank = pid(member); rank > 0 && lives(rank)) kill(-rank, SIGKILL);
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  std::string out() const { return slurp(scratch.path("stdout")); }
  std::string err() const { return slurp(scratch.path("stderr")); }
  // 0 until the member has told it.
  pid_t pid(int member) const {
    return std::atoi(slurp(scratch.path("pid." + std::to_string(member))).c_str());
  }
  pid_t wait_for_member(int member) const {
    EXPECT_TRUE(wait_until([&] { return pid(member) > 0; })) << "member " << member << "\n"
                                                             << err();
    return pid(member);
  }
  void signal(int number) { process_->signal(number); }
  // The exit code; -1 at the deadline.
  int wait() {
    if (!process_ || !wait_until([&] { return process_->reap().has_value(); })) return -1;
    return *process_->reap();
  }
  void touch(const std::string& name) const { scratch.write(name, ""); }

  const Scratch scratch;

 private:
  std::optional<runtime::ChildProcess> process_;
};

// Waits in a script for a file of the scratch folder.
inline std::string await(const std::string& file) {
  return "while [ ! -e $T/" + file + " ]; do sleep 0.02; done; ";
}

}  // namespace weft

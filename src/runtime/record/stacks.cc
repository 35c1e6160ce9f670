#include "runtime/record/stacks.h"

#include <execinfo.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <vector>

#include "base/delimited.h"
#include "base/files.h"
#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

constexpr int kMostThreads = 256, kMostFrames = 64;

// What handlers write to; a process has one signal, so it has one of these. A handler finds its
// slot in the value sent with the signal, and the round in it, so that one that comes late writes
// nothing.
struct Slot {
  std::atomic<int> depth = -1;  // -1: no answer yet
  void* frames[kMostFrames] = {};
};
Slot slots[kMostThreads];
std::atomic<int> current_round = 0;
std::mutex saving;
constexpr int kRounds = 1 << 20;

extern "C" void write_stack_down(int, siginfo_t* info, void*) {
  const int before = errno;
  const int value = info->si_value.sival_int;
  if (info->si_code == SI_QUEUE && value >= 0 && value / kMostThreads == current_round.load()) {
    Slot& slot = slots[value % kMostThreads];
    // Does not allocate: prepare_stacks() has loaded the unwinder.
    const int depth = backtrace(slot.frames, kMostFrames);
    slot.depth.store(depth, std::memory_order_release);
  }
  errno = before;
}

bool ask(pid_t thread, int value) {
  siginfo_t info{};
  info.si_signo = stacks_signal();
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = value;
  return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, stacks_signal(), &info) == 0;
}

std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto number = parse_integer(entry.path().filename().string());
    if (number && *number != gettid()) threads.push_back(static_cast<pid_t>(*number));
  }
  return threads;
}

void nap() {
  const timespec pause{0, 500'000};
  nanosleep(&pause, nullptr);
}

void put(int file, const std::string& text) {
  [[maybe_unused]] const auto written = write(file, text.data(), text.size());
}

void describe_thread(int file, pid_t thread, const Slot* slot) {
  const auto name = read_file(fmt::format("/proc/self/task/{}/comm", thread), 64);
  put(file, fmt::format("\nthread {} ({})\n", thread,
                        name.ok() ? name->substr(0, name->find('\n')) : "ended"));
  const int depth = slot == nullptr ? -1 : slot->depth.load(std::memory_order_acquire);
  if (depth < 0) {
    put(file, "  did not answer\n");
    return;
  }
  // The first two are the handler and the kernel's return from it. No memory is allocated here.
  const int own = depth > 2 ? 2 : 0;
  backtrace_symbols_fd(slot->frames + own, depth - own, file);
}

}  // namespace

int stacks_signal() { return SIGRTMIN + 5; }

void prepare_stacks() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* frames[4];
    backtrace(frames, 4);
    struct sigaction action {};
    action.sa_sigaction = write_stack_down;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(stacks_signal(), &action, nullptr);
  });
}

Status save_stacks(const std::string& path, const std::string& why, Seconds at_most) {
  prepare_stacks();
  const std::lock_guard lock(saving);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    return Error{ErrorKind::kIo,
                 fmt::format("{} cannot be written: {}", path, std::strerror(errno)), ""};
  }
  put(file, why + "\n");
  const std::vector<pid_t> threads = other_threads();
  const int round = (current_round.load() + 1) % kRounds;
  for (Slot& slot : slots) slot.depth.store(-1);
  current_round.store(round);
  std::vector<int> asked;
  for (std::size_t i = 0; i < threads.size() && i < kMostThreads; ++i) {
    const int place = static_cast<int>(i);
    if (ask(threads[i], round * kMostThreads + place)) asked.push_back(place);
  }
  const std::int64_t until_ns = monotonic_ns() + static_cast<std::int64_t>(at_most * 1e9);
  const auto all_answered = [&] {
    for (const int place : asked) {
      if (slots[place].depth.load(std::memory_order_acquire) < 0) return false;
    }
    return true;
  };
  while (!all_answered() && monotonic_ns() < until_ns) nap();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    describe_thread(file, threads[i], i < kMostThreads ? &slots[i] : nullptr);
  }
  close(file);
  return {};
}

}  // namespace weft::runtime

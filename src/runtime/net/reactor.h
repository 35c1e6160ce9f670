// One thread that waits for many descriptors and timers. All of what it calls runs on that thread,
// one after the other, so that what is used only there needs no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::runtime {

class Reactor {
 public:
  using Handler = std::function<void(std::uint32_t events)>;
  using Function = std::function<void()>;
  using Timer = std::uint64_t;

  static Result<std::unique_ptr<Reactor>> start();
  // Ends the thread after what was posted before has run; later posts and open timers are dropped.
  // Descriptors stay open: they belong to whoever added them. Requires: not on the own thread.
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // From any thread. Functions run in the order in which they were posted.
  void post(Function function);
  // From any thread: runs the function on the reactor's thread and waits for its end.
  void call(const Function& function);
  bool inside() const { return std::this_thread::get_id() == thread_.get_id(); }

  // The rest only on the reactor's thread. `events` are those of epoll, level-triggered.
  // Ensures: after remove() the handler is not called again, not even for events seen before.
  Status add(int descriptor, std::uint32_t events, Handler handler);
  void modify(int descriptor, std::uint32_t events);
  void remove(int descriptor);
  Timer after(Seconds delay, Function function);
  void cancel(Timer timer);  // one that is over is ignored

 private:
  struct Watched {
    std::uint32_t generation = 0;
    std::shared_ptr<Handler> handler;  // shared with the call under way, which may remove itself
  };

  Reactor(int epoll, int wake) : epoll_(epoll), wake_(wake) {}
  void run();
  void run_posted();
  void run_timers();
  int wait_ms() const;

  int epoll_, wake_;
  std::uint32_t generation_ = 0;
  std::unordered_map<int, Watched> watched_;
  std::map<std::pair<std::int64_t, Timer>, Function> timers_;  // by time in ns
  std::unordered_map<Timer, std::int64_t> timer_times_;
  Timer last_timer_ = 0;

  std::mutex mutex_;
  std::vector<Function> posted_;  // under mutex_
  bool woken_ = false;            // under mutex_: the thread will look at posted_ before it sleeps
  bool stopping_ = false;         // under mutex_
  std::thread thread_;
};

}  // namespace weft::runtime

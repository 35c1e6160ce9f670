#include "runtime/net/reactor.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <limits>

#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kWakeKey = ~std::uint64_t{0};

Error system_error(const char* what) {
  return {ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)),
          errno == EMFILE ? "raise the limit of open files (ulimit -n)" : ""};
}

std::uint64_t watch_key(int descriptor, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(descriptor);
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::start() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return system_error("epoll_create1");
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const Error error = system_error("eventfd");
    close(epoll);
    return error;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeKey;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) == 0);
  std::unique_ptr<Reactor> reactor(new Reactor(epoll, wake));
  // The thread waits until its number is stored, because inside() reads it.
  std::unique_lock lock(reactor->mutex_);
  reactor->thread_ = std::thread([r = reactor.get()] {
    { const std::lock_guard started(r->mutex_); }
    r->run();
  });
  lock.unlock();
  return reactor;
}

Reactor::~Reactor() {
  CHECK(!inside());
  post([this] {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  });
  thread_.join();
  close(wake_);
  close(epoll_);
}

void Reactor::post(Function function) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(function));
    wake = !std::exchange(woken_, true);
  }
  if (wake) {
    const std::uint64_t one = 1;
    CHECK(write(wake_, &one, sizeof one) == sizeof one);
  }
}

void Reactor::call(const Function& function) {
  if (inside()) return function();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  post([&] {
    function();
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

Status Reactor::add(int descriptor, std::uint32_t events, Handler handler) {
  CHECK(inside() && !watched_.contains(descriptor));
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch_key(descriptor, ++generation_ & 0x7fffffff);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) return system_error("epoll_ctl");
  watched_[descriptor] = {generation_ & 0x7fffffff, std::make_shared<Handler>(std::move(handler))};
  return {};
}

void Reactor::modify(int descriptor, std::uint32_t events) {
  CHECK(inside() && watched_.contains(descriptor));
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch_key(descriptor, watched_[descriptor].generation);
  CHECK(epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void Reactor::remove(int descriptor) {
  const auto found = watched_.find(descriptor);
  CHECK(inside() && found != watched_.end());
  // The handler may be the last to hold whoever closes the descriptor when it goes.
  const std::shared_ptr<Handler> handler = std::move(found->second.handler);
  watched_.erase(found);
  CHECK(epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr) == 0);
}

Reactor::Timer Reactor::after(Seconds delay, Function function) {
  CHECK(inside());
  const double ns = std::clamp(delay, 0.0, 1e9) * 1e9;
  const std::int64_t at = monotonic_ns() + static_cast<std::int64_t>(ns);
  timers_.emplace(std::pair{at, ++last_timer_}, std::move(function));
  timer_times_.emplace(last_timer_, at);
  return last_timer_;
}

void Reactor::cancel(Timer timer) {
  CHECK(inside());
  const auto time = timer_times_.find(timer);
  if (time == timer_times_.end()) return;
  timers_.erase({time->second, timer});
  timer_times_.erase(time);
}

int Reactor::wait_ms() const {
  if (timers_.empty()) return -1;
  const std::int64_t ns = timers_.begin()->first.first - monotonic_ns();
  // Rounded up: a wait that ends early would be a busy loop for the rest of the millisecond.
  const std::int64_t ms = (std::max<std::int64_t>(ns, 0) + 999'999) / 1'000'000;
  return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
}

void Reactor::run_timers() {
  const std::int64_t now = monotonic_ns();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

void Reactor::run_posted() {
  std::vector<Function> functions;
  {
    const std::lock_guard lock(mutex_);
    functions.swap(posted_);
    woken_ = false;
  }
  for (Function& function : functions) {
    function();
    function = nullptr;  // what it holds goes before the next one runs
  }
}

void Reactor::run() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms());
    CHECK(count >= 0 || errno == EINTR);
    bool woken = false;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == kWakeKey) {
        std::uint64_t rings = 0;
        [[maybe_unused]] const auto got = read(wake_, &rings, sizeof rings);
        woken = true;
        continue;
      }
      const auto watched = watched_.find(static_cast<int>(event.data.u64 & 0xffffffff));
      if (watched == watched_.end() || watched->second.generation != event.data.u64 >> 32) continue;
      const std::shared_ptr<Handler> handler = watched->second.handler;
      (*handler)(event.events);
    }
    run_timers();
    if (woken) run_posted();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

}  // namespace weft::runtime

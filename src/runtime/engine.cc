#include "runtime/engine.h"

#include <fmt/core.h>
#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/stopwatch.h"
#include "flow/partition.h"

namespace weft::runtime {
namespace {

constexpr int kBatch = 64;            // messages taken before slices are started anew
constexpr Seconds kPatience = 10e-6;  // of a spinning driver, before it lets others run in between
constexpr std::size_t kMostStashed = 256 << 20;

// What others wrote before they let go of what is now ours alone is seen from here on. The thread
// sanitizer does not know fences.
void take_over([[maybe_unused]] const std::shared_ptr<Execution>& alone) {
#ifdef __SANITIZE_THREAD__
  std::shared_ptr<Execution>(alone).reset();
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

}  // namespace

Engine::Engine(std::vector<Transport*> transports, Doorbell bell, EngineOptions options)
    : transports_(std::move(transports)),
      bell_(bell),
      options_(options),
      began_ns_(monotonic_ns()) {}

Engine::~Engine() { stop(); }

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tell_ = nullptr;
    on_late_ = nullptr;
    explain_ = nullptr;
    own_times_ = nullptr;
    for (const auto& execution : active_) execution->fail("the process leaves the group");
  }
  wanted_.notify_all();
  bell_.ring();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  for (const auto& execution : active_) execution->clear();
}

std::size_t Engine::max_message() const {
  const std::lock_guard lock(mutex_);
  std::size_t most = std::size_t{1} << 30;
  for (const Transport* transport : transports_) most = std::min(most, transport->max_message());
  return most;
}

std::shared_ptr<Execution> Engine::submit(OperationSpec spec, bool background) {
  std::shared_ptr<Execution> execution;
  {
    std::unique_lock lock(mutex_);
    execution = execution_for(std::move(spec));
    const OperationKey key = execution->spec().key;
    const GroupState& state = state_of(key.group);
    if (stopping_) {
      execution->fail("the process leaves the group");
      return execution;
    }
    if (key.epoch != state.epoch) {
      execution->fail("the group has changed; the operation belongs to an earlier membership");
      return execution;
    }
    if (state.broken) {
      execution->fail(state.why);
      return execution;
    }
    const double priority = execution->spec().priority;
    const auto place = std::find_if(active_.begin(), active_.end(), [&](const auto& other) {
      return other->spec().priority > priority;
    });
    active_.insert(place, execution);
    note_submitted(*execution);
    execution->begin(*this);
    const auto stashed =
        std::find_if(stash_.begin(), stash_.end(), [&](const Stashed& s) { return s.key == key; });
    if (stashed != stash_.end()) {
      std::vector<Parcel> parcels = std::move(stashed->parcels);
      stash_.erase(stashed);
      for (Parcel& parcel : parcels) execution->take(std::move(parcel), *this, true);
    }
    if (background) want_background();
    // What others sent before may have ended it: the group must know when the caller does.
    if (execution->failed()) collect_ended(lock);
  }
  if (background) {
    wanted_.notify_one();
    bell_.ring();  // somebody else may drive already
  }
  return execution;
}

// One that ended, if nobody else holds it any more, so that repeated calls need no memory.
std::shared_ptr<Execution> Engine::execution_for(OperationSpec spec) {
  if (idle_ == nullptr || idle_.use_count() > 1) {
    return std::make_shared<Execution>(std::move(spec));
  }
  take_over(idle_);
  std::shared_ptr<Execution> execution = std::move(idle_);
  execution->restart(std::move(spec));
  return execution;
}

bool Engine::done(const std::shared_ptr<Execution>& execution) {
  const std::lock_guard lock(mutex_);
  if (execution->done()) note_ended(*execution);
  return execution->done();
}

void Engine::cancel(const std::shared_ptr<Execution>& execution) {
  {
    const std::lock_guard lock(mutex_);
    execution->fail(fmt::format("{} was cancelled by rank {}", describe(execution->spec().call),
                                execution->spec().rank));
    want_background();  // the others are told by whoever drives
  }
  wanted_.notify_one();
  bell_.ring();
}

void Engine::want_background() {
  background_wanted_ = true;
  if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { background(); });
}

void Engine::background() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!driving_ && background_wanted_) {
      drive(lock, [this] { return stopping_ || active_.empty(); });
      if (active_.empty()) background_wanted_ = false;
      continue;
    }
    // When a driver stops while operations are left, it says so by wanted_.
    wanted_.wait_for(lock, std::chrono::duration<double>(kLongRest));
  }
}

// Requires: the lock is held and nobody drives.
void Engine::drive(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough) {
  driving_ = true;
  double idle_since = 0;
  int looks = 0, yields = 0;
  while (!enough()) {
    const bool moved = step();
    collect_ended(lock);
    if (enough()) break;
    if (moved) {
      idle_since = 0;
      looks = yields = 0;
      continue;
    }
    if (++looks % 64 == 0 || options_.spin_s <= 0) {
      const double now = steady_now();
      check_deadlines(now);
      collect_ended(lock);
      if (enough()) break;
      if (idle_since == 0) idle_since = now;
      if (now - idle_since >= options_.spin_s) {
        if (yields++ < options_.yields) {
          lock.unlock();
          sched_yield();
          lock.lock();
        } else {
          rest(lock, next_deadline() - now);
          yields = 0;
          idle_since = 0;
        }
        continue;
      }
      lock.unlock();  // others may want to hand something in
      if (now - idle_since > kPatience) {
        sched_yield();  // whom we wait for may be waiting for this processor
      } else {
        _mm_pause();
      }
      lock.lock();
    } else {
      _mm_pause();
    }
  }
  driving_ = false;
  if (waiters_ > 0) ended_.notify_all();
  if (background_wanted_ && !active_.empty()) wanted_.notify_one();
}

void Engine::rest(std::unique_lock<std::mutex>& lock, double at_most) {
  const std::uint32_t seen = bell_.announce();
  if (step()) {
    bell_.retract();
    return;
  }
  lock.unlock();
  bell_.sleep(seen, std::clamp(at_most, 0.0, kLongRest));
  lock.lock();
}

bool Engine::step() {
  bool moved = false;
  for (Transport* transport : transports_) {
    Message message;
    for (int i = 0; i < kBatch && transport->poll(message); ++i) {
      dispatch(Parcel(message, transport, &pinned_));
      moved = true;
    }
  }
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (active_[i]->blocked()) moved |= active_[i]->retry(*this);
  }
  start_slices();
  return moved;
}

void Engine::dispatch(Parcel parcel) {
  const OperationKey key = key_of(parcel.header());
  for (const auto& execution : active_) {
    if (execution->spec().key == key) {
      execution->take(std::move(parcel), *this, pinned_ <= options_.pinned);
      return;
    }
  }
  const GroupState& state = state_of(key.group);
  if (key.epoch < state.epoch || (key.epoch == state.epoch && state.broken)) return;
  // Of an operation that this rank has not reached yet.
  auto stashed =
      std::find_if(stash_.begin(), stash_.end(), [&](const Stashed& s) { return s.key == key; });
  if (stashed == stash_.end()) {
    stash_.push_back({key, {}});
    stashed = stash_.end() - 1;
  }
  std::size_t bytes = 0;
  for (const Stashed& other : stash_) {
    for (const Parcel& held : other.parcels) bytes += held.header().bytes;
  }
  if (bytes > kMostStashed) return;  // a rank that floods us waits for its deadline
  if (stash_.size() > 1 || !stashed->parcels.empty()) parcel.keep();
  stashed->parcels.push_back(std::move(parcel));
}

void Engine::start_slices() {
  const auto wants = [](const auto& execution) { return execution->wants_slice(); };
  if (std::none_of(active_.begin(), active_.end(), wants)) return;
  CreditWindow window(options_.credit_bytes);
  for (const auto& execution : active_) {
    if (!execution->takes_credit()) continue;
    for (std::uint32_t i = 0; i < execution->slices_under_way(); ++i) {
      window.take(static_cast<double>(execution->slice_bytes()));
    }
  }
  bool full = false;  // then nothing that is less urgent sends either
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto execution = active_[i];
    const bool counts = execution->takes_credit();
    const auto bytes = static_cast<double>(execution->slice_bytes());
    while (execution->wants_slice()) {
      full = full || (counts && !window.admits(bytes));
      if (counts && full) break;
      const std::uint32_t before = execution->slices_under_way();
      if (!execution->start_slice(*this)) break;
      if (counts && execution->slices_under_way() > before) window.take(bytes);
    }
  }
}

void Engine::collect_ended(std::unique_lock<std::mutex>& lock) {
  bool any = false;
  for (std::size_t i = 0; i < active_.size();) {
    if (!active_[i]->done()) {
      ++i;
      continue;
    }
    any = true;
    note_ended(*active_[i]);
    active_[i]->clear();
    if (active_[i]->failed()) {
      const OperationKey key = active_[i]->spec().key;
      GroupState& state = state_of(key.group);
      if (!state.broken && state.epoch == key.epoch) {
        state.broken = true;
        state.why = active_[i]->failure();
        failures_.push_back(active_[i]);
        for (const auto& other : active_) {
          if (other->spec().key.group == key.group) other->fail(state.why);
        }
      }
    }
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  if (any && waiters_ > 0) ended_.notify_all();
  tell(lock);
}

Transport* Engine::transport_to(MemberId member) const {
  for (Transport* transport : transports_) {
    if (transport->reaches(member)) return transport;
  }
  return nullptr;
}

std::size_t Engine::together(std::span<const MemberId> to) const {
  const Transport* transport = transport_to(to[0]);
  std::size_t count = 1;
  while (count < to.size() && transport_to(to[count]) == transport) ++count;
  return count;
}

Room Engine::reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) {
  reserved_ = transport_to(to[0]);
  // Nobody reaches a member that was just lost; the operation is about to be told.
  return reserved_ == nullptr ? Room{} : reserved_->reserve(to, bytes, spare_caches);
}

void Engine::post(std::byte* room, std::span<const MemberId> to, const Header& header) {
  reserved_->post(room, to, header);
}

void Engine::delivered(const Header& header, std::uint32_t chunks) {
  if (log_) log_(header, chunks);
}

}  // namespace weft::runtime

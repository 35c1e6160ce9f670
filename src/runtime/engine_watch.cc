// The part of Engine that looks at the clock: waits, deadlines, alarms, and what the recorder
// hears.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"
#include "runtime/engine.h"

namespace weft::runtime {
namespace {

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

Event event_of(EventKind kind, const OperationSpec& spec, std::int64_t now_ns) {
  Event event;
  event.time_ns = now_ns;
  event.bytes = spec.call.count * size_of(spec.call.type);
  event.group = spec.key.group;
  event.epoch = spec.key.epoch;
  event.stream = spec.key.stream;
  event.sequence = spec.key.sequence;
  event.kind = kind;
  event.operation = static_cast<std::uint8_t>(spec.call.operation);
  return event;
}

}  // namespace

double steady_now() { return 1e-9 * static_cast<double>(monotonic_ns()); }

Status Engine::run(OperationSpec spec) {
  const auto execution = submit(std::move(spec), false);
  Status status = wait(execution, execution->spec().submitted_ns);
  const std::lock_guard lock(mutex_);
  idle_ = execution;
  return status;
}

Status Engine::wait(const std::shared_ptr<Execution>& execution) { return wait(execution, 0); }

// `since_ns`: when the wait began; 0: now.
Status Engine::wait(const std::shared_ptr<Execution>& execution, std::int64_t since_ns) {
  std::unique_lock lock(mutex_);
  if (!execution->done()) {
    begin_wait(execution->spec(), since_ns == 0 ? monotonic_ns() : since_ns);
    bool drove = false;
    while (!execution->done()) {
      drove = !driving_;
      if (drove) {
        drive(lock, [&] { return execution->done(); });
        continue;
      }
      ++waiters_;
      ended_.wait_for(lock, std::chrono::duration<double>(kLongRest));
      --waiters_;
    }
    note_ended(*execution);
    // Who drove it to its end has just seen the clock.
    end_wait(execution->spec(), drove ? execution->ended_ns() : monotonic_ns());
  } else {
    note_ended(*execution);
  }
  if (!execution->failed()) return {};
  return Error{ErrorKind::kIo, execution->failure(), ""};
}

// Time counts as waited while any thread waits.
void Engine::begin_wait(const OperationSpec& spec, std::int64_t now_ns) {
  if (waits_++ == 0) wait_since_ns_ = now_ns;
  recorder_.add(event_of(EventKind::kWaitBegin, spec, now_ns));
}

void Engine::end_wait(const OperationSpec& spec, std::int64_t now_ns) {
  if (--waits_ == 0) waited_ns_ += std::max<std::int64_t>(0, now_ns - wait_since_ns_);
  recorder_.add(event_of(EventKind::kWaitEnd, spec, now_ns));
}

void Engine::note_submitted(Execution& execution) {
  const OperationSpec& spec = execution.spec();
  const std::int64_t now_ns = spec.submitted_ns == 0 ? monotonic_ns() : spec.submitted_ns;
  const std::int64_t until_ns = waits_ > 0 ? std::min(now_ns, wait_since_ns_) : now_ns;
  const auto own_us = static_cast<std::uint32_t>((until_ns - began_ns_ - waited_ns_) / 1000);
  execution.set_own_us(std::max(own_us, std::uint32_t{1}), steps_.load(std::memory_order_relaxed));
  recorder_.add(event_of(EventKind::kSubmitted, spec, now_ns));
}

void Engine::compared(const OperationSpec& spec) {
  recorder_.add(event_of(EventKind::kBegun, spec, monotonic_ns()));
}

void Engine::note_ended(Execution& execution) {
  if (execution.ended_ns() != 0) return;
  execution.set_ended_ns(monotonic_ns());
  recorder_.add(event_of(execution.failed() ? EventKind::kFailed : EventKind::kEnded,
                         execution.spec(), execution.ended_ns()));
  if (!execution.failed() && own_times_) {
    own_times_(execution.spec(), execution.step(), execution.own_us());
  }
}

void Engine::mark_step() {
  Event event;
  event.time_ns = monotonic_ns();
  event.sequence = static_cast<std::uint32_t>(steps_.fetch_add(1) + 1);
  recorder_.add(event);
}

void Engine::mark(EventKind kind) {
  Event event;
  event.time_ns = monotonic_ns();
  event.kind = kind;
  event.sequence = static_cast<std::uint32_t>(steps_.load());
  recorder_.add(event);
}

void Engine::check_deadlines(double now) {
  for (const auto& execution : active_) {
    const OperationSpec& spec = execution->spec();
    if (spec.alarm > 0 && now >= spec.alarm && !execution->alarmed() && !execution->done()) {
      execution->set_alarmed();
      late_.push_back(execution);
    }
    if (now < spec.deadline) continue;
    std::string who = explain_ ? explain_(spec) : "";
    const std::vector<int> ranks = execution->waited_for();
    if (who.empty() && !ranks.empty()) who = "it waits for " + ranks_text(ranks);
    execution->fail(fmt::format("{} did not end before its deadline{}{}", describe(spec.call),
                                who.empty() ? "" : "; ", who));
  }
}

double Engine::next_deadline() const {
  double next = steady_now() + kLongRest;
  for (const auto& execution : active_) {
    const OperationSpec& spec = execution->spec();
    const bool alarm_first = spec.alarm > 0 && !execution->alarmed();
    next = std::min(next, alarm_first ? std::min(spec.alarm, spec.deadline) : spec.deadline);
  }
  return next;
}

// What others must hear of, without the lock.
void Engine::tell(std::unique_lock<std::mutex>& lock) {
  while (!failures_.empty() || !late_.empty()) {
    const bool failed = !failures_.empty();
    auto& list = failed ? failures_ : late_;
    const auto execution = list.back();
    list.pop_back();
    const auto on_failed = tell_;
    const auto on_late = on_late_;
    lock.unlock();
    if (failed && on_failed) on_failed(execution->spec().key, execution->failure());
    if (!failed && on_late) on_late(execution->spec());
    lock.lock();
  }
}

void Engine::on_failure(std::function<void(const OperationKey&, const std::string&)> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
}

void Engine::on_delivery(DeliveryLog log) {
  const std::lock_guard lock(mutex_);
  log_ = std::move(log);
}

void Engine::on_late(std::function<void(const OperationSpec&)> late) {
  const std::lock_guard lock(mutex_);
  on_late_ = std::move(late);
}

void Engine::on_explain(std::function<std::string(const OperationSpec&)> explain) {
  const std::lock_guard lock(mutex_);
  explain_ = std::move(explain);
}

void Engine::on_own_times(OwnTimesSink sink) {
  const std::lock_guard lock(mutex_);
  own_times_ = std::move(sink);
}

}  // namespace weft::runtime

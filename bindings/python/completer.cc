#include "bindings/python/completer.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "bindings/python/order.h"

namespace weft::bindings {

struct Completer::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> queue, alone;
  bool waiting = false;  // a thread waits for a task of the queue
  bool stopping = false;
  int idle = 0, threads = 0;

  bool work_to_take() const { return !alone.empty() || (!waiting && !queue.empty()); }

  // Requires: the lock, and work_to_take().
  Task take() {
    auto& from = alone.empty() ? queue : alone;
    auto next = std::find_if(from.begin(), from.end(), [](const Task& t) { return t.done(); });
    if (next == from.end()) next = from.begin();
    Task task = std::move(*next);
    from.erase(next);
    return task;
  }

  static void serve(const std::shared_ptr<State>& self);
  static void add_thread_if_needed(const std::shared_ptr<State>& self);
};

void Completer::State::add_thread_if_needed(const std::shared_ptr<State>& self) {
  if (!self->work_to_take()) return;
  if (self->idle > 0) {
    self->changed.notify_one();
    return;
  }
  ++self->threads;
  std::thread([self] { serve(self); }).detach();
}

void Completer::State::serve(const std::shared_ptr<State>& self) {
  const InCallback unknown(nullptr);  // callbacks of futures that carry no place run in it
  std::unique_lock lock(self->mutex);
  while (true) {
    ++self->idle;
    self->changed.wait(lock, [&] { return self->stopping || self->work_to_take(); });
    --self->idle;
    if (!self->work_to_take()) break;
    Task task = self->take();
    if (!task.alone) self->waiting = true;
    add_thread_if_needed(self);
    lock.unlock();
    task.wait();
    lock.lock();
    if (!task.alone) self->waiting = false;
    add_thread_if_needed(self);
    lock.unlock();
    task.complete();
    task = Task{};  // what it holds may call back here when freed
    lock.lock();
  }
  --self->threads;
}

Completer::Completer() : state_(std::make_shared<State>()) {}

Completer::~Completer() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
}

void Completer::add(Task task) {
  const std::lock_guard lock(state_->mutex);
  (task.alone ? state_->alone : state_->queue).push_back(std::move(task));
  State::add_thread_if_needed(state_);
}

int Completer::threads() const {
  const std::lock_guard lock(state_->mutex);
  return state_->threads;
}

}  // namespace weft::bindings

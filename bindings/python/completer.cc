#include "bindings/python/completer.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weft::bindings {

namespace {
constexpr std::chrono::milliseconds kPatience(5);
}

struct Completer::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> queue;
  bool stopping = false;
  int waiting = 0, idle = 0, threads = 0;

  // The next to be waited for, or none when the completer ends. Requires: the lock, and that the
  // caller is counted idle, which it is not afterwards.
  std::optional<Task> next(std::unique_lock<std::mutex>& lock);
  static void serve(const std::shared_ptr<State>& self);
  // Some thread is idle while there are tasks nobody waits for.
  static void keep_one_idle(const std::shared_ptr<State>& self);
};

std::optional<Completer::Task> Completer::State::next(std::unique_lock<std::mutex>& lock) {
  while (queue.empty() || waiting > 0) {
    if (queue.empty() && stopping) break;
    if (queue.empty()) {
      changed.wait(lock);
    } else if (changed.wait_for(lock, kPatience) == std::cv_status::timeout && !queue.empty()) {
      break;
    }
  }
  --idle;
  if (queue.empty()) return std::nullopt;
  auto found = std::find_if(queue.begin(), queue.end(), [](const Task& t) { return t.done(); });
  if (found == queue.end()) found = queue.begin();
  Task task = std::move(*found);
  queue.erase(found);
  return task;
}

void Completer::State::keep_one_idle(const std::shared_ptr<State>& self) {
  if (self->queue.empty()) return;
  if (self->idle > 0) {
    self->changed.notify_one();
    return;
  }
  ++self->threads;
  ++self->idle;  // from now on, not from when it runs: else every call until then adds another
  std::thread([self] { serve(self); }).detach();
}

void Completer::State::serve(const std::shared_ptr<State>& self) {
  std::unique_lock lock(self->mutex);
  while (auto task = self->next(lock)) {
    ++self->waiting;
    keep_one_idle(self);
    lock.unlock();
    task->wait();
    lock.lock();
    --self->waiting;
    keep_one_idle(self);
    lock.unlock();
    task->complete();
    task.reset();  // what it holds may call back here when freed
    lock.lock();
    ++self->idle;
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
  state_->queue.push_back(std::move(task));
  State::keep_one_idle(state_);
}

int Completer::threads() const {
  const std::lock_guard lock(state_->mutex);
  return state_->threads;
}

}  // namespace weft::bindings

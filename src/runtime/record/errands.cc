#include "runtime/record/errands.h"

#include <utility>

namespace weft::runtime {

Errands::~Errands() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Errands::add(std::function<void()> errand) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(errand));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void Errands::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto errand = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    errand();
    lock.lock();
  }
}

}  // namespace weft::runtime

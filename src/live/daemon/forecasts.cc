#include "live/daemon/forecasts.h"

#include <future>

namespace weft::live {
namespace {

constexpr std::size_t kMostWaiting = 64;

}  // namespace

Forecasts::Forecasts(Brain& brain, std::shared_ptr<const Forecaster> forecaster)
    : brain_(brain), forecaster_(std::move(forecaster)), thread_([this] { work(); }) {}

Forecasts::~Forecasts() { end(); }

void Forecasts::end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Forecasts::ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || questions_.size() >= kMostWaiting) return false;
    questions_.push_back(std::move(question));
  }
  wake_.notify_all();
  return true;
}

void Forecasts::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !questions_.empty(); });
    if (stop_) return;
    // One copy serves everybody who waits.
    std::deque<Question> questions;
    questions.swap(questions_);
    lock.unlock();
    auto promise = std::make_shared<std::promise<Brain::Snapshot>>();
    auto future = promise->get_future();
    brain_.ask_snapshot([promise](Brain::Snapshot taken) { promise->set_value(std::move(taken)); });
    const Brain::Snapshot snapshot = future.get();
    for (const Question& question : questions) question(snapshot, *forecaster_);
    lock.lock();
  }
}

}  // namespace weft::live

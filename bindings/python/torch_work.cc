#include "bindings/python/torch_work.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace weft::bindings {

WeftWork::WeftWork(int rank, Begun begun, std::shared_ptr<Completer> completer)
    : TorchWork(rank, begun.type), begun_(std::move(begun)), completer_(std::move(completer)) {}

void WeftWork::settle() {
  std::call_once(settled_, [this] {
    std::exception_ptr failure;
    for (const auto& part : begun_.parts) {
      const Status status = part->wait();
      if (status.ok() || failure) continue;
      failure = std::make_exception_ptr(std::runtime_error("weft: " + status.error().text()));
    }
    if (!failure && begun_.finish) {
      try {
        const at::NoGradGuard no_grad;
        begun_.finish();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    begun_.finish = nullptr;
    begun_.kept.clear();
    finish(failure);
  });
}

bool WeftWork::isCompleted() {
  {
    const std::lock_guard lock(mutex_);
    if (completed_) return true;
  }
  if (!ended()) return false;
  settle();
  return true;
}

bool WeftWork::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr WeftWork::exception() const {
  const std::lock_guard lock(mutex_);
  return exception_;
}

std::vector<at::Tensor> WeftWork::result() { return begun_.outputs; }

bool WeftWork::wait(std::chrono::milliseconds timeout) {
  if (timeout != kNoTimeout && timeout.count() > 0) {
    getFuture();  // somebody else drives it to its end
    std::unique_lock lock(mutex_);
    if (!cv_.wait_for(lock, timeout, [this] { return completed_; })) {
      lock.unlock();
      abort();
      settle();
      TORCH_CHECK(false, "weft: the operation did not end within ", timeout.count(),
                  " ms and was cancelled");
    }
  }
  settle();
  const std::exception_ptr failure = exception();
  if (failure) std::rethrow_exception(failure);
  return true;
}

void WeftWork::abort() {
  for (const auto& part : begun_.parts) part->cancel();
}

bool WeftWork::ended() const {
  return std::all_of(begun_.parts.begin(), begun_.parts.end(),
                     [](const auto& part) { return part->done(); });
}

c10::intrusive_ptr<c10::ivalue::Future> WeftWork::getFuture() {
  {
    const std::lock_guard lock(mutex_);
    if (future_) return future_;
    future_ =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  }
  auto self = c10::intrusive_ptr<WeftWork>::reclaim_copy(this);
  completer_->add({.done = [self] { return self->ended(); },
                   .wait = [self] { self->settle(); },
                   .complete = [self] { self->complete(); }});
  return future_;
}

void WeftWork::complete() {
  getFuture();
  settle();
  std::call_once(told_, [this] {
    const InCallback unknown(nullptr);  // of futures that carry no place
    if (const auto failure = exception()) {
      future_->setError(failure);
    } else {
      future_->markCompleted(c10::IValue(begun_.outputs));
    }
  });
}

}  // namespace weft::bindings

// An operation of a TorchBackend under way, as torch sees it.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/python/completer.h"
#include "bindings/python/order.h"
#include "bindings/python/torch_shim.h"
#include "runtime/group.h"

namespace weft::bindings {

using Tensors = std::vector<at::Tensor>;
using Parts = std::vector<runtime::Group::WorkPtr>;

struct Begun {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  Parts parts;
  Tensors outputs;               // the value of the future
  Tensors kept;                  // other memory the operation uses
  std::function<void()> finish;  // after all parts ended well; may be empty
  NodePtr node;                  // null: its callbacks have no place (send, receive)
};

// Thread-safety: all of it.
class WeftWork : public TorchWork {
 public:
  WeftWork(int rank, Begun begun, std::shared_ptr<Completer> completer);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override {}
  // A time-out cancels the operation, on every rank: its memory is not touched afterwards.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  // Waits, and completes the future if nobody has: a callback that waits needs no other thread.
  void complete();
  const NodePtr& node() const { return begun_.node; }

 private:
  bool ended() const;
  // Waits until it ended, and finishes once.
  void settle();

  Begun begun_;
  std::shared_ptr<Completer> completer_;  // of the group, which this may outlive
  std::once_flag settled_, told_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace weft::bindings

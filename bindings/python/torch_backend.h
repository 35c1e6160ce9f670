// The c10d back end "weft": torch's collectives on a runtime::Group.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/python/torch_work.h"

namespace weft::bindings {

// Tensors are dense and in host memory; those that are not contiguous are copied. Reductions: sum,
// min, max and average of float16/32/64, bfloat16, int32, int64 and uint8. Where nothing is reduced
// elements of any type are moved.
//
// getRank() and getSize() are those at construction, as torch demands. After reform() they are
// those of the past: live_rank() and live_size() are those of today, and averages divide by
// live_size().
class TorchBackend : public TorchGroup {
 public:
  using Millis = std::chrono::milliseconds;
  using WorkHandle = c10::intrusive_ptr<TorchWork>;

  // `id` tells the groups of a process apart, the same on every rank.
  TorchBackend(std::shared_ptr<runtime::Group> group, const std::string& id, Millis timeout);

  const std::string getBackendName() const override { return "weft"; }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override;

  WorkHandle broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkHandle allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkHandle allreduce_coalesced(Tensors& tensors,
                                 const c10d::AllreduceCoalescedOptions& options) override;
  WorkHandle reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkHandle allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                       const c10d::AllgatherOptions& options) override;
  WorkHandle _allgather_base(at::Tensor& output, at::Tensor& input,
                             const c10d::AllgatherOptions& options) override;
  WorkHandle allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::AllgatherOptions& options) override;
  WorkHandle gather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::GatherOptions& options) override;
  WorkHandle scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                     const c10d::ScatterOptions& options) override;
  WorkHandle reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                            const c10d::ReduceScatterOptions& options) override;
  WorkHandle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::ReduceScatterOptions& options) override;
  WorkHandle alltoall_base(at::Tensor& output, at::Tensor& input,
                           std::vector<int64_t>& output_splits, std::vector<int64_t>& input_splits,
                           const c10d::AllToAllOptions& options) override;
  WorkHandle alltoall(Tensors& outputs, Tensors& inputs,
                      const c10d::AllToAllOptions& options) override;
  WorkHandle send(Tensors& tensors, int to, int tag) override;
  WorkHandle recv(Tensors& tensors, int from, int tag) override;
  WorkHandle recvAnysource(Tensors& tensors, int tag) override;
  WorkHandle barrier(const c10d::BarrierOptions& options) override;

  runtime::Group& group() { return *group_; }
  const std::shared_ptr<runtime::Group>& shared_group() const { return group_; }
  Millis timeout() const { return timeout_; }
  int live_size() const { return group_->size(); }
  int live_rank() const { return group_->rank(); }
  // What was begun on the group itself, as torch sees it. Its callbacks have no place in the order.
  WorkHandle under_way(c10d::OpType type, Parts parts, Tensors outputs);
  // Group::reform(); the order of calls begins anew.
  runtime::Membership reform(double deadline_s);

 private:
  using Begin = std::function<Parts(const runtime::CallOptions&)>;
  // Takes the next place in the order, begins the parts there and wraps them.
  WorkHandle issue(Begun begun, Millis timeout, const Begin& begin);
  runtime::CallOptions call_options(Millis timeout) const;
  // Sends to and gets from each rank what the pieces hold; empty ones where nothing passes.
  WorkHandle exchange(c10d::OpType type, Tensors& outputs, Tensors& inputs, Millis timeout);
  int root_of(int64_t root) const;

  const std::shared_ptr<runtime::Group> group_;  // shared with sub-groups and other back ends
  const Millis timeout_;
  Order order_;
  const std::shared_ptr<Completer> completer_;  // shared with works
};

}  // namespace weft::bindings

#include "bindings/python/torch_backend.h"

#include <algorithm>

#include "bindings/python/torch_elements.h"

namespace weft::bindings {
namespace {

using c10d::OpType;
using runtime::CallOptions;
using runtime::DataType;
using runtime::Group;

std::uint64_t salt_of(const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same in every process
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

TorchBackend::TorchBackend(std::shared_ptr<Group> group, const std::string& id, Millis timeout)
    : TorchGroup(group->rank(), group->size()),
      group_(std::move(group)),
      timeout_(timeout),
      order_(salt_of(id)),
      completer_(std::make_shared<Completer>()) {
#if TORCH_VERSION_MAJOR < 2
  init();
#endif
}

uint64_t TorchBackend::getSequenceNumberForGroup() {
  const auto lock = order_.lock();
  return order_.calls();
}

runtime::Membership TorchBackend::reform(double deadline_s) {
  auto membership = group_->reform(deadline_s);
  TORCH_CHECK(membership.ok(), "weft: ", membership.error().text());
  const auto lock = order_.lock();
  order_.restart();
  return *membership;
}

CallOptions TorchBackend::call_options(Millis timeout) const {
  if (timeout == c10d::kUnsetTimeout || timeout.count() <= 0) timeout = timeout_;
  CallOptions options;
  options.deadline_s = std::chrono::duration<double>(timeout).count();
  return options;
}

int TorchBackend::root_of(int64_t root) const {
  TORCH_CHECK(root >= 0 && root < live_size(), "weft: rank ", root, " is outside the group of ",
              live_size());
  return static_cast<int>(root);
}

TorchBackend::WorkHandle TorchBackend::issue(Begun begun, Millis timeout, const Begin& begin) {
  CallOptions options = call_options(timeout);
  {
    const auto lock = order_.lock();
    const auto ticket = order_.next();
    if (!ticket.ok()) {
      // The others wait for an operation that cannot be told from another.
      group_->abandon(ticket.error().text());
      TORCH_CHECK(false, "weft: ", ticket.error().text());
    }
    options.stream = ticket->stream;
    options.priority = ticket->priority;
    begun.node = std::make_shared<Node>(ticket->lineage);
    begun.parts = begin(options);
    for (const auto& part : begun.parts) order_.begun(part);
  }
  return c10::make_intrusive<WeftWork>(live_rank(), std::move(begun), completer_);
}

TorchBackend::WorkHandle TorchBackend::under_way(OpType type, Parts parts, Tensors outputs) {
  Begun begun;
  begun.type = type;
  begun.parts = std::move(parts);
  begun.outputs = std::move(outputs);
  return c10::make_intrusive<WeftWork>(live_rank(), std::move(begun), completer_);
}

TorchBackend::WorkHandle TorchBackend::broadcast(Tensors& tensors,
                                                 const c10d::BroadcastOptions& options) {
  const InPlace data(only_tensor(tensors, "broadcast"));
  const int root = root_of(options.rootRank);
  const Elements elements = moved(data.used);
  return issue({.type = OpType::BROADCAST,
                .parts = {},
                .outputs = tensors,
                .kept = {data.used},
                .finish = data.finish(),
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->broadcast(data.used.data_ptr(), elements.count, elements.type,
                                                root, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::allreduce(Tensors& tensors,
                                                 const c10d::AllreduceOptions& options) {
  const InPlace data(only_tensor(tensors, "all_reduce"));
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data.used, op);
  return issue(
      {.type = OpType::ALLREDUCE,
       .parts = {},
       .outputs = tensors,
       .kept = {data.used},
       .finish = data.finish(),
       .node = {}},
      options.timeout, [&](const CallOptions& call) {
        return Parts{group_->all_reduce(
            data.used.data_ptr(), static_cast<std::uint64_t>(data.used.numel()), type, op, call)};
      });
}

TorchBackend::WorkHandle TorchBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  const at::Tensor data = flat(tensors, "all_reduce_coalesced");
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data, op);
  return issue({.type = OpType::ALLREDUCE_COALESCED,
                .parts = {},
                .outputs = tensors,
                .kept = {data},
                .finish = [data, tensors] { unflatten(data, tensors); },
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_reduce(
                     data.data_ptr(), static_cast<std::uint64_t>(data.numel()), type, op, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::reduce(Tensors& tensors,
                                              const c10d::ReduceOptions& options) {
  const InPlace data(only_tensor(tensors, "reduce"));
  const int root = root_of(options.rootRank);
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data.used, op);
  return issue({.type = OpType::REDUCE,
                .parts = {},
                .outputs = tensors,
                .kept = {data.used},
                .finish = data.finish(),
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->reduce(data.used.data_ptr(),
                                             static_cast<std::uint64_t>(data.used.numel()), type,
                                             op, root, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                       const c10d::AllgatherOptions& options) {
  check_tensor(input, "all_gather");
  check_tensor(output, "all_gather");
  TORCH_CHECK(
      output.scalar_type() == input.scalar_type() && output.numel() == input.numel() * live_size(),
      "weft: all_gather of ", input.numel(), " ", input.scalar_type(), " on ", live_size(),
      " ranks needs an output ", live_size(), " times as long; got ", output.numel(), " ",
      output.scalar_type());
  const at::Tensor from = input.contiguous();
  const InPlace to(output);
  const Elements elements = moved(from);
  return issue({.type = OpType::_ALLGATHER_BASE,
                .parts = {},
                .outputs = {output},
                .kept = {from, to.used},
                .finish = to.finish(),
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_gather(from.data_ptr(), to.used.data_ptr(),
                                                 elements.count, elements.type, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                 const c10d::AllgatherOptions& options) {
  const at::Tensor input = only_tensor(inputs, "all_gather").contiguous();
  TORCH_CHECK(outputs.size() == 1, "weft: all_gather takes one list of outputs; got ",
              outputs.size());
  const Tensors to = outputs[0];
  check_equal_sizes(to, static_cast<std::size_t>(live_size()), input, "all_gather");
  const at::Tensor all = empty_like_all(to, "all_gather");
  const Elements elements = moved(input);
  return issue({.type = OpType::ALLGATHER,
                .parts = {},
                .outputs = to,
                .kept = {input, all},
                .finish = [all, to] { unflatten(all, to); },
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_gather(input.data_ptr(), all.data_ptr(), elements.count,
                                                 elements.type, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::allgather_coalesced(std::vector<Tensors>& outputs,
                                                           Tensors& inputs,
                                                           const c10d::AllgatherOptions& options) {
  const at::Tensor input = flat(inputs, "all_gather_coalesced");
  TORCH_CHECK(outputs.size() == static_cast<std::size_t>(live_size()),
              "weft: all_gather_coalesced needs ", live_size(), " lists of outputs; got ",
              outputs.size());
  Tensors to;
  for (const auto& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size() && elements_in(list) == elements_in(inputs),
                "weft: a list of outputs of all_gather_coalesced is not like the inputs");
    to.insert(to.end(), list.begin(), list.end());
  }
  const at::Tensor all = empty_like_all(to, "all_gather_coalesced");
  const Elements elements = moved(input);
  return issue({.type = OpType::ALLGATHER_COALESCED,
                .parts = {},
                .outputs = to,
                .kept = {input, all},
                .finish = [all, to] { unflatten(all, to); },
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_gather(input.data_ptr(), all.data_ptr(), elements.count,
                                                 elements.type, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  check_tensor(input, "reduce_scatter");
  check_tensor(output, "reduce_scatter");
  TORCH_CHECK(
      output.scalar_type() == input.scalar_type() && input.numel() == output.numel() * live_size(),
      "weft: reduce_scatter of ", input.numel(), " ", input.scalar_type(), " on ", live_size(),
      " ranks needs an output ", live_size(), " times shorter; got ", output.numel(), " ",
      output.scalar_type());
  const at::Tensor from = input.contiguous();
  const InPlace to(output);
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(from, op);
  return issue({.type = OpType::_REDUCE_SCATTER_BASE,
                .parts = {},
                .outputs = {output},
                .kept = {from, to.used},
                .finish = to.finish(),
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->reduce_scatter(from.data_ptr(), to.used.data_ptr(),
                                                     static_cast<std::uint64_t>(to.used.numel()),
                                                     type, op, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::reduce_scatter(Tensors& outputs,
                                                      std::vector<Tensors>& inputs,
                                                      const c10d::ReduceScatterOptions& options) {
  at::Tensor output = only_tensor(outputs, "reduce_scatter");
  TORCH_CHECK(inputs.size() == 1, "weft: reduce_scatter takes one list of inputs; got ",
              inputs.size());
  check_equal_sizes(inputs[0], static_cast<std::size_t>(live_size()), output, "reduce_scatter");
  at::Tensor input = flat(inputs[0], "reduce_scatter");
  return _reduce_scatter_base(output, input, options);
}

TorchBackend::WorkHandle TorchBackend::barrier(const c10d::BarrierOptions& options) {
  return issue(
      {.type = OpType::BARRIER, .parts = {}, .outputs = {}, .kept = {}, .finish = {}, .node = {}},
      options.timeout, [&](const CallOptions& call) { return Parts{group_->barrier(call)}; });
}

}  // namespace weft::bindings

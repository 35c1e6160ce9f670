#include "bindings/python/torch_backend.h"

#include <algorithm>

#include "bindings/python/torch_elements.h"

namespace weft::bindings {
namespace {

using c10d::OpType;
using runtime::CallOptions;
using runtime::DataType;
using runtime::Group;

// Operations on memory that is not contiguous work on a copy.
struct InPlace {
  explicit InPlace(const at::Tensor& tensor) : given(tensor), used(tensor.contiguous()) {}
  std::function<void()> finish() const {
    if (used.is_same(given)) return {};
    return [given = given, used = used] { given.copy_(used); };
  }
  at::Tensor given, used;
};

std::uint64_t salt_of(const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same in every process
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Breaks the group on every rank: the others wait for an operation that cannot be told from another.
void give_up(Group& group) {
  group.barrier({.deadline_s = 0, .stream = kGivenUp, .priority = 0})->cancel();
}

void check_equal_sizes(const Tensors& tensors, std::size_t want, const at::Tensor& like,
                       const char* what) {
  TORCH_CHECK(tensors.size() == want, "weft: ", what, " needs ", want, " tensors, one per rank; got ",
              tensors.size());
  for (const auto& tensor : tensors) {
    check_tensor(tensor, what);
    TORCH_CHECK(tensor.numel() == like.numel() && tensor.scalar_type() == like.scalar_type(),
                "weft: tensors of ", what, " differ: ", tensor.numel(), " ", tensor.scalar_type(),
                " and ", like.numel(), " ", like.scalar_type());
  }
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
      give_up(*group_);
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

TorchBackend::WorkHandle TorchBackend::broadcast(Tensors& tensors,
                                                 const c10d::BroadcastOptions& options) {
  const InPlace data(only_tensor(tensors, "broadcast"));
  const int root = root_of(options.rootRank);
  const Elements elements = moved(data.used);
  return issue({.type = OpType::BROADCAST, .parts = {}, .outputs = tensors, .kept = {data.used},
                .finish = data.finish(), .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->broadcast(data.used.data_ptr(), elements.count,
                                                elements.type, root, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::allreduce(Tensors& tensors,
                                                 const c10d::AllreduceOptions& options) {
  const InPlace data(only_tensor(tensors, "all_reduce"));
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data.used, op);
  return issue({.type = OpType::ALLREDUCE, .parts = {}, .outputs = tensors, .kept = {data.used},
                .finish = data.finish(), .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_reduce(data.used.data_ptr(),
                                                 static_cast<std::uint64_t>(data.used.numel()), type,
                                                 op, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  const at::Tensor data = flat(tensors, "all_reduce_coalesced");
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data, op);
  return issue({.type = OpType::ALLREDUCE_COALESCED, .parts = {}, .outputs = tensors,
                .kept = {data}, .finish = [data, tensors] { unflatten(data, tensors); },
                .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_reduce(data.data_ptr(),
                                                 static_cast<std::uint64_t>(data.numel()), type, op,
                                                 call)};
               });
}

TorchBackend::WorkHandle TorchBackend::reduce(Tensors& tensors,
                                              const c10d::ReduceOptions& options) {
  const InPlace data(only_tensor(tensors, "reduce"));
  const int root = root_of(options.rootRank);
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(data.used, op);
  return issue({.type = OpType::REDUCE, .parts = {}, .outputs = tensors, .kept = {data.used},
                .finish = data.finish(), .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->reduce(data.used.data_ptr(),
                                             static_cast<std::uint64_t>(data.used.numel()), type, op,
                                             root, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                       const c10d::AllgatherOptions& options) {
  check_tensor(input, "all_gather");
  check_tensor(output, "all_gather");
  TORCH_CHECK(output.scalar_type() == input.scalar_type() &&
                  output.numel() == input.numel() * live_size(),
              "weft: all_gather of ", input.numel(), " ", input.scalar_type(), " on ", live_size(),
              " ranks needs an output ", live_size(), " times as long; got ", output.numel(), " ",
              output.scalar_type());
  const at::Tensor from = input.contiguous();
  const InPlace to(output);
  const Elements elements = moved(from);
  return issue({.type = OpType::_ALLGATHER_BASE, .parts = {}, .outputs = {output},
                .kept = {from, to.used}, .finish = to.finish(), .node = {}},
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
  return issue({.type = OpType::ALLGATHER, .parts = {}, .outputs = to, .kept = {input, all},
                .finish = [all, to] { unflatten(all, to); }, .node = {}},
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
  return issue({.type = OpType::ALLGATHER_COALESCED, .parts = {}, .outputs = to,
                .kept = {input, all}, .finish = [all, to] { unflatten(all, to); }, .node = {}},
               options.timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_gather(input.data_ptr(), all.data_ptr(), elements.count,
                                                 elements.type, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  check_tensor(input, "reduce_scatter");
  check_tensor(output, "reduce_scatter");
  TORCH_CHECK(output.scalar_type() == input.scalar_type() &&
                  input.numel() == output.numel() * live_size(),
              "weft: reduce_scatter of ", input.numel(), " ", input.scalar_type(), " on ",
              live_size(), " ranks needs an output ", live_size(), " times shorter; got ",
              output.numel(), " ", output.scalar_type());
  const at::Tensor from = input.contiguous();
  const InPlace to(output);
  const auto op = reduction_of(options.reduceOp);
  const DataType type = reduced_type(from, op);
  return issue({.type = OpType::_REDUCE_SCATTER_BASE, .parts = {}, .outputs = {output},
                .kept = {from, to.used}, .finish = to.finish(), .node = {}},
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

TorchBackend::WorkHandle TorchBackend::exchange(OpType type, Tensors& outputs, Tensors& inputs,
                                                Millis timeout) {
  const char* what = type == OpType::GATHER ? "gather" : type == OpType::SCATTER ? "scatter"
                                                                                 : "all_to_all";
  const auto ranks = static_cast<std::size_t>(live_size());
  TORCH_CHECK(outputs.size() == ranks && inputs.size() == ranks, "weft: ", what, " needs ", ranks,
              " tensors on either side, one per rank; got ", inputs.size(), " to send and ",
              outputs.size(), " to receive");
  const at::Tensor from = flat(inputs, what), to = empty_like_all(outputs, what);
  TORCH_CHECK(from.scalar_type() == to.scalar_type(), "weft: ", what, " of ", from.scalar_type(),
              " cannot give ", to.scalar_type());
  std::vector<std::uint64_t> sends, receives;
  for (const auto& tensor : inputs) sends.push_back(moved(tensor).count);
  for (const auto& tensor : outputs) receives.push_back(moved(tensor).count);
  return issue({.type = type, .parts = {}, .outputs = outputs, .kept = {from, to},
                .finish = [to, outputs] { unflatten(to, outputs); }, .node = {}},
               timeout, [&](const CallOptions& call) {
                 return Parts{group_->all_to_all_v(from.data_ptr(), sends, to.data_ptr(), receives,
                                                   moved(to).type, call)};
               });
}

TorchBackend::WorkHandle TorchBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::GatherOptions& options) {
  const at::Tensor& input = only_tensor(inputs, "gather");
  const auto root = static_cast<std::size_t>(root_of(options.rootRank));
  const bool here = live_rank() == static_cast<int>(root);
  const auto ranks = static_cast<std::size_t>(live_size());
  TORCH_CHECK(outputs.size() == (here ? 1u : 0u),
              "weft: gather takes one list of outputs at the root and none elsewhere");
  const at::Tensor nothing = at::empty({0}, input.options());
  Tensors pieces(ranks, nothing);
  pieces[root] = input;
  Tensors to(ranks, nothing);
  if (here) {
    check_equal_sizes(outputs[0], ranks, input, "gather");
    to = outputs[0];
  }
  return exchange(OpType::GATHER, to, pieces, options.timeout);
}

TorchBackend::WorkHandle TorchBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                               const c10d::ScatterOptions& options) {
  const at::Tensor& output = only_tensor(outputs, "scatter");
  const auto root = static_cast<std::size_t>(root_of(options.rootRank));
  const bool here = live_rank() == static_cast<int>(root);
  const auto ranks = static_cast<std::size_t>(live_size());
  TORCH_CHECK(inputs.size() == (here ? 1u : 0u),
              "weft: scatter takes one list of inputs at the root and none elsewhere");
  const at::Tensor nothing = at::empty({0}, output.options());
  Tensors to(ranks, nothing);
  to[root] = output;
  Tensors pieces(ranks, nothing);
  if (here) {
    check_equal_sizes(inputs[0], ranks, output, "scatter");
    pieces = inputs[0];
  }
  return exchange(OpType::SCATTER, to, pieces, options.timeout);
}

TorchBackend::WorkHandle TorchBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                                const c10d::AllToAllOptions& options) {
  return exchange(OpType::ALLTOALL, outputs, inputs, options.timeout);
}

TorchBackend::WorkHandle TorchBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                     std::vector<int64_t>& output_splits,
                                                     std::vector<int64_t>& input_splits,
                                                     const c10d::AllToAllOptions& options) {
  check_tensor(input, "all_to_all");
  check_tensor(output, "all_to_all");
  const auto pieces = [&](const at::Tensor& whole, const std::vector<int64_t>& splits) {
    const int64_t rows = whole.dim() > 0 ? whole.size(0) : 0;
    if (!splits.empty()) {
      int64_t sum = 0;
      for (const int64_t split : splits) sum += split;
      TORCH_CHECK(sum == rows, "weft: the splits of all_to_all add up to ", sum, " of ", rows,
                  " rows");
      return whole.split_with_sizes(splits, 0);
    }
    TORCH_CHECK(rows % live_size() == 0, "weft: all_to_all cannot split ", rows,
                " rows evenly among ", live_size(), " ranks");
    return whole.split_with_sizes(
        std::vector<int64_t>(static_cast<std::size_t>(live_size()), rows / live_size()), 0);
  };
  Tensors to = pieces(output, output_splits), from = pieces(input, input_splits);
  return exchange(OpType::ALLTOALL_BASE, to, from, options.timeout);
}

TorchBackend::WorkHandle TorchBackend::send(Tensors& tensors, int to, int tag) {
  const at::Tensor data = only_tensor(tensors, "send").contiguous();
  TORCH_CHECK(tag >= 0, "weft: the tag ", tag, " of a send is below 0");
  const Elements elements = moved(data);
  auto part = group_->send(data.data_ptr(), elements.count, elements.type, root_of(to),
                           static_cast<std::uint32_t>(tag), call_options(timeout_));
  return c10::make_intrusive<WeftWork>(
      live_rank(),
      Begun{.type = OpType::SEND, .parts = {part}, .outputs = tensors, .kept = {data},
            .finish = {}, .node = {}},
      completer_);
}

TorchBackend::WorkHandle TorchBackend::recv(Tensors& tensors, int from, int tag) {
  const InPlace data(only_tensor(tensors, "recv"));
  TORCH_CHECK(tag >= 0, "weft: the tag ", tag, " of a recv is below 0");
  const Elements elements = moved(data.used);
  auto part = group_->receive(data.used.data_ptr(), elements.count, elements.type, root_of(from),
                              static_cast<std::uint32_t>(tag), call_options(timeout_));
  return c10::make_intrusive<WeftWork>(
      live_rank(),
      Begun{.type = OpType::RECV, .parts = {part}, .outputs = tensors, .kept = {data.used},
            .finish = data.finish(), .node = {}},
      completer_);
}

TorchBackend::WorkHandle TorchBackend::recvAnysource(Tensors&, int) {
  TORCH_CHECK(false,
              "weft: recv from any source is not supported, since messages are matched by sender "
              "and tag; name the source");
}

TorchBackend::WorkHandle TorchBackend::barrier(const c10d::BarrierOptions& options) {
  return issue({.type = OpType::BARRIER, .parts = {}, .outputs = {}, .kept = {}, .finish = {},
                .node = {}},
               options.timeout,
               [&](const CallOptions& call) { return Parts{group_->barrier(call)}; });
}

}  // namespace weft::bindings

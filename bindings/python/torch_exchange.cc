// What goes from one rank to another unreduced: gather, scatter, all-to-all, send and receive.
#include "bindings/python/torch_backend.h"
#include "bindings/python/torch_elements.h"

namespace weft::bindings {

using c10d::OpType;
using runtime::CallOptions;

TorchBackend::WorkHandle TorchBackend::exchange(OpType type, Tensors& outputs, Tensors& inputs,
                                                Millis timeout) {
  const char* what = type == OpType::GATHER    ? "gather"
                     : type == OpType::SCATTER ? "scatter"
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
  return issue({.type = type,
                .parts = {},
                .outputs = outputs,
                .kept = {from, to},
                .finish = [to, outputs] { unflatten(to, outputs); },
                .node = {}},
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
  return c10::make_intrusive<WeftWork>(live_rank(),
                                       Begun{.type = OpType::SEND,
                                             .parts = {part},
                                             .outputs = tensors,
                                             .kept = {data},
                                             .finish = {},
                                             .node = {}},
                                       completer_);
}

TorchBackend::WorkHandle TorchBackend::recv(Tensors& tensors, int from, int tag) {
  const InPlace data(only_tensor(tensors, "recv"));
  TORCH_CHECK(tag >= 0, "weft: the tag ", tag, " of a recv is below 0");
  const Elements elements = moved(data.used);
  auto part = group_->receive(data.used.data_ptr(), elements.count, elements.type, root_of(from),
                              static_cast<std::uint32_t>(tag), call_options(timeout_));
  return c10::make_intrusive<WeftWork>(live_rank(),
                                       Begun{.type = OpType::RECV,
                                             .parts = {part},
                                             .outputs = tensors,
                                             .kept = {data.used},
                                             .finish = data.finish(),
                                             .node = {}},
                                       completer_);
}

TorchBackend::WorkHandle TorchBackend::recvAnysource(Tensors&, int) {
  TORCH_CHECK(false,
              "weft: recv from any source is not supported, since messages are matched by sender "
              "and tag; name the source");
}

}  // namespace weft::bindings

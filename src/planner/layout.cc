#include "planner/layout.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft::planner {

Placement usual_placement(const Layout& layout, int node) {
  Placement place;
  place.tensor = std::min(layout.tensor, node);
  const int context = std::min(layout.context, node / place.tensor);
  place.data = std::min(layout.data, node / (place.tensor * context));
  place.pipeline = std::min(layout.pipeline, node / (place.tensor * context * place.data));
  return place;
}

namespace {

Error bad_layout(std::string what, std::string hint = "") {
  return {ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
}

Status check_sizes(const Layout& l) {
  const struct {
    const char* what;
    int value;
  } counts[] = {{"tensor parallel size", l.tensor}, {"pipeline parallel size", l.pipeline},
                {"data parallel size", l.data},     {"context parallel size", l.context},
                {"expert parallel size", l.expert}, {"chunks", l.chunks},
                {"micro-batch", l.micro_batch},     {"global batch", l.global_batch}};
  for (const auto& [what, value] : counts) {
    if (value < 1) return bad_layout(fmt::format("{} is {}; it must be at least 1", what, value));
  }
  const long share = long{l.data} * l.micro_batch;
  if (l.global_batch % share != 0) {
    return bad_layout(fmt::format("a global batch of {} does not divide into {} data ranks times "
                                  "micro-batches of {}",
                                  l.global_batch, l.data, l.micro_batch),
                      "choose a batch that is a multiple of their product");
  }
  return {};
}

}  // namespace

Status check(const Layout& l, const Transformer& m) {
  if (const Status status = check_sizes(l); !status.ok()) return status;
  if (m.heads % l.tensor != 0) {
    return bad_layout(fmt::format("{} attention heads do not divide over {} tensor-parallel ranks",
                                  m.heads, l.tensor),
                      "use a divisor of the number of heads");
  }
  if (l.pipeline > m.layers + 2) {
    return bad_layout(
        fmt::format("{} layers cannot fill {} pipeline stages", m.layers, l.pipeline));
  }
  if (l.chunks > 1 && (l.pipeline < 2 || l.micro_batches() % l.pipeline != 0)) {
    return bad_layout(
        fmt::format("interleaving needs micro-batches in multiples of the {} stages; "
                    "there are {}",
                    l.pipeline, l.micro_batches()));
  }
  if (m.sequence % l.context != 0) {
    return bad_layout(
        fmt::format("a sequence of {} tokens does not divide over {} context-parallel ranks",
                    m.sequence, l.context));
  }
  if (l.expert > 1 && (m.experts.count % l.expert != 0 || (l.data * l.context) % l.expert != 0)) {
    return bad_layout(
        fmt::format("{} experts and {} data ranks do not both divide by {} expert-parallel "
                    "ranks",
                    m.experts.count, l.data * l.context, l.expert));
  }
  return {};
}

StageLayers stage_layers(const Transformer& m, int pipeline) {
  if (pipeline == 1) return {m.layers, 0, m.layers};
  const int each = m.layers / pipeline, rest = m.layers % pipeline;
  if (rest == 0) return {each, each, each};
  if ((m.layers + 2) % pipeline == 0) {
    const int wide = (m.layers + 2) / pipeline;
    return {wide - 1, wide, wide - 1};
  }
  // What is left over goes to the middle, away from the embedding and the output layer.
  return {each, each + 1, rest == pipeline - 1 ? each + 1 : each};
}

std::string_view name_of(Recompute recompute) {
  constexpr std::string_view kNames[] = {"none", "selective", "full"};
  return kNames[static_cast<int>(recompute)];
}

std::string_view name_of(PipelineKind schedule) {
  constexpr std::string_view kNames[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2"};
  return kNames[static_cast<int>(schedule)];
}

std::string_view name_of(TensorExchange exchange) {
  constexpr std::string_view kNames[] = {"all-reduce", "reduce-scatter", "sequence"};
  return kNames[static_cast<int>(exchange)];
}

std::string_view name_of(TensorOverlap overlap) {
  constexpr std::string_view kNames[] = {"none", "pipe", "ring"};
  return kNames[static_cast<int>(overlap)];
}

std::string describe(const Layout& l) {
  std::string text =
      fmt::format("tp{} pp{} dp{} mb{}", l.tensor, l.pipeline, l.data, l.micro_batch);
  if (l.context > 1) text += fmt::format(" cp{}", l.context);
  if (l.expert > 1) text += fmt::format(" ep{}", l.expert);
  if (l.chunks > 1) text += fmt::format(" v{}", l.chunks);
  if (l.zero > 0) text += fmt::format(" zero{}", l.zero);
  if (l.sequence_parallel()) text += " sp";
  text += fmt::format(" {} {}", name_of(l.recompute), name_of(l.schedule));
  if (l.offload_weights) text += " offload-weights";
  if (l.offload_activations) text += " offload-activations";
  if (l.offload_optimizer) text += " offload-optimizer";
  return text;
}

}  // namespace weft::planner

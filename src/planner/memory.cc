#include "planner/memory.h"

#include <algorithm>

#include "base/check.h"
#include "planner/sizes.h"

namespace weft::planner {
namespace {

constexpr double kPaperBytes = 18;  // weight 2, gradient 4, Adam 12
// What an allocator rounds up and cannot join again: part of all that comes and goes.
constexpr double kFragmentation = 0.03;
constexpr double kBuffers = 0.5e9;     // exchanges' channels and gradient buckets
constexpr double kLayersInFlight = 3;  // of offloaded weights: in use, coming, going

// Bytes per token of hidden numbers, whole on every tensor rank or split over them.
struct PerToken {
  double whole = 0, split = 0;
};

PerToken kept_per_token(const Transformer& m, const Layout& l, bool with_experts) {
  const double h = m.hidden, head = m.head_size;
  PerToken kept;
  kept.whole = 4 * kHalf * h;                  // inputs of two norms, of attention, of the rest
  if (m.dropout) kept.whole += 2 * kMask * h;  // masks
  kept.split = kHalf * (2 * m.heads + 2 * m.kv_heads) * head;  // q, k, v and attention's output
  if (m.latent.kv_rank > 0) {
    kept.whole += kHalf * (m.latent.query_rank + m.latent.kv_rank + m.latent.rope_size);
    kept.split = kHalf * m.heads * (2 * (head + m.latent.rope_size) + 2.0 * m.latent.value_size);
  }
  const double parts = m.gated ? 3 : 2;  // of the wide part: before, beside and after the gate
  if (with_experts) {
    const Experts& e = m.experts;
    kept.whole += kHalf * e.per_token * h;
    kept.split += parts * kHalf * (e.per_token + e.shared) * e.ffn;
  } else {
    kept.split += parts * kHalf * m.ffn;
  }
  if (l.flash_attention || l.recompute == Recompute::kSelective) {
    if (l.flash_attention) kept.split += kFloat * m.heads;  // one sum per row of scores
  } else {
    const double scores = m.dropout ? 2 * kHalf + kMask : kHalf;
    kept.split += scores * m.heads * m.sequence;
  }
  return kept;
}

// Of one micro-batch and one layer, whatever recomputation says.
double full_layer_bytes(const Transformer& m, const Layout& l, bool with_experts) {
  const PerToken kept = kept_per_token(m, l, with_experts);
  const double tokens = double(l.micro_batch) * m.sequence / l.context;
  double whole = kept.whole;
  if (l.sequence_parallel()) {
    // Gathered inputs of the two products are kept whole unless they are gathered again.
    const double gathered = l.gather_again ? 0 : 2 * kHalf * m.hidden;
    whole = (whole - gathered) / l.tensor + gathered;
  }
  return tokens * (whole + kept.split / l.tensor);
}

struct Weights {
  double dense = 0, experts = 0;  // on one device
};

Weights layer_weights(const Transformer& m, const Layout& l, int from, int count) {
  Weights w;
  for (const bool with : {false, true}) {
    const int dense_layers = m.experts.count == 0 ? m.layers : m.experts.dense_layers;
    const int plain = std::clamp(dense_layers - from, 0, count);
    const int layers = with ? count - plain : plain;
    if (layers == 0) continue;
    const double all = layer_parameters(m, with ? m.layers - 1 : 0);
    const double routed = with ? m.experts.count * expert_parameters(m) : 0;
    w.dense += layers * (all - routed) / l.tensor;
    w.experts += layers * routed / (double(l.tensor) * l.expert);
  }
  return w;
}

struct Stage {
  int layers = 0, from = 0;
  bool first = false, last = false;
};

Stage stage_of(const Transformer& m, const Layout& l, int index) {
  const StageLayers counts = stage_layers(m, l.pipeline);
  Stage stage;
  stage.first = index == 0;
  stage.last = index == l.pipeline - 1;
  stage.layers = stage.first ? counts.first : stage.last ? counts.last : counts.middle;
  stage.from = stage.first  ? 0
               : stage.last ? m.layers - counts.last
                            : std::min(m.layers - 1, counts.first + (index - 1) * counts.middle);
  return stage;
}

void put_weights(MemoryUse& use, const Transformer& m, const Framework& f, const Layout& l,
                 const Stage& stage) {
  Weights w = layer_weights(m, l, stage.from, stage.layers);
  const double table = embedding_parameters(m) / l.tensor;
  if (stage.first) w.dense += table;
  // On one stage a tied output layer is the embedding itself.
  if (stage.last && !(stage.first && m.tied)) w.dense += table;
  const double ranks = double(l.data) * l.context, expert_ranks = ranks / l.expert;
  const auto sharded = [&](int level) {
    return l.zero >= level ? w.dense / ranks + w.experts / expert_ranks : w.dense + w.experts;
  };
  use.weights = kHalf * sharded(3);
  use.gradients = f.kept_gradient_bytes * sharded(2);
  use.optimizer = kAdamBytes * sharded(1);
  const double layer = (w.dense + w.experts) / std::max(1, stage.layers);
  if (l.zero == 3) use.working += 2 * kHalf * layer;  // the layer in use and the next, gathered
  if (l.offload_weights) {
    const double stay = std::min(1.0, kLayersInFlight / std::max(1, stage.layers));
    use.host += (use.weights + use.gradients) * (1 - stay);
    use.weights *= stay;
    use.gradients *= stay;
  }
  if (l.offload_optimizer) {
    use.host += use.optimizer;
    use.optimizer = std::min(use.optimizer, kAdamBytes * layer);
  }
}

void put_activations(MemoryUse& use, const Transformer& m, const Layout& l, const Stage& stage,
                     int index) {
  const int dense_layers = m.experts.count == 0 ? m.layers : m.experts.dense_layers;
  const int plain = std::clamp(dense_layers - stage.from, 0, stage.layers);
  const double held = held_micro_batches(l, index);
  use.activations = held * (plain * layer_activation_bytes(m, l, false) +
                            (stage.layers - plain) * layer_activation_bytes(m, l, true));
  const double tokens = double(l.micro_batch) * m.sequence / l.context;
  const bool experts = stage.layers > plain;
  // Gradients of one layer's activations, and what recomputation brings back.
  const double layer = full_layer_bytes(m, l, experts);
  use.working += l.recompute == Recompute::kFull ? layer : 0;
  use.working += 2 * kHalf * tokens * (m.hidden + double(m.ffn) / l.tensor);
  if (l.offload_activations) {
    const double stay = std::min(1.0, 2 / std::max(1.0, held * stage.layers));
    use.host += use.activations * (1 - stay);
    use.activations *= stay;
  }
  if (stage.last) {
    use.output =
        tokens * (double(m.vocab) / l.tensor * (kHalf + 2 * kFloat) + 2 * kHalf * m.hidden);
  }
}

MemoryUse whole_use(const Transformer& m, const Framework& f, const Layout& l, const Stage& stage,
                    int index) {
  MemoryUse use;
  put_weights(use, m, f, l, stage);
  put_activations(use, m, l, stage, index);
  use.working += kBuffers;
  use.allowance = kFragmentation * (use.activations + use.output + use.working);
  return use;
}

}  // namespace

double layer_activation_bytes(const Transformer& m, const Layout& l, bool with_experts) {
  if (l.recompute != Recompute::kFull) return full_layer_bytes(m, l, with_experts);
  const double tokens = double(l.micro_batch) * m.sequence / l.context;
  return kHalf * tokens * m.hidden / (l.sequence_parallel() ? l.tensor : 1);
}

double held_micro_batches(const Layout& l, int stage) {
  const double m = l.micro_batches(), p = l.pipeline;
  switch (l.schedule) {
    case PipelineKind::kGPipe:
      return m;
    case PipelineKind::k1F1B:
      return std::min(m, p - stage);
    case PipelineKind::kInterleaved:
      // Megatron-LM's warm-up, in chunks, and the one that runs.
      return std::min(m, (2 * (p - 1 - stage) + (l.chunks - 1) * p + 1) / l.chunks);
    case PipelineKind::kZeroBubble1:
      return std::min(m, p);
    case PipelineKind::kZeroBubble2:
      return std::min(m, 2 * p - 1);
  }
  return m;
}

MemoryUse memory_use(const Transformer& m, const Framework& f, const Layout& l, int index,
                     MemoryTerms terms) {
  CHECK(index >= 0 && index < l.pipeline);
  if (terms == MemoryTerms::kPaper) {
    MemoryUse use;
    // The paper counts the matrices alone, and layers as if they could be cut.
    const double h = m.hidden, share = double(m.layers) / l.pipeline;
    const double matrices = 4 * h * h + (m.gated ? 3.0 : 2.0) * h * m.ffn;
    use.weights = kPaperBytes * matrices * share / l.tensor;
    use.activations = held_micro_batches(l, index) * share * layer_activation_bytes(m, l, false);
    return use;
  }
  return whole_use(m, f, l, stage_of(m, l, index), index);
}

MemoryUse slice_memory(const Transformer& m, const Framework& f, const Layout& l, int index,
                       int from, int count) {
  return whole_use(m, f, l, {count, from, from == 0, from + count == m.layers}, index);
}

double slice_weights(const Transformer& m, const Layout& l, int from, int count) {
  const Weights w = layer_weights(m, l, from, count);
  const bool end = from == 0 || from + count == m.layers;
  return w.dense + w.experts + (end ? embedding_parameters(m) / l.tensor : 0);
}

MemoryUse most_memory(const Transformer& m, const Framework& f, const Layout& l,
                      MemoryTerms terms) {
  MemoryUse most = memory_use(m, f, l, 0, terms);
  // Among middle stages the earliest holds most, or the earliest that has experts only.
  const StageLayers counts = stage_layers(m, l.pipeline);
  const int dense = m.experts.count > 0 ? std::max(0, m.experts.dense_layers - counts.first) : 0;
  const int experts = 1 + (dense + counts.middle - 1) / std::max(1, counts.middle);
  for (const int stage : {1, experts, l.pipeline - 1}) {
    if (stage < 1 || stage >= l.pipeline) continue;
    const MemoryUse other = memory_use(m, f, l, stage, terms);
    const double host = std::max(most.host, other.host);
    if (other.total() > most.total()) most = other;
    most.host = host;
  }
  return most;
}

}  // namespace weft::planner

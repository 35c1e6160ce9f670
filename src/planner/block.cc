#include "planner/block.h"

#include <algorithm>
#include <cmath>

#include "planner/exchange.h"
#include "planner/kernels.h"
#include "planner/sizes.h"

namespace weft::planner {
namespace {

// Share of the peak that fused attention reaches (Dao 2023 reports 0.5 to 0.7 forward on A100).
constexpr double kFlashForward = 0.6, kFlashBackward = 0.5;
constexpr double kFlashBackwardWork = 2.5;  // products of the backward pass over the forward's
// Fused softmax reads and writes once; apart it goes through float, scale, mask, softmax and back.
constexpr double kFusedSoftmax = 4, kPlainSoftmax = 20;

// Adds up one layer, forward and backward side by side.
class LayerMaker {
 public:
  LayerMaker(const Workload& work, const Layout& layout)
      : work_(work), layout_(layout), device_(work.machines.device) {
    const Transformer& m = work.model;
    t_ = layout.tensor;
    tokens_ = double(layout.micro_batch) * m.sequence / layout.context;
    between_ = layout.sequence_parallel() ? t_ : 1;
  }

  BlockCost make(bool with_experts) {
    attention();
    if (with_experts) {
      experts();
    } else {
      const Transformer& m = work_.model;
      feed_forward({tokens_, m.ffn / t_, double(m.hidden), 1});
    }
    norms();
    exchanges();
    accumulate(with_experts);
    return cost_;
  }

 private:
  // A product with weights: its input's and its weights' gradients are products of equal size.
  void weights(const Product& p) {
    const Seconds forward = product_seconds(device_, p);
    cost_.forward += forward;
    product_ += forward;
    cost_.backward_input += product_seconds(device_, {p.rows, p.depth, p.columns, p.batch});
    cost_.weight_gradient += product_seconds(device_, {p.depth, p.columns, p.rows, p.batch});
    launch(1, 2);
  }

  void traffic(double forward_bytes, double backward_bytes) {
    cost_.forward += traffic_seconds(device_, forward_bytes);
    cost_.backward_input += traffic_seconds(device_, backward_bytes);
    launch(1, 1);
  }

  void launch(double forward, double backward) {
    cost_.forward_launches += forward;
    cost_.backward_launches += backward;
  }

  void attention() {
    const Transformer& m = work_.model;
    const double h = m.hidden, heads = double(m.heads) / t_, head = m.head_size;
    if (const LatentAttention& l = m.latent; l.kv_rank > 0) {
      weights({tokens_, double(l.query_rank + l.kv_rank + l.rope_size), h, 1});
      weights({tokens_, heads * (head + l.rope_size), double(std::max(1, l.query_rank)), 1});
      weights({tokens_, heads * (head + l.value_size), double(l.kv_rank), 1});
      core(heads, head + l.rope_size);
      weights({tokens_, h, heads * l.value_size, 1});
      return;
    }
    const double kv = std::max(1.0, double(m.kv_heads) / t_) * head;
    weights({tokens_, heads * head + 2 * kv, h, 1});
    const double split = kHalf * tokens_ * (heads * head + 2 * kv);
    traffic(2 * split, 2 * split);  // into one tensor per head
    core(heads, head);
    traffic(2 * kHalf * tokens_ * heads * head, 2 * kHalf * tokens_ * heads * head);
    weights({tokens_, h, heads * head, 1});
  }

  // Scores, softmax, dropout and the weighted sum of values.
  void core(double heads, double head) {
    const Transformer& m = work_.model;
    const double local = double(m.sequence) / layout_.context, all = m.sequence;
    const double batch = layout_.micro_batch * heads;
    const BlockCost before = cost_;
    if (layout_.flash_attention) {
      // Causal: half of the scores are never made.
      const double flops = 4 * batch * local * all * head / 2;
      cost_.forward += device_.kernel_s + flops / (device_.peak_flops * kFlashForward);
      cost_.backward_input +=
          device_.kernel_s + kFlashBackwardWork * flops / (device_.peak_flops * kFlashBackward);
      launch(1, 2);
    } else {
      const Product scores{local, all, head, batch}, sum{local, head, all, batch};
      const Seconds pair = product_seconds(device_, scores) + product_seconds(device_, sum);
      cost_.forward += pair;
      cost_.backward_input += 2 * pair;
      launch(2, 4);
      const double elements = batch * local * all;
      // Megatron-LM's kernel serves only heads * samples that are multiples of 4.
      const bool fused = work_.framework.fused_softmax && std::fmod(batch, 4.0) == 0;
      traffic((fused ? kFusedSoftmax : kPlainSoftmax) * elements,
              (fused ? kFusedSoftmax + kHalf : kPlainSoftmax) * elements);
      if (!fused) launch(5, 4);
      if (m.dropout) traffic((2 * kHalf + kMask) * elements, (2 * kHalf + kMask) * elements);
    }
    cost_.core = cost_.forward - before.forward;
    cost_.core_launches = cost_.forward_launches - before.forward_launches;
  }

  void feed_forward(const Product& up) {
    const bool gated = work_.model.gated;
    const double wide = kHalf * up.rows * up.columns * up.batch;
    weights({up.rows, (gated ? 2 : 1) * up.columns, up.depth, up.batch});
    traffic((gated ? 3 : 2) * wide, (gated ? 5 : 3) * wide);
    weights({up.rows, up.depth, up.columns, up.batch});
  }

  void experts() {
    const Transformer& m = work_.model;
    const Experts& e = m.experts;
    const double h = m.hidden, copies = tokens_ * e.per_token;
    weights({tokens_, double(e.count), h, 1});
    traffic(2 * kHalf * copies * h, 2 * kHalf * copies * h);  // permute, and back
    traffic(2 * kHalf * copies * h, 2 * kHalf * copies * h);
    const double local = double(e.count) / layout_.expert;
    feed_forward({copies / local, double(e.ffn) / t_, h, local});
    if (e.shared > 0) feed_forward({tokens_, double(e.ffn) * e.shared / t_, h, 1});
    if (layout_.expert > 1) {
      const Group group{layout_.expert, std::min(layout_.expert, layout_.placement.data)};
      const Seconds way = all_to_all_seconds(work_.machines, group, kHalf * copies * h / between_);
      cost_.expert_forward = cost_.expert_backward = 2 * way;
      launch(2, 2);
    }
  }

  // Two norms, and two additions of the residual with bias and dropout.
  void norms() {
    const Transformer& m = work_.model;
    const double part = kHalf * tokens_ * m.hidden / between_;
    const double mask = m.dropout ? kMask / kHalf * part : 0;
    for (int i = 0; i < 2; ++i) {
      traffic(2 * part, 4 * part);
      traffic(3 * part + mask, 2 * part + mask);
    }
  }

  void exchanges() {
    if (layout_.tensor > 1) tensor_exchange();
    if (layout_.context > 1) context_exchange();
  }

  void tensor_exchange() {
    const Group group{layout_.tensor, layout_.placement.tensor};
    const double bytes = kHalf * tokens_ * work_.model.hidden;
    const bool whole = layout_.exchange == TensorExchange::kAllReduce;
    const Seconds once = whole ? all_reduce_seconds(work_.machines, group, bytes)
                               : 2 * gather_seconds(work_.machines, group, bytes);
    cost_.tensor_forward = 2 * once;
    cost_.tensor_backward = 2 * once;
    if (layout_.sequence_parallel() && layout_.gather_again) {
      cost_.tensor_backward += 2 * gather_seconds(work_.machines, group, bytes);
    }
    launch(2, 2);
    hide(cost_.tensor_forward, product_);
    hide(cost_.tensor_backward, product_);
  }

  // Cut into pieces, all but the first can hide behind the product that makes them.
  void hide(Seconds& exchange, Seconds beside) const {
    if (layout_.overlap == TensorOverlap::kNone) return;
    const double pieces = layout_.overlap == TensorOverlap::kPipe ? 2 : layout_.tensor;
    const Seconds later = exchange * (1 - 1 / pieces);
    exchange = exchange - later + exposed_seconds(later, beside);
  }

  // Keys and values go round; what attention's core does not hide stays.
  void context_exchange() {
    const Transformer& m = work_.model;
    const double kv = 2.0 * kHalf * tokens_ * std::max(1.0, double(m.kv_heads) / t_) * m.head_size;
    const bool same = layout_.tensor * layout_.context <= device_.node;
    const Seconds round = (layout_.context - 1) * send_seconds(work_.machines, same, kv);
    cost_.tensor_forward += exposed_seconds(round, cost_.core);
    cost_.tensor_backward += exposed_seconds(2 * round, 2 * cost_.core);
    launch(layout_.context, 2 * layout_.context);
  }

  void accumulate(bool with_experts) {
    const Transformer& m = work_.model;
    double weights = attention_parameters(m);
    weights += with_experts ? (double(m.experts.count) / layout_.expert + m.experts.shared) *
                                  expert_parameters(m)
                            : dense_ffn_parameters(m);
    cost_.weight_gradient += work_.framework.accumulate_bytes * weights / t_ /
                             (device_.memory_bytes_per_s * device_.memory_efficiency);
  }

  const Workload& work_;
  const Layout& layout_;
  const Device& device_;
  double t_ = 1, tokens_ = 0, between_ = 1;
  Seconds product_ = 0;
  BlockCost cost_;
};

}  // namespace

BlockCost layer_cost(const Workload& work, const Layout& layout, bool with_experts) {
  return LayerMaker(work, layout).make(with_experts);
}

EndCost end_cost(const Workload& work, const Layout& layout) {
  const Transformer& m = work.model;
  const Device& d = work.machines.device;
  const double t = layout.tensor, h = m.hidden;
  const double tokens = double(layout.micro_batch) * m.sequence / layout.context;
  const double logits = tokens * m.vocab / t;
  const Product product{tokens, m.vocab / t, h, 1};
  EndCost cost;
  cost.embedding = 2 * traffic_seconds(d, 3 * kHalf * tokens * h);
  cost.output_forward = product_seconds(d, product) +
                        traffic_seconds(d, (kHalf + 3 * kFloat) * logits) +
                        traffic_seconds(d, 2 * kHalf * tokens * h);
  cost.output_backward = product_seconds(d, {product.rows, product.depth, product.columns, 1}) +
                         product_seconds(d, {product.depth, product.columns, product.rows, 1}) +
                         traffic_seconds(d, (kHalf + 2 * kFloat) * logits);
  const Group group{layout.tensor, layout.placement.tensor};
  cost.tensor = 2 * all_reduce_seconds(work.machines, group, kHalf * tokens * h);
  return cost;
}

}  // namespace weft::planner

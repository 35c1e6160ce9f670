#include "timing/iteration/generators.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace weft {
namespace {

double ring_factor(std::uint32_t workers) { return 2.0 * (workers - 1) / workers; }

class LayersMaker {
 public:
  LayersMaker(std::span<const LayerSpec> layers, const TrainingNetwork& network,
              std::span<const double> links)
      : layers_(layers), network_(network), links_(links), users_(layers.size()) {
    for (std::uint32_t l = 0; l < layers.size(); ++l) {
      for (std::uint32_t before : layers[l].after) {
        CHECK(before < l);
        users_[before].push_back(l);
      }
    }
  }

  IterationGraph make() {
    graph_.devices = {"device"};
    add_wires();
    std::vector<std::uint32_t> backward(layers_.size()), ready(layers_.size());
    for (std::uint32_t l = static_cast<std::uint32_t>(layers_.size()); l-- > 0;) {
      std::vector<std::uint32_t> needs;
      for (std::uint32_t user : users_[l]) needs.push_back(backward[user]);
      const std::uint32_t computed = compute(l, "backward", layers_[l].backward, std::move(needs));
      ready[l] = add_gradient(l, computed);
      // What the layers before wait for: the gradient of this layer's input. The first have none.
      backward[l] = layers_[l].after.empty() ? computed : exchange(l, "backward", computed);
    }
    add_forward(backward, ready);
    return std::move(graph_);
  }

 private:
  void add_wires() {
    if (network_.workers > 1 && network_.exchange == Exchange::kAllReduce) {
      gradients_ = add_wire("all-reduce", network_.path, ring_factor(network_.workers),
                            2 * (network_.workers - 1));
    } else if (network_.workers > 1) {
      const double factor = std::max(1.0, double(network_.workers) / network_.servers);
      gradients_ = add_wire("push", network_.path, factor, 1);
      pulls_ = add_wire("pull", network_.back_path, factor, 1);
    }
    if (network_.tensor_workers > 1) {
      tensors_ = add_wire("tensor", network_.tensor_path, ring_factor(network_.tensor_workers),
                          2 * (network_.tensor_workers - 1));
    }
  }

  std::uint32_t add_wire(const char* name, const std::vector<LinkId>& path, double factor,
                         std::uint32_t hops) {
    graph_.wires.push_back(
        make_wire(name, path, factor, network_.overhead, hops * network_.latency, links_));
    return static_cast<std::uint32_t>(graph_.wires.size() - 1);
  }

  std::uint32_t add(IterationOp op) {
    graph_.ops.push_back(std::move(op));
    return static_cast<std::uint32_t>(graph_.ops.size() - 1);
  }

  std::uint32_t compute(std::uint32_t l, const char* pass, Seconds seconds,
                        std::vector<std::uint32_t> needs) {
    return add({fmt::format("{} {}", pass, layers_[l].name), false, 0, seconds, std::move(needs)});
  }

  // The exchange of a layer's activations after a pass, if it has one.
  std::uint32_t exchange(std::uint32_t l, const char* pass, std::uint32_t computed) {
    if (tensors_ == kNoOp || layers_[l].activation_bytes <= 0) return computed;
    return add({fmt::format("{} exchange {}", pass, layers_[l].name),
                true,
                tensors_,
                layers_[l].activation_bytes,
                {computed}});
  }

  // The op after which the layer has its new parameters; kNoOp: the backward pass alone.
  std::uint32_t add_gradient(std::uint32_t l, std::uint32_t computed) {
    if (gradients_ == kNoOp || layers_[l].gradient_bytes <= 0) return kNoOp;
    const double bytes = layers_[l].gradient_bytes;
    const bool served = pulls_ != kNoOp;
    const std::uint32_t sent =
        add({fmt::format("{} {}", served ? "push" : "gradient", layers_[l].name),
             true,
             gradients_,
             bytes,
             {computed}});
    if (!served) return sent;
    return add({fmt::format("pull {}", layers_[l].name), true, pulls_, bytes, {}, sent});
  }

  void add_forward(const std::vector<std::uint32_t>& backward,
                   const std::vector<std::uint32_t>& ready) {
    std::vector<std::uint32_t> first, forward(layers_.size());
    for (std::uint32_t l = 0; l < layers_.size(); ++l) {
      if (layers_[l].after.empty()) first.push_back(backward[l]);
    }
    for (std::uint32_t l = 0; l < layers_.size(); ++l) {
      std::vector<std::uint32_t> needs;
      for (std::uint32_t before : layers_[l].after) needs.push_back(forward[before]);
      if (layers_[l].after.empty()) needs = first;
      if (ready[l] != kNoOp) needs.push_back(ready[l]);
      const std::uint32_t computed = compute(l, "forward", layers_[l].forward, std::move(needs));
      forward[l] = users_[l].empty() ? computed : exchange(l, "forward", computed);
    }
  }

  std::span<const LayerSpec> layers_;
  const TrainingNetwork& network_;
  std::span<const double> links_;
  std::vector<std::vector<std::uint32_t>> users_;
  IterationGraph graph_;
  std::uint32_t gradients_ = kNoOp, pulls_ = kNoOp, tensors_ = kNoOp;  // wires
};

struct PipelineStep {
  bool forward;
  std::uint32_t microbatch;
};

// The order of one stage's work.
std::vector<PipelineStep> stage_steps(std::uint32_t stage, std::uint32_t stages,
                                      std::uint32_t microbatches, PipelineOrder order) {
  const std::uint32_t ahead =
      order == PipelineOrder::kGpipe ? microbatches : std::min(microbatches, stages - stage);
  std::vector<PipelineStep> steps;
  for (std::uint32_t m = 0; m < ahead; ++m) steps.push_back({true, m});
  for (std::uint32_t m = 0; m < microbatches; ++m) {
    steps.push_back({false, m});
    if (ahead + m < microbatches) steps.push_back({true, ahead + m});
  }
  return steps;
}

class PipelineMaker {
 public:
  PipelineMaker(std::span<const StageSpec> stages, std::uint32_t microbatches)
      : stages_(stages),
        batches_(microbatches),
        count_(static_cast<std::uint32_t>(stages.size())),
        in_(2 * stages.size(), std::vector<std::uint32_t>(microbatches, kNoOp)) {}

  IterationGraph make(PipelineOrder order, const TrainingNetwork& network,
                      std::span<const double> links) {
    CHECK(count_ >= 1 && batches_ >= 1);
    std::vector<std::vector<PipelineStep>> steps;
    for (std::uint32_t s = 0; s < count_; ++s) {
      graph_.devices.push_back(fmt::format("stage {}", s));
      steps.push_back(stage_steps(s, count_, batches_, order));
    }
    for (std::uint32_t s = 0; s + 1 < count_; ++s) {
      const StageSpec& stage = stages_[s];
      graph_.wires.push_back(make_wire(fmt::format("{} to {}", s, s + 1), stage.path, 1,
                                       network.overhead, network.latency, links));
      graph_.wires.push_back(make_wire(fmt::format("{} to {}", s + 1, s), stage.back_path, 1,
                                       network.overhead, network.latency, links));
    }
    // Emitted as each becomes possible, so that needs have lower indices.
    std::vector<std::size_t> next(count_);
    std::vector<std::uint32_t> last(count_, kNoOp);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t s = 0; s < count_; ++s) {
        while (next[s] < steps[s].size() && emit(s, steps[s][next[s]], last[s])) {
          ++next[s];
          moved = true;
        }
      }
    }
    return std::move(graph_);
  }

 private:
  // False when the input of the step is not there yet.
  bool emit(std::uint32_t s, PipelineStep step, std::uint32_t& last) {
    const StageSpec& stage = stages_[s];
    const bool outer = step.forward ? s == 0 : s + 1 == count_;
    const std::uint32_t input = in_[2 * s + (step.forward ? 0 : 1)][step.microbatch];
    if (!outer && input == kNoOp) return false;
    IterationOp op;
    op.name = fmt::format("{} {}.{}", step.forward ? "forward" : "backward", s, step.microbatch);
    op.place = s;
    op.amount = step.forward ? stage.forward : stage.backward;
    if (!outer) op.needs.push_back(input);
    if (last != kNoOp) op.needs.push_back(last);
    last = add(std::move(op));
    const bool ends = step.forward ? s + 1 == count_ : s == 0;
    if (ends) return true;
    const std::uint32_t to = step.forward ? s + 1 : s - 1;
    const double bytes = step.forward ? stage.activation_bytes : stages_[to].activation_bytes;
    std::uint32_t& arrival = in_[2 * to + (step.forward ? 0 : 1)][step.microbatch];
    arrival = last;
    if (bytes <= 0) return true;
    const std::uint32_t wire = step.forward ? 2 * s : 2 * to + 1;
    arrival =
        add({fmt::format("{} {}.{}", step.forward ? "activation" : "gradient", s, step.microbatch),
             true,
             wire,
             bytes,
             {last}});
    return true;
  }

  std::uint32_t add(IterationOp op) {
    graph_.ops.push_back(std::move(op));
    return static_cast<std::uint32_t>(graph_.ops.size() - 1);
  }

  std::span<const StageSpec> stages_;
  std::uint32_t batches_, count_;
  IterationGraph graph_;
  // By 2 × stage (+ 1 for the way back) and micro-batch: the op that brings its input.
  std::vector<std::vector<std::uint32_t>> in_;
};

}  // namespace

IterationWire make_wire(std::string name, std::vector<LinkId> path, double factor, Seconds overhead,
                        Seconds latency, std::span<const double> link_bytes_per_s) {
  CHECK(!path.empty());
  IterationWire wire{std::move(name), std::move(path), factor, overhead, latency, kNever};
  for (LinkId link : wire.path) {
    wire.bytes_per_s = std::min(wire.bytes_per_s, link_bytes_per_s[link]);
  }
  return wire;
}

IterationGraph layers_graph(std::span<const LayerSpec> layers, const TrainingNetwork& network,
                            std::span<const double> link_bytes_per_s) {
  return LayersMaker(layers, network, link_bytes_per_s).make();
}

IterationGraph pipeline_graph(std::span<const StageSpec> stages, std::uint32_t microbatches,
                              PipelineOrder order, const TrainingNetwork& network,
                              std::span<const double> link_bytes_per_s) {
  return PipelineMaker(stages, microbatches).make(order, network, link_bytes_per_s);
}

}  // namespace weft

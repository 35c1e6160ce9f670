#include "planner/step_time.h"

#include <algorithm>

#include "planner/exchange.h"
#include "planner/memory.h"
#include "planner/sizes.h"

namespace weft::planner {
namespace {

// Dense layers and layers with experts among `count` layers from layer `from`.
struct Mix {
  double dense = 0, experts = 0;
};

Mix mix_of(const Transformer& m, int from, int count) {
  const int plain = m.experts.count == 0 ? m.layers : m.experts.dense_layers;
  const int dense = std::clamp(plain - from, 0, count);
  return {double(dense), double(count - dense)};
}

LayerTime sum(const StepParts& parts, const Mix& mix) {
  const auto add = [&](Seconds LayerTime::*part) {
    return mix.dense * parts.dense.*part + mix.experts * parts.experts.*part;
  };
  return {add(&LayerTime::forward),         add(&LayerTime::backward_input),
          add(&LayerTime::weight_gradient), add(&LayerTime::compute),
          add(&LayerTime::recompute),       add(&LayerTime::tensor),
          add(&LayerTime::expert),          add(&LayerTime::host)};
}

void add_embedding(LayerTime& stage, const EndCost& ends) {
  stage.forward += ends.embedding;
  stage.compute += ends.embedding;
  stage.backward_input += ends.tensor / 2;
  stage.tensor += ends.tensor / 2;
}

void add_output(LayerTime& stage, const EndCost& ends) {
  stage.forward += ends.output_forward;
  stage.backward_input += ends.output_backward + ends.tensor / 2;
  stage.compute += ends.output_forward + ends.output_backward;
  stage.tensor += ends.tensor / 2;
}

struct Stages {
  LayerTime slowest;
  Seconds all = 0;   // one micro-batch through every stage, both passes
  LayerTime middle;  // for bubbles of schedules that split the backward pass
};

Stages stages_of(const Workload& work, const Layout& l, const StepParts& parts) {
  const Transformer& m = work.model;
  const StageLayers counts = stage_layers(m, l.pipeline);
  Stages out;
  LayerTime first = sum(parts, mix_of(m, 0, counts.first));
  add_embedding(first, parts.ends);
  if (l.pipeline == 1) {
    add_output(first, parts.ends);
    out.slowest = out.middle = first;
    out.all = first.total();
    return out;
  }
  LayerTime last = sum(parts, mix_of(m, m.layers - counts.last, counts.last));
  add_output(last, parts.ends);
  out.slowest = first.total() > last.total() ? first : last;
  out.middle = l.pipeline > 2 ? sum(parts, mix_of(m, m.layers / 2, counts.middle)) : first;
  if (l.pipeline > 2 && out.middle.total() > out.slowest.total()) out.slowest = out.middle;
  const int middles = l.pipeline - 2, left = m.layers - counts.first - counts.last;
  out.all = first.total() + last.total();
  if (middles > 0) out.all += out.middle.total() * left / std::max(1, counts.middle);
  return out;
}

// What the pipeline adds to the slowest stage's own work.
Seconds bubble_of(const Layout& l, const Stages& stages) {
  if (l.pipeline == 1) return 0;
  const Seconds others = stages.all - stages.slowest.total();
  const LayerTime& one = stages.middle;
  switch (l.schedule) {
    case PipelineKind::kGPipe:
    case PipelineKind::k1F1B:
      return others;
    case PipelineKind::kInterleaved:
      return others / l.chunks;
    // Qi et al. 2024: weight gradients fill the waiting time, once or twice over.
    case PipelineKind::kZeroBubble1:
      return std::max(0.0, others - 2 * (l.pipeline - 1) * one.weight_gradient);
    case PipelineKind::kZeroBubble2:
      return std::max(0.0, others - 3 * (l.pipeline - 1) * one.weight_gradient);
  }
  return others;
}

// Weights on the device with most of them.
double device_weights(const Workload& work, const Layout& l) {
  const Transformer& m = work.model;
  const StageLayers counts = stage_layers(m, l.pipeline);
  const Mix mix = mix_of(m, m.layers - counts.last, counts.last);
  const bool has_experts = m.experts.count > 0;
  const double routed = has_experts ? m.experts.count * expert_parameters(m) : 0;
  const double plain = layer_parameters(m, 0);
  const double with = has_experts ? layer_parameters(m, m.layers - 1) - routed : plain;
  const double dense = mix.dense * plain + mix.experts * with + embedding_parameters(m);
  return dense / l.tensor + mix.experts * routed / (double(l.tensor) * l.expert);
}

Group data_group(const Layout& l) {
  const int members = l.data * l.context;
  return {members, std::min(members, l.placement.data)};
}

// What of one pass's transfers to and from the host does not hide behind it. Devices share the
// uplink to the host, and a device's own link carries its exchanges with other nodes as well. A
// device keeps two layers' worth of what it offloads, so a transfer can wait for no other pass than
// its own.
Seconds offload_left(const Device& d, double bytes, Seconds exchange, Seconds pass) {
  const Seconds uplink = bytes / d.shared_host_bytes_per_s();
  const Seconds own_link = bytes / d.host_bytes_per_s + std::min(exchange, pass);
  return std::max(0.0, std::max(uplink, own_link) - pass);
}

Seconds offload_of(const Workload& work, const Layout& l, const Stages& stages, double weights) {
  if (!l.offload_weights && !l.offload_activations) return 0;
  double out = 0, in = 0, moved = 0;  // bytes of a forward pass; of a backward pass the larger
  if (l.offload_weights) in = moved = kHalf * weights;
  if (l.offload_activations) {
    const StageLayers counts = stage_layers(work.model, l.pipeline);
    const bool experts = work.model.experts.count > 0;
    out = std::max(counts.first, counts.middle) * layer_activation_bytes(work.model, l, experts);
    moved += out;
  }
  const Group group = data_group(l);
  const bool crosses = group.members > group.per_node;
  const auto exchange = [&](int from_stage, double bytes) {
    return crosses && l.zero >= from_stage ? gather_seconds(work.machines, group, weights * bytes)
                                           : 0;
  };
  const Seconds gather = exchange(3, kHalf);
  const Seconds reduce = exchange(2, work.framework.gradient_bytes);
  const Device& d = work.machines.device;
  const Seconds backward = stages.slowest.backward_input + stages.slowest.weight_gradient;
  return l.micro_batches() * (offload_left(d, std::max(in, out), gather, stages.slowest.forward) +
                              offload_left(d, moved, gather + reduce, backward));
}

}  // namespace

// Gradients are reduced behind the last backward pass, weights gathered before the next forward
// pass or, with ZeRO 3, before every pass.
Seconds data_time(const Workload& work, const Layout& l, const LayerTime& stage, double weights) {
  const Framework& f = work.framework;
  const Machines& machines = work.machines;
  const Group group = data_group(l);
  const Transformer& m = work.model;
  const Seconds forward = stage.forward;
  const Seconds backward = stage.backward_input + stage.weight_gradient;
  const auto left = [&](Seconds exchange, Seconds beside) {
    return l.overlap_gradients ? exposed_seconds(exchange, beside) : exchange;
  };
  Seconds time = 0;
  if (group.members > 1 && l.zero == 0) {
    time = left(all_reduce_seconds(machines, group, weights * f.gradient_bytes), backward);
  } else if (group.members > 1) {
    const Seconds gather = gather_seconds(machines, group, weights * kHalf);
    // Sharded gradients cannot wait for the last micro-batch.
    const double reductions = l.zero >= 2 ? l.micro_batches() : 1;
    time = reductions * left(gather_seconds(machines, group, weights * f.gradient_bytes), backward);
    time += l.zero < 3 ? left(gather, forward)
                       : l.micro_batches() * (left(gather, forward) + left(gather, backward));
  }
  if (l.pipeline > 1 && m.tied) {
    const Group pair{2, l.placement.pipeline >= l.pipeline ? 2 : 1};
    time +=
        all_reduce_seconds(machines, pair, embedding_parameters(m) / l.tensor * f.gradient_bytes);
  }
  return time;
}

Seconds optimizer_time(const Workload& work, const Layout& l, double weights) {
  const Device& d = work.machines.device;
  const double mine = l.zero >= 1 ? weights / (double(l.data) * l.context) : weights;
  const Seconds local =
      work.framework.optimizer_bytes * mine / (d.memory_bytes_per_s * d.memory_efficiency);
  if (!l.offload_optimizer) return local;
  // In and out at once: the link to the host has two directions.
  return std::max(local, kAdamBytes * mine / d.shared_host_bytes_per_s());
}

LayerTime chunk_time(const Workload& work, const Layout& l, const StepParts& parts, int chunk) {
  const Transformer& m = work.model;
  const int chunks = l.pipeline * l.chunks;
  const StageLayers counts = stage_layers(m, chunks);
  const bool first = chunk == 0, last = chunk == chunks - 1;
  // What is left over goes to the first of the middle chunks.
  const int middle = m.layers - counts.first - counts.last;
  const int before = std::min(middle, (chunk - 1) * counts.middle);
  const int mine = first  ? counts.first
                   : last ? counts.last
                          : std::min(counts.middle, middle - before);
  const int from = first ? 0 : last ? m.layers - counts.last : counts.first + before;
  return slice_time(work, parts, from, mine);
}

LayerTime slice_time(const Workload& work, const StepParts& parts, int from, int count) {
  LayerTime time = sum(parts, mix_of(work.model, from, count));
  if (from == 0) add_embedding(time, parts.ends);
  if (from + count == work.model.layers) add_output(time, parts.ends);
  return time;
}

// One activation from stage to stage: each tensor rank sends its part, and the receivers gather it
// inside their node (Narayanan et al. 2021, scatter-gather).
Seconds send_time(const Workload& work, const Layout& l) {
  if (l.pipeline == 1) return 0;
  const double tokens = double(l.micro_batch) * work.model.sequence / l.context;
  const double bytes = kHalf * tokens * work.model.hidden;
  const bool same = l.placement.pipeline >= l.pipeline;
  const Group group{l.tensor, l.placement.tensor};
  const bool gathers = l.tensor > 1 && !l.sequence_parallel() && !same;
  const double sent = same && !l.sequence_parallel() ? bytes : bytes / l.tensor;
  return send_seconds(work.machines, same, sent) +
         (gathers ? gather_seconds(work.machines, group, bytes) : 0);
}

LayerTime layer_time(const BlockCost& b, const Framework& f, Recompute recompute) {
  LayerTime time;
  const Seconds device_forward = b.forward + b.tensor_forward + b.expert_forward;
  const Seconds host_forward = f.host_forward_s * b.forward_launches;
  Seconds again = 0, host_again = 0;
  if (recompute == Recompute::kSelective) {
    again = b.core;
    host_again = f.host_forward_s * b.core_launches;
  } else if (recompute == Recompute::kFull) {
    again = device_forward;
    host_again = host_forward;
  }
  const Seconds device_input = b.backward_input + b.tensor_backward + b.expert_backward + again;
  const Seconds device_backward = device_input + b.weight_gradient;
  const Seconds host_backward = f.host_backward_s * b.backward_launches + host_again;
  time.forward = std::max(device_forward, host_forward);
  const Seconds backward = std::max(device_backward, host_backward);
  time.weight_gradient = b.weight_gradient;
  time.backward_input = backward - b.weight_gradient;
  time.compute = b.forward + b.backward_input + b.weight_gradient;
  time.recompute = again;
  time.tensor = b.tensor_forward + b.tensor_backward;
  time.expert = b.expert_forward + b.expert_backward;
  time.host =
      std::max(0.0, host_forward - device_forward) + std::max(0.0, host_backward - device_backward);
  return time;
}

StepParts step_parts(const Workload& work, const Layout& layout) {
  StepParts parts;
  const Transformer& m = work.model;
  if (m.experts.count == 0 || m.experts.dense_layers > 0) {
    parts.dense = layer_time(layer_cost(work, layout, false), work.framework, layout.recompute);
  }
  if (m.experts.count > 0) {
    parts.experts = layer_time(layer_cost(work, layout, true), work.framework, layout.recompute);
  }
  parts.ends = end_cost(work, layout);
  return parts;
}

StepTime step_time(const Workload& work, const Layout& l, const StepParts& parts) {
  const Stages stages = stages_of(work, l, parts);
  const double micro_batches = l.micro_batches();
  const double weights = device_weights(work, l);
  StepTime time;
  time.compute = micro_batches * stages.slowest.compute;
  time.recompute = micro_batches * stages.slowest.recompute;
  time.tensor = micro_batches * stages.slowest.tensor;
  time.expert = micro_batches * stages.slowest.expert;
  time.host = micro_batches * stages.slowest.host;
  time.bubble = bubble_of(l, stages);
  const Seconds send = send_time(work, l);
  time.pipeline = 2 * send * (micro_batches * l.chunks + l.pipeline - 1);
  time.data = data_time(work, l, stages.slowest, weights);
  time.optimizer = optimizer_time(work, l, weights);
  time.offload = offload_of(work, l, stages, weights);
  time.other = work.framework.step_s;
  return time;
}

StepTime step_time(const Workload& work, const Layout& layout) {
  return step_time(work, layout, step_parts(work, layout));
}

}  // namespace weft::planner

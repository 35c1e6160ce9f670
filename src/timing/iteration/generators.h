// Iterations from layers and from pipeline stages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "timing/iteration/graph.h"

namespace weft {

struct LayerSpec {
  std::string name;
  Seconds forward = 0, backward = 0;
  double gradient_bytes = 0;    // exchanged among the workers after the backward pass; 0: none
  double activation_bytes = 0;  // exchanged among tensor-parallel workers in each pass; 0: none
  std::vector<std::uint32_t> after;  // earlier layers whose output it takes; empty: takes the input
};

enum class Exchange : std::uint8_t { kAllReduce, kParameterServer };

// How a job reaches the network. Workers are alike and in step, so that one of them stands for all:
// the path is that of the most loaded one.
struct TrainingNetwork {
  Exchange exchange = Exchange::kAllReduce;
  std::uint32_t workers = 2;          // that exchange gradients; 1: none are exchanged
  std::uint32_t servers = 1;          // that parameters are spread over evenly
  std::uint32_t tensor_workers = 1;   // that share each layer
  std::vector<LinkId> path;           // of all-reduces and pushes; of activations to the next stage
  std::vector<LinkId> back_path;      // of pulls; of gradients to the stage before
  std::vector<LinkId> tensor_path;    // of the activations of tensor-parallel layers
  Seconds latency = 0, overhead = 0;  // of one message over one hop; of one message
};

// Data-parallel training, one device. The iteration is cut where the backward pass begins: backward
// (last layer first), gradients to the network, and the forward pass of the next step, each layer
// of which waits for its own parameters. So cut, it has no arrow to the next iteration.
//
// An all-reduce among p workers moves 2 (p - 1) / p bytes per byte over each worker's link in
// 2 (p - 1) steps (ring), so its latency is that many times the latency of a hop. With k parameter
// servers, the most loaded link carries max(1, p / k) bytes per byte, each way.
IterationGraph layers_graph(std::span<const LayerSpec> layers, const TrainingNetwork& network,
                            std::span<const double> link_bytes_per_s);

struct StageSpec {
  Seconds forward = 0, backward = 0;    // of one micro-batch
  double activation_bytes = 0;          // to the next stage, and as gradients back from it
  std::vector<LinkId> path, back_path;  // to and from the next stage; not of the last
};

enum class PipelineOrder : std::uint8_t { kGpipe, kOneForwardOneBackward };

// One device for each stage; micro-batches run forward through the stages and backward again, on
// each stage in the order named. Requires: at least one stage and micro-batch.
IterationGraph pipeline_graph(std::span<const StageSpec> stages, std::uint32_t microbatches,
                              PipelineOrder order, const TrainingNetwork& network,
                              std::span<const double> link_bytes_per_s);

// A wire over `path`, its rate that of the slowest link.
IterationWire make_wire(std::string name, std::vector<LinkId> path, double factor, Seconds overhead,
                        Seconds latency, std::span<const double> link_bytes_per_s);

}  // namespace weft

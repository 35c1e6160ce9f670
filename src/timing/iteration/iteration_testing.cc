#include "timing/iteration/iteration_testing.h"

#include <fmt/core.h>

namespace weft {
namespace {

std::vector<LinkId> random_path(Random& random, std::size_t links) {
  std::vector<LinkId> path;
  while (path.empty()) {
    for (LinkId link = 0; link < links; ++link) {
      if (random.chance(0.5)) path.push_back(link);
    }
  }
  return path;
}

std::vector<LayerSpec> random_layers(Random& random) {
  std::vector<LayerSpec> layers(1 + random.below(8));
  for (std::uint32_t l = 0; l < layers.size(); ++l) {
    layers[l].name = fmt::format("l{}", l);
    layers[l].forward = random.uniform();
    layers[l].backward = 2 * random.uniform();
    layers[l].gradient_bytes = random.chance(0.2) ? 0 : 1e6 * random.exponential(1);
    layers[l].activation_bytes = random.chance(0.5) ? 0 : 1e6 * random.exponential(0.3);
    if (l > 0 && random.chance(0.9)) layers[l].after = {l - 1};
    if (l > 1 && random.chance(0.3)) {
      layers[l].after = {static_cast<std::uint32_t>(random.below(l))};
    }
  }
  return layers;
}

}  // namespace

TestJob chain_job(const std::vector<LayerSpec>& layers, double bytes_per_s, Seconds overhead,
                  Seconds latency) {
  std::vector<LayerSpec> chain = layers;
  for (std::uint32_t l = 1; l < chain.size(); ++l) chain[l].after = {l - 1};
  TrainingNetwork network;
  network.path = {0};
  network.overhead = overhead;
  network.latency = latency / 2;  // two steps
  TestJob job{{bytes_per_s}, {}};
  job.graph = layers_graph(chain, network, job.links);
  return job;
}

TestJob random_job(Random& random) {
  TestJob job;
  for (std::uint64_t l = 1 + random.below(3); l > 0; --l) {
    job.links.push_back(1e6 * random.uniform(0.2, 3));
  }
  TrainingNetwork network;
  network.exchange = random.chance(0.5) ? Exchange::kAllReduce : Exchange::kParameterServer;
  network.workers = static_cast<std::uint32_t>(1 + random.below(5));
  network.servers = static_cast<std::uint32_t>(1 + random.below(3));
  network.tensor_workers = static_cast<std::uint32_t>(1 + random.below(3));
  network.path = random_path(random, job.links.size());
  network.back_path = random_path(random, job.links.size());
  network.tensor_path = random_path(random, job.links.size());
  network.overhead = random.chance(0.5) ? 0 : 0.1 * random.uniform();
  network.latency = random.chance(0.5) ? 0 : 0.1 * random.uniform();
  if (random.chance(0.7)) {
    job.graph = layers_graph(random_layers(random), network, job.links);
    return job;
  }
  std::vector<StageSpec> stages(1 + random.below(4));
  for (StageSpec& stage : stages) {
    stage = {random.uniform(), random.uniform(), random.chance(0.2) ? 0 : 1e6 * random.uniform(),
             random_path(random, job.links.size()), random_path(random, job.links.size())};
  }
  const auto order = static_cast<PipelineOrder>(random.below(2));
  job.graph = pipeline_graph(stages, static_cast<std::uint32_t>(1 + random.below(6)), order,
                             network, job.links);
  return job;
}

Seconds iteration_alone(const TestJob& job, const TransferPlan& plan) {
  IterationSetting setting;
  setting.graph = &job.graph;
  setting.plan = plan;
  return simulate_iterations(job.links, {&setting, 1}, {}).jobs[0].ends[0];
}

}  // namespace weft

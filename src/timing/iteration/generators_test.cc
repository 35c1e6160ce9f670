#include "timing/iteration/generators.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "timing/iteration/bound.h"
#include "timing/iteration/iteration_testing.h"
#include "timing/iteration/models.h"

namespace weft {
namespace {

TEST(LayersGraph, WiresCarryWhatTheExchangeNeeds) {
  const std::vector<LayerSpec> layers = {{"a", 1, 1, 10, 0, {}}};
  const std::vector<double> links = {100, 50};
  TrainingNetwork network;
  network.workers = 8;
  network.path = {0, 1};
  network.latency = 1;
  const IterationGraph ring = layers_graph(layers, network, links);
  ASSERT_EQ(ring.wires.size(), 1u);
  EXPECT_DOUBLE_EQ(ring.wires[0].factor, 2 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(ring.wires[0].latency, 14);
  EXPECT_EQ(ring.wires[0].bytes_per_s, 50);
  network.exchange = Exchange::kParameterServer;
  network.servers = 2;
  network.back_path = {0};
  const IterationGraph servers = layers_graph(layers, network, links);
  ASSERT_EQ(servers.wires.size(), 2u);
  EXPECT_DOUBLE_EQ(servers.wires[0].factor, 4);
  EXPECT_DOUBLE_EQ(servers.wires[0].latency, 1);
  network.workers = 1;
  EXPECT_TRUE(layers_graph(layers, network, links).wires.empty()) << "nobody to exchange with";
}

TEST(LayersGraph, TheFirstLayersParametersAreUsedFirst) {
  const TestJob job =
      chain_job({{"a", 1, 2, 5, 0, {}}, {"b", 1, 2, 5, 0, {}}, {"c", 1, 2, 5, 0, {}}}, 1);
  const std::vector<Seconds> use = first_use(job.graph);
  std::vector<std::pair<Seconds, std::string>> order;
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (job.graph.ops[i].is_transfer) order.push_back({use[i], job.graph.ops[i].name});
  }
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order[0], std::make_pair(6.0, std::string("gradient a")));
  EXPECT_EQ(order[1], std::make_pair(7.0, std::string("gradient b")));
  EXPECT_EQ(compute_only_times(job.graph).all, 9);
  EXPECT_EQ(compute_seconds(job.graph), 9);
}

TEST(LayersGraph, BranchesRunWhenTheirParametersAreThere) {
  // c takes both a and b, which take the input.
  const std::vector<LayerSpec> layers = {
      {"a", 1, 1, 0, 0, {}}, {"b", 1, 1, 0, 0, {}}, {"c", 1, 1, 0, 0, {0, 1}}};
  TrainingNetwork network;
  network.path = {0};
  const IterationGraph graph = layers_graph(layers, network, std::vector<double>{1});
  EXPECT_EQ(graph.ops.size(), 6u);
  EXPECT_EQ(graph.ops[3].needs.size(), 2u) << "the forward pass begins after the backward pass";
  EXPECT_EQ(compute_only_times(graph).all, 6);
}

TEST(PipelineGraph, TakesTheTextbookTimeOnAnIdealNetwork) {
  for (const auto order : {PipelineOrder::kGpipe, PipelineOrder::kOneForwardOneBackward}) {
    for (std::uint32_t stages = 1; stages <= 5; ++stages) {
      for (std::uint32_t batches = 1; batches <= 9; ++batches) {
        std::vector<StageSpec> specs(stages, {1, 2, 0, {0}, {0}});
        const IterationGraph graph =
            pipeline_graph(specs, batches, order, {}, std::vector<double>{1});
        EXPECT_EQ(graph.ops.size(), 2u * stages * batches);
        EXPECT_NEAR(compute_only_times(graph).all, 3.0 * (batches + stages - 1), 1e-9);
      }
    }
  }
}

TEST(PipelineGraph, AtMostAsManyActivationsAsStagesAreHeld) {
  std::vector<StageSpec> specs(4, {1, 1, 8, {0}, {0}});
  const IterationGraph graph =
      pipeline_graph(specs, 8, PipelineOrder::kOneForwardOneBackward, {}, std::vector<double>{1});
  int held = 0, most = 0;
  for (const IterationOp& op : graph.ops) {
    if (op.is_transfer || op.place != 0) continue;
    held += op.name.starts_with("forward") ? 1 : -1;
    most = std::max(most, held);
  }
  EXPECT_EQ(most, 4);
}

struct ModelRow {
  const char* name;
  double parameters, giga_multiply_adds, tolerance;
};

TEST(NetworkModels, HaveTheirPublishedSizes) {
  const std::vector<ModelRow> table = {
      {"vgg16", 138'357'544, 15.47, 0.001},
      {"resnet50", 25'557'032, 4.1, 0.02},
      {"bert-large", 335'141'888, 24 * 512 * (12 * 1024.0 * 1024 + 2 * 512 * 1024) / 1e9, 0.001},
      {"gpt2-xl", 1'557'611'200, 1.68e3, 0.05},
  };
  ASSERT_EQ(network_models().size(), table.size());
  for (std::size_t m = 0; m < table.size(); ++m) {
    SCOPED_TRACE(table[m].name);
    EXPECT_EQ(network_models()[m].name, table[m].name);
    double parameters = 0, work = 0;
    for (const ModelLayer& layer : network_models()[m].layers()) {
      parameters += layer.parameters;
      work += layer.multiply_adds;
    }
    EXPECT_EQ(parameters, table[m].parameters);
    EXPECT_NEAR(work / 1e9 / table[m].giga_multiply_adds, 1, table[m].tolerance);
  }
}

}  // namespace
}  // namespace weft

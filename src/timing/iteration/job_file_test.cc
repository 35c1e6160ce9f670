#include "timing/iteration/job_file.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr const char* kLinks = "links:\n  - {name: nic, gbit_s: 8}\n  - {name: up, gbit_s: 4}\n";

Result<TrainingFile> parse(const std::string& text) { return parse_training_file({"job", text}); }

TEST(TrainingFile, ReadsEveryKindOfJob) {
  const auto file = parse(std::string(kLinks) + R"(
jobs:
  - name: layers
    path: [nic, up]
    workers: 4
    latency_us: 2
    overhead_us: 3
    start_ms: 5
    layers:
      - {name: x, forward_ms: 1, backward_ms: 2, gradient_mb: 3}
      - {name: y, forward_ms: 1, backward_ms: 2, gradient_mb: 3}
      - {name: z, forward_ms: 1, backward_ms: 2, after: [x, y]}
  - {name: model, model: vgg16, tflops: 10, path: nic, guarantee_gbit_s: 1, limit_gbit_s: 2}
  - name: pipe
    path: [nic]
    back_path: [up]
    pipeline:
      microbatches: 3
      stages: [{forward_ms: 1, backward_ms: 1, activation_mb: 1}, {forward_ms: 1}]
  - name: graph
    path: [nic]
    operations:
      - {name: f, ms: 4, device: gpu0}
      - {name: send, mb: 2, needs: [f]}
      - {name: g, ms: 4, device: gpu1, needs: [send]}
)");
  ASSERT_TRUE(file.ok()) << file.error().text();
  ASSERT_EQ(file->jobs.size(), 4u);
  EXPECT_EQ(file->link_bytes_per_s, (std::vector<double>{1e9, 0.5e9}));
  const TrainingJob& layers = file->jobs[0];
  EXPECT_EQ(layers.graph.ops.size(), 8u);
  EXPECT_DOUBLE_EQ(layers.graph.wires[0].latency, 6 * 2e-6);
  EXPECT_EQ(layers.graph.wires[0].bytes_per_s, 0.5e9);
  EXPECT_DOUBLE_EQ(layers.start, 0.005);
  EXPECT_EQ(layers.devices, 4);
  EXPECT_EQ(file->jobs[1].graph.ops.size(), 48u);
  EXPECT_DOUBLE_EQ(file->jobs[1].share.limit, 0.25e9);
  EXPECT_EQ(file->jobs[2].graph.ops.size(), 18u);
  EXPECT_EQ(file->jobs[3].graph.devices, (std::vector<std::string>{"gpu0", "gpu1"}));
  EXPECT_DOUBLE_EQ(file->jobs[3].graph.ops[1].amount, 2e6);
}

struct BadJobFile {
  const char* why;
  std::string text;
  std::vector<std::string> says;
};

std::string with_job(const std::string& job) { return std::string(kLinks) + "jobs:\n  - " + job; }

void expect_refused(const BadJobFile& row) {
  SCOPED_TRACE(row.why);
  const auto file = parse(row.text);
  ASSERT_FALSE(file.ok());
  for (const std::string& word : row.says) {
    EXPECT_NE(file.error().text().find(word), std::string::npos)
        << word << " in " << file.error().text();
  }
}

TEST(TrainingFile, EveryMistakeIsNamed) {
  const std::vector<BadJobFile> table = {
      {"nothing", "", {"job"}},
      {"no links", "jobs: []", {"links"}},
      {"no jobs", std::string(kLinks) + "jobs: []", {"at least one job"}},
      {"a link without rate", "links: [{name: x, gbit_s: 0}]\njobs: []", {"gbit_s", "'0'"}},
      {"a link twice",
       "links: [{name: x, gbit_s: 1}, {name: x, gbit_s: 1}]\njobs: []",
       {"two links are named 'x'"}},
      {"an unknown link",
       with_job("{name: a, model: vgg16, tflops: 1, path: [nik]}"),
       {"'nik'", "'nic'"}},
      {"a link twice in a path",
       with_job("{name: a, model: vgg16, tflops: 1, path: [nic, nic]}"),
       {"twice"}},
      {"no path", with_job("{name: a, model: vgg16, tflops: 1}"), {"path", "gradients"}},
      {"no way back",
       with_job("{name: a, model: vgg16, tflops: 1, path: nic, communication: parameter-server}"),
       {"back_path"}},
      {"an unknown model", with_job("{name: a, model: vgg17, tflops: 1, path: nic}"), {"vgg17"}},
  };
  for (const BadJobFile& row : table) expect_refused(row);
}

TEST(TrainingFile, EveryMistakeOfABodyIsNamed) {
  const std::vector<BadJobFile> table = {
      {"two bodies",
       with_job("{name: a, model: vgg16, tflops: 1, path: nic, layers: []}"),
       {"exactly one"}},
      {"no body", with_job("{name: a, path: nic}"), {"exactly one"}},
      {"an unknown key",
       with_job("{name: a, model: vgg16, tflops: 1, path: nic, wrokers: 2}"),
       {"wrokers", "workers"}},
      {"a layer that comes later",
       with_job("{name: a, path: nic, layers: [{name: x, after: [y]}, {name: y}]}"),
       {"'y'", "before"}},
      {"no time at all", with_job("{name: a, path: nic, layers: [{name: x}]}"), {"no time"}},
      {"negative time",
       with_job("{name: a, path: nic, layers: [{name: x, forward_ms: -1}]}"),
       {"forward_ms", "'-1'"}},
      {"a pipeline without paths",
       with_job("{name: a, pipeline: {microbatches: 2, stages: [{forward_ms: 1}, {}]}}"),
       {"stage 0", "back_path"}},
      {"a pipeline too large",
       with_job("{name: a, path: nic, back_path: up, pipeline: {microbatches: 4000, stages: "
                "[{forward_ms: 1}, {}]}}"),
       {"8192"}},
      {"a transfer without path",
       with_job("{name: a, operations: [{name: x, mb: 2}]}"),
       {"'x'", "no path"}},
      {"promises that cannot be kept",
       with_job("{name: a, model: vgg16, tflops: 1, path: up, guarantee_gbit_s: 5}"),
       {"'up'", "5", "4"}},
      {"a limit below the guarantee",
       with_job("{name: a, model: vgg16, tflops: 1, path: up, guarantee_gbit_s: 3, "
                "limit_gbit_s: 2}"),
       {"limit_gbit_s"}},
      {"more done than there is",
       with_job("{name: a, model: vgg16, tflops: 1, path: up, iterations_done: 9, "
                "iterations_total: 8}"),
       {"iterations_total"}},
  };
  for (const BadJobFile& row : table) expect_refused(row);
}

}  // namespace
}  // namespace weft

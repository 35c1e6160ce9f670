#include "iteration_chart.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weft {
namespace {

TrainingFile small_file() {
  auto file = parse_training_file({"job", R"(
links: [{name: nic, gbit_s: 0.008}]
jobs:
  - name: "<a & b>"
    path: nic
    layers:
      - {name: x, forward_ms: 10, backward_ms: 20, gradient_mb: 0.03}
      - {name: y, forward_ms: 10, backward_ms: 20, gradient_mb: 0.03}
)"});
  EXPECT_TRUE(file.ok()) << file.error().text();
  return std::move(file).value();
}

std::vector<SchedulerRun> runs_of(const TrainingFile& file, std::vector<std::string> names) {
  std::vector<SchedulerRun> runs;
  for (const std::string& name : names) {
    runs.push_back(run_flow_scheduler(file, *parse_flow_scheduler(name), 4, true));
  }
  return runs;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(IterationSvg, ShowsTheLastTwoIterationsOfEveryRun) {
  const TrainingFile file = small_file();
  const std::string svg = iteration_svg(file, runs_of(file, {"fifo", "p3:1000"}));
  EXPECT_EQ(count(svg, "<title>backward x"), 4u) << "two iterations, two runs";
  EXPECT_LE(count(svg, "<title>gradient y"), 8u) << "slices are drawn as one bar";
  EXPECT_EQ(count(svg, "class=\"title\""), 2u);
  EXPECT_EQ(svg.find("<a &"), std::string::npos) << "names are escaped";
  EXPECT_NE(svg.find("&lt;a &amp; b>"), std::string::npos);
  EXPECT_EQ(count(svg, "nan"), 0u);
}

TEST(IterationTrace, HasEveryOperationOfEveryIteration) {
  const TrainingFile file = small_file();
  const auto json = nlohmann::json::parse(iteration_trace(file, runs_of(file, {"fifo", "tac"})));
  std::size_t complete = 0;
  double last = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++complete;
    EXPECT_GE(event["dur"].get<double>(), 0);
    last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(complete, 2u * 4 * 6) << "runs, iterations, operations";
  EXPECT_NEAR(last, 4e6 * 0.1, 1) << "microseconds: 4 iterations of 100 ms";
}

}  // namespace
}  // namespace weft

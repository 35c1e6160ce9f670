// The exact solver against numbers that another solver and the papers' formulas give.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/files.h"
#include "pipeline/schedules.h"
#include "pipeline/solve.h"
#include "pipeline/verify.h"

namespace weft::pipeline {
namespace {

TEST(Oracle, EverySavedPointIsReproduced) {
  const auto text =
      read_file(std::string(WEFT_SHARED_DATA) + "/planner/pipeline_oracle.json", 1 << 20);
  if (!text.ok()) GTEST_SKIP() << text.error().what << "; see docs/data.md";
  const auto points = nlohmann::json::parse(*text);
  ASSERT_EQ(points.size(), 5u);
  for (const auto& point : points) {
    for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2"}) {
      SCOPED_TRACE(std::string(name) + " at " + point["p"].dump() + ", " + point["m"].dump() +
                   ", " + point["v"].dump());
      const auto schedule =
          generate(name, {.stages = point["p"], .micro_batches = point["m"], .chunks = point["v"]});
      ASSERT_TRUE(schedule.ok());
      const Status status = verify(*schedule);
      ASSERT_TRUE(status.ok()) << status.error().text();
      const Timeline t = *solve(*schedule);
      EXPECT_NEAR(t.makespan, point[name]["makespan"].get<double>(), 1e-9 * t.makespan);
      EXPECT_NEAR(t.idle_fraction, point[name]["bubble_frac"].get<double>(), 5e-7);
      double peak = 0;
      for (const double one : t.peak_activations) peak = std::max(peak, one);
      EXPECT_NEAR(peak, point[name]["peak_act"].get<double>(), 1e-9 * peak);
      if (std::string(name) == "zb-h2") {
        EXPECT_NEAR(t.span_idle_fraction, 0, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace weft::pipeline

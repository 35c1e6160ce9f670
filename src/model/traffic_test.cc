#include "model/traffic.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

Trace plain_trace(int jobs) {
  Trace trace;
  auto menu = std::make_shared<Menu>();
  menu->configurations.resize(1);
  menu->configurations[0].devices = 16;
  for (int i = 0; i < jobs; ++i) {
    Submission submission;
    submission.name = std::to_string(i);
    submission.menu = menu;
    trace.jobs.push_back({std::make_shared<const Submission>(submission), {}});
  }
  return trace;
}

TEST(Traffic, StepsAreThoseOfTheNearestMeasuredCount) {
  const ModelTraffic& vgg = traffic_table().back();
  EXPECT_EQ(vgg.name, "vgg-16");
  EXPECT_NEAR(step_seconds(vgg, 1), 64 / 154.0, 1e-12);
  EXPECT_NEAR(step_seconds(vgg, 3), 128 / 295.0, 1e-12);
  EXPECT_NEAR(step_seconds(vgg, 64), 512 / 1081.0, 1e-12);
}

TEST(Traffic, DrawsBySeedSharesMenusAndLeavesSpeedAlone) {
  Trace a = plain_trace(200), b = plain_trace(200), c = plain_trace(200);
  draw_traffic(a, 1);
  draw_traffic(b, 1);
  draw_traffic(c, 2);
  std::set<const Menu*> menus;
  bool differs = false;
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    const Configuration& mine = a.jobs[i].submission->requested();
    EXPECT_EQ(mine, b.jobs[i].submission->requested());
    differs |= mine != c.jobs[i].submission->requested();
    EXPECT_EQ(mine.rate, 1);
    EXPECT_GT(mine.traffic.bytes_per_step, 0);
    EXPECT_GT(mine.seconds_per_step, 0);
    menus.insert(a.jobs[i].submission->menu.get());
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(menus.size(), traffic_table().size());
}

TEST(Traffic, KeepsWhatATraceSays) {
  Trace trace = plain_trace(1);
  auto menu = std::make_shared<Menu>(*trace.jobs[0].submission->menu);
  menu->configurations[0].traffic = {Traffic::Pattern::kAllToAll, 77, 0.5};
  Submission submission = *trace.jobs[0].submission;
  submission.menu = menu;
  trace.jobs[0].submission = std::make_shared<const Submission>(submission);
  draw_traffic(trace, 1);
  EXPECT_EQ(trace.jobs[0].submission->requested().traffic.bytes_per_step, 77);
}

}  // namespace
}  // namespace weft

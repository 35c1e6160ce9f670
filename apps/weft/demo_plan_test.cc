#include "demo_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/wrap.h"
#include "demo_forecast.h"
#include "demo_report.h"
#include "live/job/profile.h"
#include "live/job/submission.h"
#include "model/cluster_yaml.h"

namespace weft {
namespace {

// Steps as on links of 50 Mbit/s: whole gradients take long, encoded ones a quarter, averaged ones
// less.
Calibration measured() {
  Calibration c;
  c.loads = {
      {"links", 100, 5}, {"links", 50, 12}, {"computation", 100, 4}, {"computation", 100, 5}};
  c.meetings = {{"gloo", 2, 0.1}, {"weft", 2, 0.2}, {"gloo", 4, 0.3}, {"weft", 4, 0.8}};
  const std::map<std::string, double> compute = {{"small", 0.07}, {"medium", 0.09}, {"large", 0.1}};
  const std::map<std::string, double> whole = {{"small", 0.13}, {"medium", 0.35}, {"large", 0.82}};
  const std::map<std::string, double> part = {
      {"ddp", 1}, {"none/bsp", 1}, {"int8/bsp", 0.3}, {"int8/local:period=4", 0.1}};
  for (const auto& [model, step] : compute) {
    c.rows.push_back({model, "alone", 1, 1, step, 0.25});  // the first step takes more
    for (const auto& [way, share] : part) {
      const double ready = whole.at(model);  // parameters go whole
      c.rows.push_back({model, way, 2, 1, step + 0.01, 0.02});
      c.rows.push_back({model, way, 2, 2, step + whole.at(model) * share, ready});
      if (model == "large") c.rows.push_back({model, way, 4, 2, step + 1.5 * 0.82 * share, ready});
    }
  }
  return c;
}

TEST(DemoPlan, DevicesLeaveAQuarterOfAProcessor) {
  for (const unsigned processors : {1u, 2u, 4u, 64u}) {
    const DemoPark park = demo_park(processors, true);
    EXPECT_LE(park.nodes * park.devices * park.device_milli,
              1000 * static_cast<int>(processors) - 250);
    const auto cluster = parse_cluster_yaml({"demo", park.yaml()});
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    EXPECT_EQ(cluster->device_count(), 8u);
    EXPECT_DOUBLE_EQ(cluster->nodes[0].network_bytes_per_s, park.link_bytes_per_s);
  }
}

TEST(DemoPlan, LargerGroupsFollowWhatFourTook) {
  const Calibration c = measured();
  EXPECT_DOUBLE_EQ(c.exposed("medium", "ddp", 1, 1), 0);
  EXPECT_NEAR(c.exposed("medium", "ddp", 2, 1), 0.01, 1e-9);
  EXPECT_NEAR(c.exposed("medium", "ddp", 2, 2), 0.35, 1e-9);
  EXPECT_NEAR(c.exposed("medium", "ddp", 4, 2), 0.35 * 1.5, 1e-9);
  Calibration own = c;  // four of this model were measured, too
  own.rows.push_back({"medium", "ddp", 4, 2, 0.09 + 0.5, 0});
  EXPECT_NEAR(own.exposed("medium", "ddp", 4, 2), 0.5, 1e-9);
  const Seconds three = c.exposed("medium", "ddp", 3, 2);
  EXPECT_GT(three, c.exposed("medium", "ddp", 2, 2));
  EXPECT_LT(three, c.exposed("medium", "ddp", 4, 2));
}

TEST(DemoPlan, AStartIsLoadingMeetingAndTheFirstParameters) {
  const Calibration c = measured();
  EXPECT_NEAR(c.start("small", "ddp", 1, 1, 100, 0), 4.5 + 0.25, 1e-9);
  // Beside full links, where halves of devices count as halves.
  EXPECT_NEAR(c.start("small", "ddp", 1, 1, 100, 1), 5.5 + 0.25, 1e-9);
  EXPECT_NEAR(c.start("small", "ddp", 1, 1, 50, 0.5), 10 + 0.5, 1e-9);
  EXPECT_NEAR(c.slowdown(), 5.5 / 4.5, 1e-9);
  EXPECT_NEAR(c.start("medium", "ddp", 2, 1, 100, 0), 4.75 + 0.1 + 0.02, 1e-9);
  EXPECT_NEAR(c.start("medium", "ddp", 2, 2, 100, 0), 4.75 + 0.1 + 0.35, 1e-9);
  EXPECT_NEAR(c.start("medium", "int8/bsp", 3, 2, 100, 0), 4.75 + 0.5 + 0.35, 1e-9);
  EXPECT_NEAR(c.start("large", "none/bsp", 4, 2, 100, 0), 4.75 + 0.8 + 0.82, 1e-9);
}

TEST(DemoPlan, ACalibrationIsReadAsRanksWriteIt) {
  const auto read = Calibration::from_json(nlohmann::json::parse(R"({
    "loads": [{"beside": "links", "percent": 50, "loaded_s": 12}],
    "meetings": [{"backend": "gloo", "ranks": 2, "seconds": 0.1}],
    "rows": [{"model": "small", "way": "alone", "ranks": 1, "nodes": 1, "step_s": 0.07,
              "ready_s": 0.01, "link_bytes": 5}]})"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_NEAR(read->start("small", "ddp", 1, 1, 100, 1), 6.01, 1e-9);
  EXPECT_NEAR(read->compute("small"), 0.07, 1e-9);
  EXPECT_FALSE(Calibration::from_json(nlohmann::json::parse(R"({"loads": [{}]})")).ok());
}

TEST(DemoPlan, OnlyWhatLinksCarriedMeetsOtherJobs) {
  constexpr double kLink = 1e6;
  Calibration c = measured();
  // Where nothing was counted, all that sending adds to a step.
  EXPECT_NEAR(c.on_link("large", "int8/bsp", 2, 2, kLink), c.exposed("large", "int8/bsp", 2, 2),
              1e-9);
  for (Calibration::Row& row : c.rows) {
    if (row.nodes > 1) row.link_bytes = row.ranks == 2 ? 5e4 : 1e5;
  }
  EXPECT_NEAR(c.on_link("large", "int8/bsp", 2, 2, kLink), 0.05, 1e-9);
  EXPECT_NEAR(c.on_link("large", "int8/bsp", 4, 2, kLink), 0.1, 1e-9);
  EXPECT_NEAR(c.link_share("large", "int8/bsp", 2, 2, kLink), 0.05 / (0.1 + 0.82 * 0.3), 1e-9);
  EXPECT_EQ(c.link_share("large", "int8/bsp", 2, 1, kLink), 0);
  EXPECT_GT(c.on_link("medium", "int8/bsp", 3, 2, kLink), 0.05);
  EXPECT_LT(c.on_link("medium", "int8/bsp", 3, 2, kLink), 0.1);
}

TEST(DemoPlan, EveryJobIsAcceptedWithItsProfile) {
  for (const bool root : {true, false}) {
    const DemoPark park = demo_park(2, root);
    const auto cluster = parse_cluster_yaml({"demo", park.yaml()});
    for (const DemoStyle& style : demo_styles()) {
      for (const DemoJob& job : demo_jobs()) {
        const live::JobSpec spec = demo_spec(job, style, park, "/tmp");
        auto submission = live::make_submission(spec, *cluster, 0, {});
        ASSERT_TRUE(submission.ok())
            << style.name << " " << job.name << ": " << submission.error().text();
        const auto profile = live::profile_from_json(demo_profile(job, style, park, measured()));
        ASSERT_TRUE(profile.ok()) << profile.error().text();
        const Status applied = live::apply_profile(*profile, spec, *submission);
        EXPECT_TRUE(applied.ok()) << applied.error().text();
        EXPECT_EQ(submission->declared_work, job.batches);
      }
    }
  }
}

TEST(DemoPlan, LessCommunicationIsForeseenToBeFaster) {
  const DemoPark park = demo_park(2, true);
  std::map<std::string, Seconds> mean;
  for (const DemoStyle& style : demo_styles()) {
    const auto expected = demo_forecast(style, park, measured(), "/tmp");
    ASSERT_TRUE(expected.ok()) << style.name << ": " << expected.error().text();
    ASSERT_EQ(expected->size(), demo_jobs().size());
    for (const auto& [job, of] : *expected) {
      EXPECT_GE(of.start, 0) << job;
      EXPECT_GT(of.end - of.start, measured().loads[2].loaded) << job;
      EXPECT_LT(of.end, 300) << job;
      EXPECT_EQ(of.restarts, job == demo_jobs()[kDemoVictim].name ? 1u : 0u) << style.name << job;
      mean[style.name] += of.end / static_cast<double>(expected->size());
    }
  }
  EXPECT_LT(mean["weft"], 0.7 * mean["fifo"]);
  EXPECT_LT(mean["weft"], mean["placed"]);
}

// Jobs come such that none races another for devices: when the rank dies, and how fast the machine
// is, changes times and not the order of events.
TEST(DemoPlan, WhenTheRankDiesChangesLittleForTheOthers) {
  const DemoPark park = demo_park(2, true);
  for (const DemoStyle& style : demo_styles()) {
    const auto usual = demo_forecast(style, park, measured(), "/tmp");
    ASSERT_TRUE(usual.ok());
    for (const double share : {0.25, 0.4, 0.6, 0.75}) {
      const auto other = demo_forecast(style, park, measured(), "/tmp", share);
      ASSERT_TRUE(other.ok());
      double moved = 0;
      for (const auto& [job, of] : *other) moved += std::abs(of.end / usual->at(job).end - 1);
      EXPECT_LT(moved / static_cast<double>(usual->size()), 0.08) << style.name << " " << share;
    }
  }
}

DemoSummary summary_of_two() {
  DemoSummary summary;
  for (const double factor : {2.0, 1.0}) {
    DemoResult run;
    run.name = factor > 1 ? "fifo" : "weft";
    for (const DemoJob& job : demo_jobs()) {
      DemoOutcome row;
      row.job = job.name;
      row.state = "finished";
      row.submitted = job.submit;
      row.started = job.submit + 1;
      row.ended = job.submit + 10 * factor;
      row.predicted = 11 * factor;
      run.jobs.push_back(row);
    }
    summary.runs.push_back(run);
  }
  return summary;
}

TEST(DemoReport, SaysWhatCameOfIt) {
  const DemoSummary summary = summary_of_two();
  EXPECT_DOUBLE_EQ(summary.gain(summary.last()), 2);
  EXPECT_NEAR(summary.last().mean_error_pct(), 10, 1e-9);
  const auto json = demo_json(summary);
  EXPECT_DOUBLE_EQ(json.at("gain").get<double>(), 2);
  EXPECT_EQ(json.at("runs").size(), 2u);
  for (const char* key : {"predicted_s", "measured_s", "error_pct"}) {
    EXPECT_TRUE(json.at("runs").at(0).at("jobs").at(0).contains(key)) << key;
  }
  EXPECT_NE(demo_verdict(summary).find("2.00x"), std::string::npos);
  EXPECT_NE(demo_table(summary).find("vision"), std::string::npos);
  const std::string page = demo_page(summary);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // it fetches nothing
}

TEST(DemoReport, EqualRunsShowHowFarTheySpread) {
  DemoSummary summary = summary_of_two();
  EXPECT_FALSE(summary.equal_runs());
  EXPECT_FALSE(demo_json(summary).contains("spread_pct"));
  summary.runs[1].name = "fifo";  // 20 s and 10 s: each a third from 15
  EXPECT_TRUE(summary.equal_runs());
  EXPECT_NEAR(summary.spread_pct(), 100.0 / 3, 1e-9);
  EXPECT_NEAR(summary.spread_pct("lm"), 100.0 / 3, 1e-9);
  EXPECT_NEAR(demo_json(summary).at("spread_pct").get<double>(), 100.0 / 3, 1e-9);
  EXPECT_NE(demo_verdict(summary).find("2 equal runs are 33.3 %"), std::string::npos);
  EXPECT_NE(demo_table(summary).find("33.3 %"), std::string::npos);
}

TEST(DemoReport, TheTableIsNarrowWhateverWasRun) {
  DemoSummary summary = summary_of_two();
  for (DemoOutcome& row : summary.runs[1].jobs) row.how = "int8/local:period=4";
  summary.runs.insert(summary.runs.begin() + 1, summary.runs[0]);
  summary.runs[1].name = "placed";
  const std::string table = demo_table(summary);
  EXPECT_LE(widest_line(table), kPageColumns) << table;
  for (const char* fact :
       {"fifo, plain DDP", "placed, plain DDP", "weft", "chosen",
        "\nlm           22.0   20.0  +10.0%   22.0   20.0  +10.0%   11.0   10.0  +10.0%  "
        "int8/local:period=4\n",
        "\nmean                20.0   10.0%          20.0   10.0%          10.0   10.0%\n"}) {
    EXPECT_NE(table.find(fact), std::string::npos) << fact << " is not in\n" << table;
  }
  summary.runs.assign(20, summary.runs[0]);
  EXPECT_LE(widest_line(demo_table(summary)), kPageColumns) << "20 equal runs";
}

TEST(DemoReport, AJobThatFailedIsNotWell) {
  DemoSummary summary = summary_of_two();
  summary.runs[0].jobs[0].state = "failed";
  EXPECT_FALSE(summary.all_well());
  EXPECT_NE(demo_verdict(summary).find("not every job finished"), std::string::npos);
}

}  // namespace
}  // namespace weft

// Forecasts: a state is run ahead on a copy, and what comes of it is what then happens.
#include "sim/forecast.h"

#include "sim/sim_testing.h"

namespace weft {
namespace {

// Takes an image of the controller in the middle of a run.
class Photographer : public ControlSide {
 public:
  Photographer(const Cluster& cluster, const Policy& policy, Executor& executor, Journal& journal,
               Seconds at, std::string& image)
      : policy_(policy),
        controller_(cluster, policy, executor, ControllerOptions{}, &journal),
        at_(at),
        image_(image) {}
  JobId handle(const Event& event) override { return controller_.handle(event); }
  void decide(Seconds now) override {
    controller_.decide(now);
    if (now >= at_ && image_.empty()) image_ = controller_.image();
  }
  Seconds next_wake() override { return controller_.next_wake(); }
  void restart() override { controller_.take_policy(policy_); }
  void ask_again() override { controller_.ask_again(); }
  const Controller& controller() const override { return controller_; }

 private:
  const Policy& policy_;
  Controller controller_;
  Seconds at_;
  std::string& image_;
};

struct Photo {
  Cluster cluster;
  std::unique_ptr<Policy> policy;
  std::string image;
  RunResult really;
};

Photo photo(const std::string& cluster, const std::string& policy, const std::vector<JobRow>& rows,
            Seconds at) {
  Photo out{testing_cluster(cluster), testing_policy(policy), "", {}};
  const Trace trace = testing_trace(rows);
  SimRequest request;
  request.cluster = &out.cluster;
  request.trace = &trace;
  request.policy = out.policy.get();
  request.options = testing_options();
  request.options.channel.delay_mean = 1e-6;
  request.control_side = [&](Executor& executor, Journal& journal) {
    return std::make_unique<Photographer>(out.cluster, *out.policy, executor, journal, at,
                                          out.image);
  };
  auto result = simulate(request);
  if (!result.ok()) ADD_FAILURE() << result.error().text();
  CHECK(result.ok());
  out.really = std::move(result).value();
  return out;
}

TEST(Forecast, IsWhatThenHappens) {
  const Photo p = photo("1x2", "fifo", {{0, 2, 100}, {10, 1, 50}, {20, 2, 30}, {30, 1, 5}}, 30);
  const auto forecast = SimForecaster().forecast({p.cluster, *p.policy, p.image, 2, 10});
  ASSERT_TRUE(forecast.ok()) << forecast.error().text();
  EXPECT_TRUE(forecast->whole);
  ASSERT_EQ(forecast->jobs.size(), 4u);
  for (JobId id = 0; id < 4; ++id) {
    const JobForecast& job = forecast->jobs.at(id);
    EXPECT_NEAR(job.end, p.really.records[id].end, 0.01) << "job " << id;
    const Seconds start = id == 0 ? forecast->at : p.really.records[id].first_start;
    EXPECT_NEAR(job.start, start, 0.01) << "job " << id;
    EXPECT_EQ(job.source, ForecastSource::kUser);
  }
  ASSERT_FALSE(forecast->reasons.empty());
  EXPECT_EQ(forecast->reasons.front().at, forecast->at);
  EXPECT_EQ(forecast->reasons.front().ahead, 1u) << forecast->reasons.front().text;
}

TEST(Forecast, SaysWhereItsEstimatesAreFrom) {
  std::vector<JobRow> rows = {{0, 1, 20}, {0, 1, 1000}, {30, 1, 50}, {31, 1, 60, 0, kNever, 1}};
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (JobRow& row : rows) {
    row.edit = [=](Submission&, Menu&, Truth& truth) { truth.user_estimate = unknown; };
  }
  rows[3].edit = [](Submission& job, Menu&, Truth&) { job.tenant = 0; };
  const Photo p = photo("1x2", "fifo", rows, 31);
  const auto forecast = SimForecaster().forecast({p.cluster, *p.policy, p.image, kNoJob, 10});
  ASSERT_TRUE(forecast.ok()) << forecast.error().text();
  EXPECT_FALSE(forecast->jobs.contains(0)) << "it has ended";
  const JobForecast& like = forecast->jobs.at(2);
  EXPECT_EQ(like.source, ForecastSource::kHistory);
  EXPECT_NEAR(like.needs_s, 20 - 1, 0.1) << "job 0 took 20 s, and it has run for 1";
  EXPECT_EQ(forecast->jobs.at(3).source, ForecastSource::kUser);
}

TEST(Forecast, EndsWithItsBudget) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 26; ++i) rows.push_back({static_cast<double>(i), 1, 1000.0 + i});
  const Photo p = photo("1x1", "gandiva", rows, 25);
  const auto forecast = SimForecaster().forecast({p.cluster, *p.policy, p.image, kNoJob, 0});
  ASSERT_TRUE(forecast.ok()) << forecast.error().text();
  EXPECT_FALSE(forecast->whole);
  EXPECT_LT(forecast->until, 26'000);
}

class ForecastUnder : public testing::TestWithParam<std::string> {};

TEST_P(ForecastUnder, EveryJobGetsAnAnswer) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 12; ++i) {
    rows.push_back({10.0 * i, static_cast<std::uint32_t>(1 + i % 4), 200.0 + 30 * i, i % 3});
  }
  const Photo p = photo("2x4", GetParam(), rows, 110);
  const auto forecast = SimForecaster().forecast({p.cluster, *p.policy, p.image, 11, 20});
  ASSERT_TRUE(forecast.ok()) << forecast.error().text();
  EXPECT_TRUE(forecast->whole);
  for (const auto& [id, job] : forecast->jobs) {
    EXPECT_TRUE(job.rejected || job.end < kNever) << "job " << id;
    EXPECT_TRUE(job.rejected || job.start <= job.end) << "job " << id;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, ForecastUnder, testing::ValuesIn(policy_names()),
                         policy_test_name);

TEST(PreviewPolicy, NamesWhoWouldBeStopped) {
  // A long job of low priority runs; under `fifo` the urgent one waits, under `priority` not.
  const Photo p = photo("1x2", "fifo", {{0, 2, 1000, 0}, {10, 2, 10, 5}, {20, 1, 10, 0}}, 10);
  const auto same = preview_policy(p.cluster, *p.policy, p.image);
  ASSERT_TRUE(same.ok()) << same.error().text();
  EXPECT_TRUE(same->stopped.empty());
  const auto takeover = preview_policy(p.cluster, *testing_policy("srtf"), p.image);
  ASSERT_TRUE(takeover.ok()) << takeover.error().text();
  EXPECT_EQ(takeover->stopped, std::vector<JobId>{0});
  EXPECT_EQ(takeover->started, std::vector<JobId>{1});
}

}  // namespace
}  // namespace weft

#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;

constexpr size_t kPageBytes = 15'000'000;

Cluster cluster_of(int nodes, std::uint16_t devices) {
  Cluster cluster;
  cluster.text = std::to_string(nodes) + "x" + std::to_string(devices);
  cluster.types.push_back({});
  for (int i = 0; i < nodes; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.devices = devices;
    cluster.nodes.push_back(node);
  }
  cluster.finish();
  return cluster;
}

// A world to report on: jobs are added together with how they ran.
struct ReportWorld {
  Cluster cluster = cluster_of(2, 4);
  Trace trace;
  RunResult run;
  std::uint32_t replicate = 1;

  ReportWorld() {
    trace.tenants = {"vision", "speech"};
    run.policy = "fifo";
    run.cluster = cluster.text;
  }

  void add_job(const std::string& name, Seconds submit, Seconds end,
               WorkloadKind kind = WorkloadKind::kTraining) {
    Submission spec;
    spec.name = name;
    spec.kind = kind;
    spec.submit = submit;
    spec.menu = std::make_shared<Menu>(Menu{{Configuration{}}});
    trace.jobs.push_back({std::make_shared<const Submission>(spec), {}});
    JobRecord record;
    record.submit = submit;
    record.end = end;
    run.records.push_back(record);
  }
  ReportInput input() const { return {&cluster, &trace, replicate, {&run}, {}}; }
};

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// What a browser hands to JSON.parse: everything until the next end of a script element.
Json data_of(const std::string& html) {
  const std::string open = R"(<script id="data" type="application/json">)";
  const size_t begin = html.find(open) + open.size();
  return Json::parse(html.substr(begin, html.find("</script", begin) - begin));
}

Json data_of(const ReportInput& input) { return data_of(report_html(input)); }

TEST(Report, FetchesNothing) {
  ReportWorld world;
  world.add_job("a", 0, 10);
  const std::string html = report_html(world.input());
  for (const char* way_out : {"http://", "https://", " src=", "@import", "url(", "fetch(",
                              "XMLHttpRequest", "WebSocket", "{{WEFT_DATA}}"}) {
    EXPECT_THAT(html, Not(HasSubstr(way_out))) << way_out;
  }
  EXPECT_THAT(html, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Report, ShowsTheFiguresOfARun) {
  ReportWorld world;
  world.add_job("a", 0, 10);
  world.run.jct_s = {6213.998, 1.5, 2.5, 3.5, 4.5};
  world.run.utilization = 1.0 / 3;
  world.run.estimates = "noisy:0.5";
  world.run.seed = 42;
  world.run.deadline_misses = 7;
  world.run.cost = std::nan("");
  const Json run = data_of(world.input())["runs"][0];
  EXPECT_EQ(run["jct_s"]["mean"], 6213.998);
  EXPECT_EQ(run["jct_s"]["p99"], 3.5);
  EXPECT_EQ(run["utilization"], 0.333333333);
  EXPECT_EQ(run["estimates"], "noisy:0.5");
  EXPECT_EQ(run["seed"], 42);
  EXPECT_EQ(run["deadline_misses"], 7);
  EXPECT_TRUE(run["cost"].is_null()) << "JSON has no other word for what is not a number";
}

TEST(Report, NamesAreDataWhateverTheyHold) {
  const struct {
    const char* why;
    std::string name, want;
  } kCases[] = {
      {"the end of the script", "</script><script>alert(1)</script>",
       "</script><script>alert(1)</script>"},
      {"an HTML comment", "<!--<script>", "<!--<script>"},
      {"quotes and backslashes", R"("\'`${1})", R"("\'`${1})"},
      {"control characters", std::string("a\0b\n\r\t\x1f", 7), std::string("a\0b\n\r\t\x1f", 7)},
      {"line separators of JavaScript", "\xe2\x80\xa8\xe2\x80\xa9", "\xe2\x80\xa8\xe2\x80\xa9"},
      {"a byte that is not UTF-8", "caf\xe9!", "caf\xef\xbf\xbd!"},
      {"the mark of the template itself", "{{WEFT_DATA}}", "{{WEFT_DATA}}"},
      {"a name longer than is shown", std::string(100, 'x'), std::string(72, 'x') + "…"},
      {"a long name cut between letters, not inside one", std::string(71, 'x') + "éé",
       std::string(71, 'x') + "…"},
  };
  for (const auto& [why, name, want] : kCases) {
    SCOPED_TRACE(why);
    ReportWorld world;
    world.add_job(name, 0, 10);
    world.run.timeline.push_back({0, 0, 1, kWhole, 0, 10});
    world.run.policy = world.trace.tenants[0] = world.cluster.nodes[0].name = name;
    const std::string html = report_html(world.input());
    EXPECT_EQ(count_of(html, "</script"), count_of(report_page(), "</script"));
    const Json data = data_of(html);
    EXPECT_EQ(data["jobs"]["name"][0], want);
    EXPECT_EQ(data["runs"][0]["policy"], want);
    EXPECT_EQ(data["trace"]["tenants"][0], want);
    EXPECT_EQ(data["cluster"]["names"][0], want);
  }
}

TEST(Report, RandomBytesInEveryTextLeaveThePageWhole) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto noise = [&] {
      // Half from the letters that matter to HTML, half from all bytes.
      static constexpr std::string_view kSharp = "<>/!-\"'\\scriptSCRIPT&;{}\xe2\x80";
      std::string text(random.below(120), ' ');
      for (char& c : text) {
        c = random.chance(0.5) ? kSharp[random.below(kSharp.size())]
                               : static_cast<char>(random.below(256));
      }
      return text;
    };
    ReportWorld world;
    world.add_job(noise(), 0, 10);
    world.run.timeline.push_back({0, 0, 1, kWhole, 0, 10});
    world.run.policy = noise();
    world.run.estimates = noise();
    world.trace.path = noise();
    world.trace.tenants = {noise()};
    world.run.cluster = world.cluster.text = noise();
    ReportInput input = world.input();
    input.labels = {noise()};
    const std::string html = report_html(input);
    EXPECT_EQ(count_of(html, "</script"), count_of(report_page(), "</script"));
    EXPECT_EQ(count_of(html, "<!--"), count_of(report_page(), "<!--"));
    EXPECT_EQ(data_of(html)["jobs"]["name"].size(), 1u);
  }
}

TEST(Report, TimesCountFromTheFirstSubmissionInTicks) {
  ReportWorld world;
  world.add_job("a", 5000, 105'000);
  world.add_job("b", 5100.26, 105'000);
  world.run.timeline = {{0, 0, 1, kWhole, 5000, 105'000}, {1, 1, 2, kWhole, 6000.04, 105'000}};
  const Json data = data_of(world.input());
  EXPECT_EQ(data["time"], Json({{"origin", 5000}, {"tick", 0.1}, {"end", 1'000'000}}));
  EXPECT_THAT(data["jobs"]["submit"], ElementsAre(0, 1003));
  const Json& bars = data["runs"][0]["timeline"];
  EXPECT_THAT(bars["job"], ElementsAre(0, 1));
  EXPECT_THAT(bars["device"], ElementsAre(0, 1));
  EXPECT_THAT(bars["devices"], ElementsAre(1, 2));
  EXPECT_THAT(bars["step"], ElementsAre(0, 10'000));
  EXPECT_THAT(bars["length"], ElementsAre(1'000'000, 990'000));
  EXPECT_FALSE(bars.contains("milli")) << "all devices are whole";
  EXPECT_FALSE(bars.contains("cells"));
}

TEST(Report, TheCurveHoldsWhatEndedAndIsNoService) {
  ReportWorld world;
  world.add_job("slow", 0, 100);
  world.add_job("quick", 50, 60);
  world.add_job("service", 0, 1000, WorkloadKind::kService);
  world.add_job("refused", 0, 0);
  world.add_job("endless", 0, kNever);
  world.run.records[3].rejected = true;
  const Json curve = data_of(world.input())["runs"][0]["curve"];
  EXPECT_THAT(curve["s"], ElementsAre(10, 100));
  EXPECT_THAT(curve["part"], ElementsAre(0.5, 1));
}

TEST(Report, ALongCurveIsThinnedButKeepsItsEnds) {
  ReportWorld world;
  for (int i = 1; i <= 10'000; ++i) world.add_job(std::to_string(i), 0, i);
  const Json curve = data_of(world.input())["runs"][0]["curve"];
  EXPECT_EQ(curve["s"].size(), 400u);
  EXPECT_EQ(curve["s"].front(), 1);
  EXPECT_EQ(curve["s"].back(), 10'000);
  EXPECT_EQ(curve["part"].back(), 1);
  EXPECT_EQ(curve["jobs"], 10'000);
}

TEST(Report, SeriesAreMeansOverEqualBins) {
  ReportWorld world;  // 8 devices
  world.add_job("a", 0, 900);
  world.run.samples = {{0, 8, 3}, {449.5, 4, 0}, {900, 0, 0}};  // 900 bins of a second
  const Json series = data_of(world.input())["runs"][0]["series"];
  ASSERT_EQ(series["busy_permille"].size(), 900u);
  EXPECT_EQ(series["busy_permille"][0], 1000);
  EXPECT_EQ(series["busy_permille"][449], 750);
  EXPECT_EQ(series["busy_permille"][899], 500);
  EXPECT_EQ(series["waiting"][448], 3);
  EXPECT_EQ(series["waiting"][449], 1.5);
  EXPECT_EQ(series["waiting"][450], 0);
}

TEST(Report, CopiesAreNumberedAsInTheListOfJobs) {
  ReportWorld world;
  world.add_job("a", 0, 10);
  world.run.records.resize(3, world.run.records[0]);
  world.replicate = 3;
  world.run.timeline = {{0, 0, 1, kWhole, 0, 9}, {1, 1, 1, kWhole, 0, 9}, {2, 2, 1, kWhole, 0, 9}};
  const Json data = data_of(world.input());
  EXPECT_THAT(data["jobs"]["name"], ElementsAre("a", "a#1", "a#2"));
  EXPECT_EQ(data["trace"]["jobs"], 3);
}

TEST(Report, ARunOfAnotherClusterIsComparedButNotDrawn) {
  ReportWorld world, other;
  world.add_job("a", 0, 10);
  other.add_job("a", 0, 20);
  for (ReportWorld* w : {&world, &other}) {
    w->run.timeline = {{0, 0, 1, kWhole, 0, 10}};
    w->run.samples = {{0, 1, 1}, {10, 0, 0}};
  }
  other.run.cluster = "99x8";
  ReportInput input = world.input();
  input.runs.push_back(&other.run);
  input.labels = {"small", "large"};
  const Json runs = data_of(input)["runs"];
  EXPECT_EQ(runs[1]["label"], "large");
  EXPECT_THAT(runs[1]["curve"]["s"], ElementsAre(20));
  EXPECT_FALSE(runs[1]["series"]["waiting"].empty());
  EXPECT_TRUE(runs[1]["series"]["busy_permille"].empty());
  EXPECT_EQ(runs[1]["timeline"], Json({{"other_cluster", "99x8"}}));
  EXPECT_EQ(runs[0]["timeline"]["job"].size(), 1u);
}

TEST(Report, RescaledArrivalsGoWithTheirRun) {
  ReportWorld world, faster;
  world.add_job("a", 100, 200);
  faster.add_job("a", 50, 150);
  world.run.timeline = faster.run.timeline = {{0, 0, 1, kWhole, 100, 150}};
  ReportInput input = world.input();
  input.runs.push_back(&faster.run);
  const Json data = data_of(input);
  const double tick = data["time"]["tick"];
  EXPECT_EQ(data["jobs"]["submit"][0].get<double>() * tick, 50);
  EXPECT_FALSE(data["runs"][0]["timeline"].contains("submit"));
  EXPECT_THAT(data["runs"][1]["timeline"]["submit"], ElementsAre(0));
}

TEST(Report, ARunWithNothingInItIsAPageToo) {
  ReportWorld world;
  const Json data = data_of(world.input());
  EXPECT_EQ(data["runs"][0]["timeline"]["stays"], 0);
  EXPECT_TRUE(data["jobs"]["name"].empty());
}

// Every job has `stays` stays with gaps between, on devices of its own; later jobs are longer.
ReportWorld busy_world(int nodes, int jobs, int stays) {
  ReportWorld world;
  world.cluster = cluster_of(nodes, 8);
  world.run.cluster = world.cluster.text;
  for (int job = 0; job < jobs; ++job) {
    const Seconds length = 100 + job;
    world.add_job("application_1506000000000_" + std::to_string(job), 0, stays * (length + 5));
    for (int k = 0; k < stays; ++k) {
      const Seconds from = k * (length + 5);
      const auto device = static_cast<DeviceId>(job % (nodes * 8));
      world.run.timeline.push_back(
          {static_cast<JobId>(job), device, 1, kWhole, from, from + length});
    }
  }
  return world;
}

TEST(Report, MoreSpansThanAPageCanHoldBecomeCells) {
  const ReportWorld world = busy_world(1000, 8000, 8);
  const std::string html = report_html(world.input());
  EXPECT_THAT(html.size(), Lt(kPageBytes));
  const Json bars = data_of(html)["runs"][0]["timeline"];
  EXPECT_EQ(bars["stays"], 64'000);
  EXPECT_EQ(bars["job"].size(), kReportSpansPerRun);
  EXPECT_EQ(bars["cells"]["group"], 8) << "a row of cells is a node";
  EXPECT_EQ(bars["cells"]["rows"], 1000);
  EXPECT_EQ(bars["cells"]["occupancy"].get<std::string>().size(),
            bars["cells"]["rows"].get<size_t>() * bars["cells"]["bins"].get<size_t>());
  EXPECT_GT(bars["cells"]["drawn_part"], 0.9);
  EXPECT_LT(bars["cells"]["drawn_part"], 1.0);
}

TEST(Report, ManyLargeRunsShareTheLimitOfThePage) {
  const ReportWorld world = busy_world(500, 4000, 10);  // would fit if it were alone
  ReportInput input = world.input();
  EXPECT_EQ(count_of(report_html(input), "\"cells\""), 0u);
  input.runs.assign(8, &world.run);
  const std::string html = report_html(input);
  EXPECT_EQ(count_of(html, "\"cells\""), 8u);
  EXPECT_THAT(html.size(), AllOf(Lt(kPageBytes), Gt(kReportSpansInAll * 15)));
}

}  // namespace
}  // namespace weft

#include "model/readers/gavel_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

Result<Trace> read_small(const std::string& cluster) {
  return read_trace(fixture("traces/gavel/small.trace"), cluster_of(cluster), {});
}

TEST(Gavel, MakesAMenuOfTheClustersTypesInItsOrder) {
  const Result<Trace> trace = read_small("slow:1x4,FAST:2x4,other:1x1");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 3U);
  const Submission& alpha = *trace->jobs[0].submission;
  ASSERT_EQ(alpha.menu->configurations.size(), 2U);
  EXPECT_EQ(alpha.menu->configurations[0].type, 0);
  EXPECT_EQ(alpha.menu->configurations[0].rate, 2.0);
  EXPECT_EQ(alpha.menu->configurations[1].type, 1);
  EXPECT_EQ(alpha.menu->configurations[1].rate, 10.0);
  EXPECT_TRUE(alpha.elastic);
  EXPECT_EQ(alpha.declared_work, 1000);
  EXPECT_EQ(trace->jobs[0].truth.work, 1000);
  EXPECT_EQ(alpha.menu, trace->jobs[2].submission->menu) << "shared";
}

TEST(Gavel, ATypeOnWhichAJobDoesNotRunIsLeftOut) {
  const Result<Trace> trace = read_small("slow:1x4,fast:2x4");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const Submission& beta = *trace->jobs[1].submission;
  ASSERT_EQ(beta.menu->configurations.size(), 1U);
  EXPECT_EQ(beta.requested().type, 1);
  EXPECT_EQ(beta.requested().devices, 2U);
  EXPECT_EQ(beta.requested().rate, 8.0);
  EXPECT_EQ(beta.requested().scattered_rate, 5.0);
  EXPECT_FALSE(beta.elastic);
}

TEST(Gavel, RowsGiveNamesWeightsAndDeadlines) {
  const Result<Trace> trace = read_small("fast:2x4");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const Submission& beta = *trace->jobs[1].submission;
  EXPECT_EQ(beta.name, "1");
  EXPECT_EQ(beta.weight, 5);
  EXPECT_EQ(beta.submit, 30);
  EXPECT_EQ(beta.deadline, 30 + 2 * 600 / 8.0);
  EXPECT_EQ(trace->jobs[0].submission->deadline, kNever);
  EXPECT_EQ(trace->jobs[2].submission->submit, 30.5);
}

TEST(Gavel, PairsAreSpeedsRelativeToAlone) {
  const Result<Trace> trace = read_small("slow:1x4,fast:2x4,other:1x1");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const PairTable& pairs = *trace->pairs;
  ASSERT_EQ(pairs.models.size(), 3U);
  const ModelId alpha = trace->jobs[0].submission->model, gamma = 2;
  EXPECT_EQ(pairs.models[alpha].name, "('Alpha (batch size 8)', 1)");
  EXPECT_DOUBLE_EQ(pairs.at(0, alpha, alpha).first, 0.75);
  EXPECT_DOUBLE_EQ(pairs.at(1, alpha, alpha).second, 0.6);
  EXPECT_EQ(pairs.at(1, alpha, gamma).first, 0) << "measured as impossible";
  EXPECT_EQ(pairs.at(0, alpha, gamma).first, 0) << "not measured";
  EXPECT_EQ(pairs.at(2, alpha, alpha).first, 0) << "a type that is not in the table";
  EXPECT_EQ(pairs.at(kAnyType, alpha, alpha).first, 0);
}

TEST(Gavel, OlderTracesHaveNineColumns) {
  const Result<Trace> trace =
      read_trace(fixture("traces/gavel/nine_columns.trace"), cluster_of("fast:1x4"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs[0].truth.work, 600);
  EXPECT_EQ(trace->jobs[0].submission->weight, 5);
}

TEST(Gavel, ComplainsWithLineValueAndLimit) {
  GavelThroughputs table;
  table.types["fast"][{"A", 1}].alone = 1e-9;
  const auto row = [](const std::string& steps, const std::string& scale, const std::string& slo) {
    return "A\tc\tw\t-n\t1\t" + steps + "\t" + scale + "\t1\t" + slo + "\t0\n";
  };
  const BadText bads[] = {
      {"no steps", row("0", "1", "-1"), "g:1: total steps is '0'"},
      {"scale not measured", row("1", "2", "-1"),
       "g:1: '('A', 2)' runs on none of the cluster's device types (fast, idle)"},
      {"no devices", row("1", "0", "-1"), "g:1: scale factor is '0'"},
      {"SLO is no number", row("1", "1", "soon"), "g:1: SLO is 'soon'"},
      {"takes too long", row("1000", "1", "-1"), "g:1: the job takes 1e+12 s"},
      {"cut off", row("1", "1", "-1") + "A\tc\tw", "g:2: the row has 3 columns; 10 are needed"},
  };
  const Cluster cluster = cluster_of("fast:1x1,idle:1x1");
  for (const BadText& bad : bads)
    expect_complaint(bad, parse_gavel({"g", bad.text}, table, cluster));
}

TEST(Gavel, AClusterWithoutAMeasuredTypeIsRefusedOnce) {
  expect_complaint({"no common type", "", "has the device types fast, slow; the cluster has gpu"},
                   read_small("16x8"));
}

TEST(GavelThroughputs, ComplainsOfEveryWrongShape) {
  const std::string key = "\"('A', 1)\"";
  const BadText bads[] = {
      {"not JSON", "{", "t: parse error at line 1"},
      {"no object", "[]", "t: the file holds a list"},
      {"a number at the top", "3", "t: the file is a number in an unexpected place"},
      {"not a key", "{\"v\": {\"A\": {}}}", "t: v / A is not a key"},
      {"scale zero", "{\"v\": {\"('A', 0)\": {}}}", "is not a key"},
      {"negative speed", "{\"v\": {" + key + ": {\"null\": -1}}}",
       "t: v / ('A', 1) / null is -1; it must be a number from 0 to 1e+09"},
      {"overflow", "{\"v\": {" + key + ": {\"null\": 1e999}}}", "t: "},
      {"text", "{\"v\": {" + key + ": {\"null\": \"x\"}}}", "null is text"},
      {"one speed of a pair", "{\"v\": {" + key + ": {" + key + ": [1]}}}", "has 1 speeds; 2"},
      {"three speeds", "{\"v\": {" + key + ": {" + key + ": [1,2,3]}}}", "has 3 speeds; 2"},
      {"a list in a list", "{\"v\": {" + key + ": {" + key + ": [[1]]}}}", "holds a list"},
      {"an object in a list", "{\"v\": {" + key + ": {" + key + ": [{}]}}}", "holds an object"},
      {"an object too deep", "{\"v\": {" + key + ": {" + key + ": {}}}}", "holds an object"},
      {"a number as a table", "{\"v\": 3}", "t: v is a number in an unexpected place"},
      {"nothing", "{}", "t: holds 0 job types"},
      {"deep", std::string(1'000'000, '['), "t: the file holds a list"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse_gavel_throughputs({"t", bad.text}));
}

TEST(GavelThroughputs, SaysWhereItLooked) {
  TraceOptions options;
  options.profiles = fixture("traces");
  expect_complaint(
      {"no table in the folder", "", "no simulation_throughputs.json in"},
      read_trace(fixture("traces/gavel/small.trace"), cluster_of("fast:1x1"), options));
}

TEST(Gavel, ReadsThePublishedTraces) {
  const std::string path = shared_data("gavel/max_min_fairness.trace");
  SKIP_WITHOUT(path);
  const Result<Trace> trace = read_trace(path, cluster_of("v100:2x4,p100:4x4,k80:6x4"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 96U);
  EXPECT_EQ(trace->pairs->models.size(), 83U);
  const Submission& first = *trace->jobs[0].submission;
  EXPECT_EQ(first.requested().devices, 4U);
  ASSERT_EQ(first.menu->configurations.size(), 3U);
  EXPECT_GT(first.menu->configurations[0].rate, first.menu->configurations[1].rate);
  EXPECT_GT(first.menu->configurations[1].rate, first.menu->configurations[2].rate);
  long measured = 0;
  for (TypeId type = 0; type < 3; ++type) {
    for (ModelId a = 0; a < 83; ++a) {
      for (ModelId b = 0; b < 83; ++b) {
        const PairSpeed& pair = trace->pairs->at(type, a, b);
        EXPECT_EQ(pair.first, trace->pairs->at(type, b, a).second);
        EXPECT_LE(pair.first, 1.0001);
        measured += pair.first > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(measured, 1881) << "of 5277 pairs; the others ran out of device memory";
}

}  // namespace
}  // namespace weft

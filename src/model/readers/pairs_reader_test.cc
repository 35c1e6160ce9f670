#include "model/readers/pairs_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(LucidPairs, ReadsModelsAndPairsBothWays) {
  const Result<PairTable> table = read_lucid_pairs(fixture("pairs"));
  ASSERT_TRUE(table.ok()) << table.error().text();
  ASSERT_EQ(table->models.size(), 3U);
  EXPECT_EQ(table->models[0].name, "Big-Set-32");
  EXPECT_EQ(table->models[1].name, "Small-Set-64-amp");
  EXPECT_DOUBLE_EQ(table->models[1].device_util, 0.25);
  EXPECT_DOUBLE_EQ(table->models[0].memory_util, 0.6);
  EXPECT_EQ(table->models[1].memory, Bytes{2000} << 20);
  EXPECT_EQ(table->at(0, 0, 1).first, 0.75);
  EXPECT_EQ(table->at(0, 0, 1).second, 0.9);
  EXPECT_EQ(table->at(3, 1, 0).first, 0.9) << "the table holds for every type";
  EXPECT_EQ(table->at(0, 1, 0).memory, Bytes{22000} << 20);
  EXPECT_EQ(table->at(0, 0, 2).first, 0) << "not measured: may not share";
}

TEST(LucidPairs, ComplainsWithLineValueAndLimit) {
  const std::string alone = fixture_text("pairs/single_data.csv");
  const std::string together = fixture_text("pairs/colocate_info.csv");
  const std::string row = "9,Big,Set,1,32,0,0.7,Huge,Set,1,1,0,1,1,1,1\n";
  expect_complaint({"unknown model", "", "c:4: model 'Huge-Set-1' is not in single_data.csv"},
                   parse_lucid_pairs({"s", alone}, {"c", together + row}));
  expect_complaint({"measured twice", "", "s:5: model 'Big-Set-32' is measured twice"},
                   parse_lucid_pairs({"s", alone + "Big,Set,32,0,1,1,1,1,1\n"}, {"c", together}));
  expect_complaint(
      {"more than all", "", "s:5: gpu_util is '101'; it must be a number from 0 to 100"},
      parse_lucid_pairs({"s", alone + "New,Set,32,0,1,101,1,1,1\n"}, {"c", together}));
  expect_complaint({"no rows", "", "s:1: holds no models"},
                   parse_lucid_pairs({"s", "model,dataset,batchsize,amp,gpu_util,gmem_util,gmem\n"},
                                     {"c", together.substr(0, together.find('\n') + 1)}));
  expect_complaint({"not a folder", "", "is not a folder"}, read_lucid_pairs("/none"));
}

TEST(LucidPairs, ATraceWithoutModelsDrawsThem) {
  TraceOptions options;
  options.profiles = fixture("pairs");
  const Result<Trace> trace =
      read_trace(fixture("traces/philly_numbered.csv"), cluster_of("2x8"), options);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_NE(trace->pairs, nullptr);
  for (const TraceJob& job : trace->jobs) EXPECT_LT(job.submission->model, 3);
}

TEST(LucidPairs, ReadsThePublishedTables) {
  const std::string folder = shared_data("lucid");
  SKIP_WITHOUT(folder);
  const Result<PairTable> table = read_lucid_pairs(folder);
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(table->models.size(), 66U);
  long measured = 0;
  for (ModelId a = 0; a < 66; ++a) {
    for (ModelId b = 0; b <= a; ++b) measured += table->at(0, a, b).first > 0 ? 1 : 0;
  }
  EXPECT_EQ(measured, 1388);
}

}  // namespace
}  // namespace weft

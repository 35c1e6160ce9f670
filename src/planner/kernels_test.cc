#include "planner/kernels.h"

#include <cmath>
#include <map>

#include "model/readers/table_reader.h"
#include "planner/exchange.h"
#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

// Two processors, no time to launch: waves can be counted by hand.
Device plain() {
  Device d;
  d.peak_flops = 2e12;
  d.processors = 2;
  d.memory_bytes_per_s = 1e15;
  d.memory_efficiency = 1;
  d.tile_efficiency = {1, 0.5, 0.25};
  d.kernel_s = 0;
  return d;
}

TEST(Product, TilesAreDealtInWaves) {
  // A 256x128 tile with depth 920 (80 are filling) takes 2 * 256 * 128 * 1000 / 1e12 s.
  const double tile = 2.0 * 256 * 128 * 1000 / 1e12;
  EXPECT_NEAR(product_seconds(plain(), {512, 128, 920, 1}), tile, 1e-12);
  EXPECT_NEAR(product_seconds(plain(), {513, 128, 920, 1}), 2 * tile, 1e-12)
      << "one row more needs a second wave";
  EXPECT_NEAR(product_seconds(plain(), {256, 128, 920, 4}), 2 * tile, 1e-12)
      << "batches share waves";
}

TEST(Product, MemoryBoundsThinOnes) {
  Device d = plain();
  d.memory_bytes_per_s = 1e9;
  EXPECT_NEAR(product_seconds(d, {1, 1000, 1000, 1}), 2 * (1000 + 1e6 + 1000) / 1e9, 1e-9);
  EXPECT_NEAR(traffic_seconds(d, 5e8), 0.5, 1e-12);
}

// The constants of A100 come from these measurements; they must still describe them.
TEST(Product, AgreesWithMeasuredProducts) {
  const std::string path = planner_data("gemm_efficiency_from_vidur.csv");
  SKIP_WITHOUT_DATA(path);
  const auto text = read_file(path, 1 << 24);
  ASSERT_TRUE(text.ok());
  Complaints complaints;
  TableReader table({path, *text}, {}, complaints);
  std::map<std::string, std::pair<double, int>> errors;
  while (table.next()) {
    const double rows = table.number(table.column("M_tokens"), {1, 1e6});
    if (rows < 1024) continue;
    const std::string gpu(table.text(table.column("gpu")));
    const auto device = find_device(gpu);
    ASSERT_TRUE(device.ok());
    const double seconds =
        product_seconds(*device, {rows, table.number(table.column("N"), {1, 1e6}),
                                  table.number(table.column("K"), {1, 1e6}), 1});
    const double measured = 1e-3 * table.number(table.column("median_ms"), {0, 1e6});
    auto& [sum, count] = errors[gpu];
    sum += std::abs(seconds / measured - 1);
    ++count;
  }
  ASSERT_TRUE(complaints.empty());
  EXPECT_LT(errors["a100"].first / errors["a100"].second, 0.05);
  EXPECT_LT(errors["h100"].first / errors["h100"].second, 0.09);
}

TEST(Exchange, RingsInsideAndBetweenNodes) {
  const Machines m = a100();
  const Device& d = m.device;
  EXPECT_EQ(all_reduce_seconds(m, {1, 1}, 1e9), 0);
  EXPECT_NEAR(
      all_reduce_seconds(m, {8, 8}, 1e9),
      d.link_base_s + 8 * d.link_rank_s + 2 * 7.0 / 8 * 1e9 / (d.link_bytes_per_s * (1 - 0.3 / 8)),
      1e-9);
  EXPECT_NEAR(all_reduce_seconds(m, {8, 8}, 8), 8 * d.link_floor_s, 1e-12);
  // One member in each of four nodes has one device's share of the cards.
  EXPECT_NEAR(all_reduce_seconds(m, {4, 1}, 1e9),
              6 * m.network.latency_s + 1.5e9 / m.device_network_bytes_per_s(), 1e-9);
  EXPECT_NEAR(2 * gather_seconds(m, {4, 1}, 1e9), all_reduce_seconds(m, {4, 1}, 1e9), 1e-12);
  EXPECT_LT(all_reduce_seconds(m, {32, 8}, 1e9), all_reduce_seconds(m, {32, 1}, 1e9))
      << "more members in a node have more cards";
  EXPECT_LT(all_reduce_seconds(m, {4096, 1}, 1e6), 8190 * m.network.latency_s)
      << "large groups with little data go by tree";
}

TEST(Exchange, AgreesWithMeasuredAllReduces) {
  for (const int members : {2, 4, 8}) {
    const std::string path =
        planner_data("links/vtrain_a100_allreduce_gpu" + std::to_string(members) + ".txt");
    SKIP_WITHOUT_DATA(path);
    const auto text = read_file(path, 1 << 24);
    ASSERT_TRUE(text.ok());
    DelimitedScanner scanner(*text);
    scanner.next();
    double error = 0;
    int count = 0;
    while (scanner.next()) {
      const double bytes = parse_number(scanner.fields()[0]).value();
      const double measured = 1e-9 * parse_number(scanner.fields()[3]).value();
      error += std::abs(all_reduce_seconds(a100(), {members, members}, bytes) / measured - 1);
      ++count;
    }
    ASSERT_GT(count, 1000);
    EXPECT_LT(error / count, 0.06) << members;
  }
}

}  // namespace
}  // namespace weft::planner

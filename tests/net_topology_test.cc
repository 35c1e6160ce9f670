// `weft net topology` as its users meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/cross_testing.h"

namespace weft {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(NetTopology, PrintsFiguresWordsAndModel) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "net topology clos:hosts=16,radix=8,bandwidth=100Gb/s,latency=1us");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(
      result.out,
      "clos:hosts=16,radix=8,bandwidth=100Gb/s,latency=1us: 2-level Clos: 4 leaves of 4 hosts, "
      "4 spines\n\n"
      "figure                 value\n"
      "endpoints              16\n"
      "switches               8\n"
      "links, each direction  64 of 12.5 GB/s\n"
      "diameter               4 links (all pairs)\n"
      "mean path              3.60 links, 3.40 alternatives\n"
      "latency                mean 3.60 us, longest 4.00 us\n"
      "bisection              100 GB/s a direction\n"
      "                       by formula: the narrowest tier between two halves of whole pods "
      "or leaves\n"
      "oversubscription       leaf 1.00:1\n\n"
      "model: a message pays 0 s once, then the latency of every link on its path, then its "
      "bytes at the rate it is given; flows share each direction of a cable max-min fairly; "
      "switches have no limit of their own and links lose nothing\n");
}

TEST(NetTopology, JsonHasThePromisedKeys) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "net topology wan:sites=2,hosts=2,price_per_gb=0.03,delay=20ms --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("endpoints"), 4);
  EXPECT_EQ(json.at("switches"), 2);
  EXPECT_EQ(json.at("links"), 10);
  EXPECT_EQ(json.at("link_speeds").size(), 2u);
  EXPECT_DOUBLE_EQ(json.at("bisection").at("bytes_per_s").get<double>(), 1.25e9);
  EXPECT_TRUE(json.at("bisection").at("exact").get<bool>());
  EXPECT_NEAR(json.at("price_per_gb").at("highest").get<double>(), 0.03, 1e-12);
  EXPECT_EQ(json.at("paths").at("longest_links"), 3);
  EXPECT_FALSE(json.at("model").get<std::string>().empty());
}

TEST(NetTopology, PicturesHoldEveryVertexAndCable) {
  const Scratch scratch;
  struct Row {
    const char* spec;
    std::size_t endpoints, others, cables;
  };
  for (const Row& row : std::vector<Row>{{"clos:hosts=16,radix=8", 16, 8, 32},
                                         {"torus:4x4x2", 32, 0, 32 + 32 + 16},
                                         {"torus:9", 9, 0, 9},
                                         {"hammingmesh:2x2,board=2x2", 16, 8, 16 + 32},
                                         {"dragonfly:hosts=1", 6, 6, 12},
                                         {"rail:nodes=2", 16, 2 + 16 + 4 + 16 + 8 + 2, 98},
                                         {"bcube:ports=2,levels=1", 4, 4, 8}}) {
    SCOPED_TRACE(row.spec);
    const std::string svg = scratch.path("net.svg");
    const CommandResult result =
        run_weft(scratch, std::string("net topology ") + row.spec + " --svg " + svg);
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string text = slurp(svg);
    EXPECT_TRUE(text.starts_with("<svg ")) << text.substr(0, 80);
    EXPECT_TRUE(text.ends_with("</svg>\n"));
    EXPECT_EQ(occurrences(text, "<title>"), row.endpoints + row.others);
    EXPECT_EQ(occurrences(text, "<circle"), row.endpoints + 1);  // one more in the legend
    const std::string lines = text.substr(0, text.find("<title>"));
    EXPECT_EQ(occurrences(lines, "<path "), row.cables);
    EXPECT_EQ(occurrences(text, "nan"), 0u);
  }
}

TEST(NetTopology, LargeNetworksAreDrawnInPart) {
  const Scratch scratch;
  const std::string svg = scratch.path("net.svg");
  const CommandResult result =
      run_weft(scratch, "net topology clos:hosts=20000,radix=64 --svg " + svg);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_LT(slurp(svg).size(), 200000u);
  EXPECT_NE(slurp(svg).find("vertices are drawn"), std::string::npos);
  EXPECT_NE(result.out.find("a sample of"), std::string::npos);
}

TEST(NetTopology, BadInputIsNamedAndNothingIsWritten) {
  const Scratch scratch;
  const std::string list = scratch.write(
      "net.yaml",
      "vertices: [{name: a}, {name: b}]\nlinks: [{from: a, to: x, bandwidth: 0GB/s}]\n");
  const std::string apart =
      scratch.write("apart.csv",
                    "from,to,bandwidth,kind\na,,,endpoint\nb,,,endpoint\nc,,,endpoint\n"
                    "a,b,1GB/s,\n");
  struct Row {
    const char* why;
    std::string spec;
    std::vector<std::string> says;
  };
  for (const Row& row :
       std::vector<Row>{{"unknown builder", "toros:4x4", {"'toros'", "'torus'", "builders are"}},
                        {"unknown parameter", "clos:hots=4", {"'hots'", "'hosts'"}},
                        {"unknown vertex and bandwidth 0", list, {list + ":2", "'x'", "'0GB/s'"}},
                        {"disconnected", apart, {apart, "no path leads from a to c"}},
                        {"too many", "switch:hosts=2000000", {"'2000000'", "1000000"}},
                        {"a folder", scratch.path(""), {"neither a builder nor a file"}},
                        {"no spec", "", {"spec"}}}) {
    SCOPED_TRACE(row.why);
    const std::string svg = scratch.path("out.svg");
    const CommandResult result = run_weft(scratch, "net topology " + row.spec + " --svg " + svg);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : row.says) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in\n" << result.err;
    }
    EXPECT_FALSE(std::filesystem::exists(svg));
  }
  EXPECT_EQ(run_weft(scratch, "net").code, 2);
  EXPECT_EQ(run_weft(scratch, "net topology switch --svg /none/such/place.svg").code, 2);
}

TEST(NetTopology, ExamplesAreSound) {
  const Scratch scratch;
  const std::string root = std::string(WEFT_FIXTURES) + "/../../examples/topologies";
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const CommandResult result = run_weft(scratch, "net topology " + entry.path().string());
    EXPECT_EQ(result.code, 0) << result.err;
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

}  // namespace
}  // namespace weft

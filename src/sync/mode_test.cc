#include "sync/mode.h"

#include <gmock/gmock.h>

#include "base/files.h"

namespace weft::sync {
namespace {

using testing::HasSubstr;

Mode must(const std::string& text) {
  const auto mode = parse_mode(text);
  EXPECT_TRUE(mode.ok()) << text << ": " << (mode.ok() ? "" : mode.error().text());
  return mode.ok() ? *mode : Mode{};
}

TEST(Mode, WhatUsersWriteIsRead) {
  EXPECT_EQ(must("bsp").exchange, Exchange::kGradients);
  EXPECT_EQ(must("bsp:backup=2").backup, 2U);
  EXPECT_EQ(must("ssp:bound=5").bound, 5U);
  EXPECT_EQ(must("asp").bound, kUnbounded);
  EXPECT_EQ(must("local:period=16").period, 16U);
  EXPECT_TRUE(must("local:adaptive").adaptive);
  EXPECT_FALSE(must("local:adaptive=false").adaptive);
  EXPECT_EQ(must("post-local:warmup=7,period=3").warmup, 7U);
  const Mode tree = must("hierarchical:inner=2,outer=8,group=4");
  EXPECT_EQ(tree.inner, 2U);
  EXPECT_EQ(tree.period, 8U);
  EXPECT_EQ(tree.group, 4U);
  const Mode diloco = must(
      "diloco: period=50, outer_lr=0.6, outer_momentum=0.8, fragments=4, overlap=5, mixing=0.5, "
      "codec=int4");
  EXPECT_EQ(diloco.outer.kind, OuterRule::Kind::kNesterov);
  EXPECT_DOUBLE_EQ(diloco.outer.lr, 0.6);
  EXPECT_EQ(diloco.fragments, 4U);
  EXPECT_EQ(diloco.overlap, 5U);
  EXPECT_EQ(diloco.codec, "int4");
  EXPECT_EQ(must("gossip:graph=one-peer").graph, Graph::kOnePeer);
  EXPECT_DOUBLE_EQ(must("lazy:threshold=0.1,check=2").threshold, 0.1);
  EXPECT_TRUE(must("scaffold").control);
  EXPECT_EQ(must("fedbuff:buffer=3").buffer, 3U);
}

TEST(Mode, MistakesAreNamed) {
  const struct {
    const char *text, *says;
  } rows[] = {
      {"dilco", "did you mean 'diloco'"},
      {"", "is not known"},
      {"ssp:bund=3", "did you mean 'bound'"},
      {"bsp:period=3", "there is no parameter"},
      {"ssp:bound=-1", "a whole number from 0"},
      {"ssp:bound=2.5", "a whole number from 0"},
      {"ssp:bound=nan", "a whole number from 0"},
      {"ssp:bound=", "a whole number from 0"},
      {"ssp:bound", "a whole number from 0"},
      {"local:period=8,period=9", "is given twice"},
      {"local:", "there is no parameter"},
      {"local:period=8,", "there is no parameter"},
      {"gossip:graph=star", "one of ring, exponential, one-peer"},
      {"diloco:codec=Int4!", "of a-z"},
      {"diloco:period=4,overlap=4", "must be below the period"},
      {"diloco:period=4,fragments=5", "at most one for each step"},
      {"diloco:eager,overlap=2", "without overlap and mixing"},
      {"hierarchical:inner=3,outer=8", "must be a multiple"},
      {"local:adaptive,overlap=2", "cannot overlap"},
      {"local:adaptive=maybe", "one of false, true"},
      {"fedavg:participation=0", "a number from"},
  };
  for (const auto& row : rows) {
    const auto mode = parse_mode(row.text);
    ASSERT_FALSE(mode.ok()) << row.text;
    EXPECT_THAT(mode.error().text(), HasSubstr(row.says)) << row.text;
  }
  EXPECT_THAT(parse_mode("local:period=0,codec=").error().what, HasSubstr("\n"))
      << "both mistakes are told";
  EXPECT_FALSE(parse_mode(std::string(5000, 'a')).ok());
}

TEST(Mode, HelpListsWhatParses) {
  for (const ModeHelp& help : list_modes()) {
    EXPECT_EQ(must(help.name),
              must(help.name + (help.parameters.empty() ? "" : ":") + help.parameters))
        << help.name;
    EXPECT_FALSE(help.summary.empty() || help.source.empty());
  }
}

TEST(Mode, DocumentationListsEveryModeWithItsDefaults) {
  const auto page = read_file(std::string(WEFT_FIXTURES) + "/../../docs/sync.md", 1 << 20);
  ASSERT_TRUE(page.ok());
  for (const ModeHelp& help : list_modes()) {
    const std::string row =
        "| `" + help.name + (help.parameters.empty() ? "" : ":") + help.parameters + "` |";
    EXPECT_THAT(*page, HasSubstr(row));
    EXPECT_THAT(*page, HasSubstr(help.source)) << help.name;
  }
}

TEST(Mode, TextOfAModeReadsBack) {
  for (const char* text :
       {"bsp", "ssp:bound=7", "local:adaptive=true", "local:period=3,overlap=1,mixing=0.25",
        "diloco:period=50,outer_lr=0.3,fragments=4,codec=int4", "gossip:graph=exponential",
        "lazy:threshold=1e-07", "fedadam:outer_lr=0.1,epsilon=1e-08,seed=4294967295"}) {
    const Mode mode = must(text);
    EXPECT_EQ(must(mode_text(mode)), mode) << mode_text(mode);
  }
  EXPECT_EQ(mode_text(must("diloco:period=50")), "diloco") << "defaults are left out";
  EXPECT_EQ(mode_text(must("ssp:bound=7")), "ssp:bound=7");
}

}  // namespace
}  // namespace weft::sync

#include "policy/composition.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

TEST(Composition, EveryKnownPolicyIsWholeAndAssembles) {
  std::set<std::string> names;
  for (const Composition& composition : known_policies()) {
    SCOPED_TRACE(composition.name);
    EXPECT_TRUE(names.insert(composition.name).second) << "two policies of one name";
    EXPECT_FALSE(composition.summary.empty());
    EXPECT_FALSE(composition.source.empty()) << "a policy cites where its rule is from";
    auto policy = assemble(composition);
    ASSERT_TRUE(policy.ok()) << policy.error().text();
    EXPECT_EQ((*policy)->name(), composition.name);
    auto found = find_policy(composition.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->summary, composition.summary);
  }
}

TEST(Composition, YamlStartsFromABaseAndReplacesParts) {
  auto composed = parse_composition(
      "base: 2d-las\n"
      "name: my-las\n"
      "key: {part: attained, thresholds: [60, 600], devices: no}\n"
      "place: worst-fit\n"
      "guards: [{part: minimum-lease, seconds: 30}]\n",
      "my.yaml");
  ASSERT_TRUE(composed.ok()) << composed.error().text();
  EXPECT_EQ(composed->name, "my-las");
  EXPECT_EQ(composed->key.settings.at("thresholds"), "60,600");
  EXPECT_EQ(composed->place.name, "worst-fit");
  EXPECT_EQ(composed->allocate.settings.at("preempt"), "true") << "kept from the base";
  ASSERT_EQ(composed->guards.size(), 1u);
  EXPECT_EQ(composed->guards[0].settings.at("seconds"), "30");
}

TEST(Composition, YamlWithoutABaseIsFifoWithOtherParts) {
  auto composed = parse_composition("key: priority\n", "p.yaml");
  ASSERT_TRUE(composed.ok()) << composed.error().text();
  EXPECT_EQ(composed->name, "p.yaml");
  EXPECT_EQ(composed->key.name, "priority");
  EXPECT_EQ(composed->allocate.name, "list");
}

TEST(Composition, PartsSayWhetherEstimatesAreUsed) {
  struct UseRow {
    const char* why;
    const char* yaml;
    bool want;
  };
  const std::vector<UseRow> table = {
      {"the order of arrival is no guess", "base: fifo\n", false},
      {"service so far is no guess", "base: 2d-las\n", false},
      {"the least remaining time is one", "base: srtf\n", true},
      {"a key alone makes the difference", "base: 2d-las\nkey: remaining\n", true},
      {"and takes it away", "base: srtf\nkey: attained\n", false},
      {"a reservation needs an end to wait for", "allocate: {part: list, backfill: easy}\n", true},
      {"passing a blocked job needs none", "allocate: {part: list, backfill: any}\n", false},
      {"work left over time left", "base: min-cost\nallocate: {part: share, deadlines: yes}\n",
       true},
      {"cost alone", "base: min-cost\n", false},
  };
  for (const UseRow& row : table) {
    const auto composed = parse_composition(row.yaml, "p.yaml");
    ASSERT_TRUE(composed.ok()) << row.why << ": " << composed.error().text();
    EXPECT_EQ(uses_estimates(*composed), row.want) << row.why;
  }
}

struct BadYaml {
  const char* why;
  const char* text;
  std::vector<std::string> says;
};

TEST(Composition, BadYamlIsNamed) {
  const std::vector<BadYaml> table = {
      {"not a map", "[1, 2]", {"p.yaml", "map"}},
      {"not YAML", "key: [", {"p.yaml:"}},
      {"a part nobody knows", "kee: priority\n", {"p.yaml:1", "'kee'"}},
      {"a key nobody knows", "key: atained\n", {"p.yaml", "unknown key 'atained'", "attained"}},
      {"a place nobody knows", "place: tetris\n", {"unknown place 'tetris'", "best-fit"}},
      {"an allocator nobody knows", "allocate: lisst\n", {"unknown allocate 'lisst'", "'list'?"}},
      {"a guard nobody knows", "guards: [bouncer]\n", {"unknown guard 'bouncer'"}},
      {"a base nobody knows", "base: fifu\n", {"unknown policy 'fifu'", "'fifo'?"}},
      {"a base that is a file", "base: other.yaml\n", {"p.yaml:1", "'other.yaml'"}},
      {"a setting nobody knows",
       "key: {part: attained, treshold: 4}\n",
       {"no setting 'treshold'", "'thresholds'?"}},
      {"a number that is none", "key: {part: attained, thresholds: [a, 3]}\n", {"'a,3'"}},
      {"a negative number",
       "guards: [{part: minimum-lease, seconds: -3}]\n",
       {"'-3'", "at least 0"}},
      {"a flag that is none",
       "allocate: {part: list, preempt: maybe}\n",
       {"'maybe'", "true or false"}},
      {"a word out of range",
       "allocate: {part: list, backfill: some}\n",
       {"'some'", "none, easy, any"}},
      {"a limit where no power is saved",
       "allocate: {part: reserve, limit-kw: 3}\n",
       {"no setting 'limit-kw'"}},
      {"more weight than all",
       "base: min-energy\nallocate: {part: reserve, power: saving, energy-weight: 2}\n",
       {"'energy-weight' is 2", "at most 1"}},
      {"leases of no time", "allocate: {part: min-share, lease: 0}\n", {"'lease' is 0"}},
      {"a part without a name", "key: {thresholds: 3}\n", {"p.yaml:1", "part"}},
      {"a setting that is a map",
       "key: {part: attained, thresholds: {a: 1}}\n",
       {"p.yaml:1", "'thresholds'"}},
      {"a name that is a list", "name: [a]\n", {"p.yaml:1", "'name' must be text"}},
  };
  for (const BadYaml& row : table) {
    SCOPED_TRACE(row.why);
    auto composed = parse_composition(row.text, "p.yaml");
    ASSERT_FALSE(composed.ok());
    for (const std::string& part : row.says) {
      EXPECT_NE(composed.error().text().find(part), std::string::npos) << part << " is not in\n"
                                                                       << composed.error().text();
    }
  }
}

TEST(Composition, PartsThatDoNotGoTogetherAreRefused) {
  const BadYaml table[] = {
      {"a list's share with time shares", "base: max-min\nshare: pack\n", {"'pack'", "pairs"}},
      {"pairs of an objective without levels", "base: min-cost\nshare: pairs\n", {"max-min"}},
      {"pairs for who cannot tell types", "base: max-min-agnostic\nshare: pairs\n", {"aware"}},
      {"trials of solved shares", "base: max-min\nshare: trial\n", {"isolated"}},
      {"profiles for nobody", "allocate: {part: list, profile: 200}\n", {"'profile'"}},
      {"tuned sharing", "base: lucid\nallocate: {part: list, tune: true}\n", {"tune"}},
  };
  for (const BadYaml& row : table) {
    SCOPED_TRACE(row.why);
    auto composed = parse_composition(row.text, "p.yaml");
    ASSERT_FALSE(composed.ok());
    for (const std::string& part : row.says) {
      EXPECT_NE(composed.error().text().find(part), std::string::npos) << composed.error().text();
    }
  }
}

TEST(Composition, SeveralMistakesAreToldTogether) {
  auto composed = parse_composition("kee: a\nplaze: b\n", "p.yaml");
  ASSERT_FALSE(composed.ok());
  EXPECT_NE(composed.error().what.find("'kee'"), std::string::npos);
  EXPECT_NE(composed.error().what.find("'plaze'"), std::string::npos);
}

TEST(Settings, ReadsAndReportsWhatNobodyAskedFor) {
  const Part part{"thing", {{"number", "2.5"}, {"list", "1,2,3"}, {"flag", "yes"}, {"word", "b"}}};
  Settings good(part);
  EXPECT_EQ(good.number("number", 1), 2.5);
  EXPECT_EQ(good.number("absent", 7), 7);
  EXPECT_EQ(good.numbers("list", {}), (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(good.flag("flag", false));
  EXPECT_EQ(good.word("word", "a", {"a", "b"}), "b");
  EXPECT_TRUE(good.done().ok());
  Settings forgot(part);
  forgot.number("number", 1);
  const Status status = forgot.done();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("no setting 'flag'"), std::string::npos);
}

}  // namespace
}  // namespace weft

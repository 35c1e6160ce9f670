#include "help_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/wrap.h"
#include "command_line.h"

namespace weft {
namespace {

// Every verb below `app`, hidden ones too, with the words that lead to it.
void each_verb(const CLI::App& app, const std::string& path,
               const std::function<void(const CLI::App&, const std::string&)>& look) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string words = path.empty() ? verb->get_name() : path + " " + verb->get_name();
    look(*verb, words);
    each_verb(*verb, words, look);
  }
}

void expect_plain(const std::string& text, const std::string& whose) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte == '\n' || byte >= 0x20) << whose << " has byte " << int{byte};
    ASSERT_NE(byte, 0x7f) << whose;
  }
  EXPECT_LE(widest_line(text), kPageColumns) << whose << "\n" << text;
}

TEST(HelpText, EveryVerbHasOnePlaceOrIsHidden) {
  const auto line = make_command_line();
  std::multiset<std::string> placed;
  for (const VerbPlace& place : kVerbPlaces) placed.insert(place.verb);
  std::set<std::string> verbs;
  for (const CLI::App* verb : shown_verbs(line->app)) {
    verbs.insert(verb->get_name());
    EXPECT_EQ(placed.count(verb->get_name()), 1u)
        << verb->get_name() << " needs a row in kVerbPlaces, or the group kHidden";
  }
  for (const std::string& name : placed) EXPECT_TRUE(verbs.contains(name)) << name << " is no verb";
}

TEST(HelpText, TheOverviewFitsOnOneScreen) {
  const auto line = make_command_line();
  const std::string text = line->app.help();
  expect_plain(text, "weft");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 46) << text;
  for (const char* group : {kTryIt, kRunJobs, kOperate, kStudy}) {
    EXPECT_NE(text.find("\n\n" + std::string(group) + "\n"), std::string::npos) << group;
  }
  for (const VerbPlace& place : kVerbPlaces) {
    const std::size_t at = text.find("\n  " + std::string(place.verb) + " ");
    ASSERT_NE(at, std::string::npos) << place.verb;
    const std::size_t end = text.find('\n', at + 1);
    EXPECT_TRUE(text[end + 1] == '\n' || (text[end + 3] != ' '))
        << place.verb << " takes two lines";
  }
}

TEST(HelpText, OfEveryVerbIsPrintableAndNarrow) {
  const auto line = make_command_line();
  int seen = 0;
  each_verb(line->app, "", [&](const CLI::App& verb, const std::string& words) {
    ++seen;
    const std::string text = verb.help();
    expect_plain(text, words);
    EXPECT_FALSE(verb.get_description().empty()) << words;
    EXPECT_EQ(text.rfind("weft " + words + ": ", 0), 0u) << text;
    EXPECT_NE(text.find("usage: weft " + words), std::string::npos) << text;
    EXPECT_NE(text.find("--help"), std::string::npos) << text;
  });
  EXPECT_GT(seen, 50);
}

TEST(HelpText, OptionsAreToldWithWhatTheyTake) {
  CLI::App root("a program"), *verb = root.add_subcommand("make", "make something");
  int count = 0;
  double part = 0;
  std::string color, old, word;
  std::vector<std::string> files;
  bool quick = false;
  verb->add_option("-n,--count", count, "how many")->required();
  verb->add_option("--part", part, "of the whole")->check(CLI::Range(0.0, 1.0));
  verb->add_option("--color", color, "red or blue")->check(CLI::IsMember({"red", "blue"}));
  verb->add_option("--word", word, "one of two")->check(CLI::IsMember({"yes", "no"}));
  add_old_option(*verb, "--colour", color);
  verb->add_flag("--quick", quick,
                 "a very quick way that leaves out most of what would be done "
                 "otherwise, for those who cannot wait any longer");
  verb->add_option("file", files, "what to make it of")->required();
  const std::string text = help_text(*verb);
  struct HelpRow {
    const char *why, *says;
    bool want;
  };
  const std::vector<HelpRow> table = {
      {"what is needed stands in the usage", "usage: weft make -n N [options] FILE...\n", true},
      {"both spellings", "  -n, --count N           how many\n", true},
      {"choices that are told are not repeated", "  --color TEXT            red or blue\n", true},
      {"others are", "one of two [", true},
      {"an old spelling is hidden", "--colour", false},
      {"long texts go on below", "\n                          ", true},
      {"a flag takes nothing", "  --quick                 a very", true},
      {"arguments by name", "  file                    what to make it of\n", true},
  };
  for (const HelpRow& row : table) {
    EXPECT_EQ(text.find(row.says) != std::string::npos, row.want) << row.why << "\n" << text;
  }
}

}  // namespace
}  // namespace weft

// `weft sim` as its users meet it: what bad input gets told, and that nothing is left half-written.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/wrap.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

constexpr const char* kHeader = "job_id,submit_s,num_gpus,duration_s,vc\n";

struct BadInput {
  const char* why;
  std::string trace;  // text of the file
  std::string policy = "fifo";
  std::vector<std::string> says;  // all of these are on stderr; {T} is the path of the trace
};

TEST(CommandLine, BadInputIsNamedAndNothingIsWritten) {
  const std::string good = std::string(kHeader) + "a,0,1,60,red\nb,10,8,3600,blue\n";
  const std::vector<BadInput> table = {
      {"a number that is none",
       std::string(kHeader) + "a,0,1,60,red\nb,soon,8,3600,blue\n",
       "fifo",
       {"{T}:3", "'soon'", "submit_s"}},
      {"a row too short",
       std::string(kHeader) + "a,0,1,60,red\nb,10\n",
       "fifo",
       {"{T}:3", "column"}},
      {"a negative duration",
       std::string(kHeader) + "a,0,1,-60,red\n",
       "fifo",
       {"{T}:2", "'-60'", "duration_s"}},
      {"not a number", std::string(kHeader) + "a,0,1,nan,red\n", "fifo", {"{T}:2", "'nan'"}},
      {"a doubled id",
       std::string(kHeader) + "a,0,1,60,red\na,5,1,60,red\n",
       "fifo",
       {"{T}:3", "'a'"}},
      {"a row that was cut off", std::string(kHeader) + "a,0,1,60,red\nb,10,8", "fifo", {"{T}:3"}},
      {"an empty file", "", "fifo", {"{T}"}},
      {"bytes that are no text", std::string("\x00\x01\xff\xfe\x00", 5), "fifo", {"{T}"}},
      {"a job larger than the cluster",
       std::string(kHeader) + "a,0,1,60,red\nwide,1,99,60,red\n",
       "fifo",
       {"{T}", "job wide", "99", "2x8", "16"}},
      {"a policy nobody knows", good, "fifp", {"unknown policy 'fifp'", "known:", "'fifo'?"}},
      {"a composition that is not there", good, "none.yaml", {"none.yaml"}},
  };
  for (const BadInput& row : table) {
    SCOPED_TRACE(row.why);
    const Scratch scratch;
    const std::string trace = scratch.write("jobs.csv", row.trace);
    const std::string untouched = "as it was";
    const std::string report = scratch.write("report.html", untouched);
    const std::string jobs_out = scratch.write("jobs-out.csv", untouched);
    const CommandResult result =
        run_weft(scratch, "sim --cluster 2x8 --trace " + trace + " --policy " + row.policy +
                              " --report " + report + " --jobs-out " + jobs_out + " --decisions " +
                              scratch.path("decisions.txt"));
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    for (std::string part : row.says) {
      if (part.starts_with("{T}")) part = trace + part.substr(3);
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in\n" << result.err;
    }
    EXPECT_EQ(slurp(report), untouched);
    EXPECT_EQ(slurp(jobs_out), untouched);
    EXPECT_FALSE(std::filesystem::exists(scratch.path("decisions.txt")));
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path(""))) {
      EXPECT_EQ(entry.path().string().find("tmp", scratch.path("").size()), std::string::npos)
          << "left behind: " << entry.path();
    }
  }
}

TEST(CommandLine, AllMistakesOfAFileAreToldTogetherAndCapped) {
  const Scratch scratch;
  std::string text = kHeader;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + ",0,1,-1,red\n";
  const std::string trace = scratch.write("jobs.csv", text);
  const CommandResult result =
      run_weft(scratch, "sim --cluster 2x8 --policy fifo --trace " + trace);
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find(trace + ":2"), std::string::npos);
  EXPECT_NE(result.err.find(trace + ":3"), std::string::npos);
  EXPECT_NE(result.err.find("and 30 more"), std::string::npos) << result.err;
}

TEST(CommandLine, FilesThatCannotBeTraces) {
  const Scratch scratch;
  const std::string huge = scratch.write("huge.csv", kHeader);
  std::filesystem::resize_file(huge, std::uintmax_t{10} << 30);  // sparse: takes no room
  const std::string common = "sim --cluster 2x8 --policy fifo --trace ";
  const CommandResult too_large = run_weft(scratch, common + huge);
  EXPECT_EQ(too_large.code, 2);
  EXPECT_NE(too_large.err.find(huge), std::string::npos) << too_large.err;
  EXPECT_NE(too_large.err.find("10737418240"), std::string::npos) << too_large.err;
  EXPECT_NE(too_large.err.find("4294967296"), std::string::npos) << too_large.err;

  const CommandResult missing = run_weft(scratch, common + scratch.path("nobody.csv"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("nobody.csv"), std::string::npos) << missing.err;

  std::filesystem::create_directory(scratch.path("folder"));
  const CommandResult folder = run_weft(scratch, common + scratch.path("folder"));
  EXPECT_EQ(folder.code, 2);
  EXPECT_NE(folder.err.find("folder"), std::string::npos) << folder.err;
}

TEST(CommandLine, BadWords) {
  const Scratch scratch;
  const std::string trace = fixture("traces/philly_sixty.csv");
  struct Row {
    const char* why;
    std::string words, says;
  };
  const std::vector<Row> table = {
      {"no trace", "sim --cluster 2x8 --policy fifo", "--trace"},
      {"a cluster of nothing", "sim --cluster 0x8 --policy fifo --trace " + trace, "0x8"},
      {"a place nobody knows", "sim --cluster 3x8 --policy fifo --place best-fir --trace " + trace,
       "'best-fit'?"},
      {"estimates nobody knows",
       "sim --cluster 3x8 --policy fifo --estimates crystal --trace " + trace, "'crystal'"},
      {"a loss out of range", "sim --cluster 3x8 --policy fifo --loss 2 --trace " + trace,
       "--loss"},
      {"a target folder that is not there",
       "sim --cluster 3x8 --policy fifo --jobs-out /nowhere/at/all.csv --trace " + trace,
       "/nowhere/at/all.csv"},
      {"a job to explain that is not there",
       "sim explain ghost --cluster 3x8 --policy fifo --trace " + trace, "'ghost'"},
      {"a log of two runs",
       "sim --cluster 3x8 --policy fifo,sjf --decisions d.txt --trace " + trace, "--decisions"},
  };
  for (const Row& row : table) {
    const CommandResult result = run_weft(scratch, row.words);
    EXPECT_EQ(result.code, 2) << row.why << "\n" << result.err;
    EXPECT_EQ(result.out, "") << row.why;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.why << "\n" << result.err;
  }
}

// CLI11 2.4 and later refuse to start where a positional argument has the name of an option.
TEST(CommandLine, NoPositionalArgumentHasTheNameOfAnOption) {
  const Scratch scratch;
  std::istringstream completions(run_weft(scratch, "completions bash").out);
  int verbs = 0;
  for (std::string line; std::getline(completions, line);) {
    const std::size_t path_end = line.find("') verbs='");  // '    'plan search') verbs='' options=…
    if (path_end == std::string::npos) continue;
    ++verbs;
    const std::string options = line.substr(line.find("options='") + 9) + " ";
    const std::string verb = line.substr(line.find('\'') + 1, path_end - line.find('\'') - 1);
    const CommandResult help = run_weft(scratch, verb + " --help");
    ASSERT_EQ(help.code, 0) << verb << "\n" << help.err;
    std::istringstream page(help.out);
    bool inside = false;
    for (std::string entry; std::getline(page, entry);) {
      if (!entry.starts_with(" ")) inside = entry == "Positionals:" || entry == "POSITIONALS:";
      if (!inside || !entry.starts_with("  ") || entry.starts_with("   ")) continue;
      const std::string name = entry.substr(2, entry.find(' ', 2) - 2);
      EXPECT_EQ((" " + options).find(" --" + name + " "), std::string::npos) << verb << " " << name;
    }
  }
  EXPECT_GT(verbs, 30);
}

TEST(CommandLine, JsonHasThePromisedKeys) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "sim --cluster 3x8 --policy fifo --place first-fit --json --trace " +
                            fixture("traces/philly_sixty.csv"));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json.at("runs").size(), 1u);
  const auto& run = json["runs"][0];
  for (const char* key :
       {"policy", "jobs", "mean_jct_s", "p50_jct_s", "p99_jct_s", "makespan_s", "utilization",
        "restarts", "events", "cpu_s", "parse_s", "peak_rss_bytes", "estimates"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  EXPECT_EQ(run["policy"], "fifo");
  EXPECT_EQ(run["jobs"], 60);
  EXPECT_EQ(run["estimates"], "oracle");
  EXPECT_GT(run["mean_jct_s"], 0);
  EXPECT_GE(run["p99_jct_s"], run["p50_jct_s"]);
}

TEST(CommandLine, EveryVerbHelps) {
  const Scratch scratch;
  // Those that completions know, and hidden ones and old names.
  std::vector<std::string> paths = {
      "", "bench rank", "bench survive", "trace", "bench explain", "nodes open", "queue"};
  const std::string fish = run_weft(scratch, "completions fish").out;
  const std::string begin = "set -g __weft_paths";
  const std::size_t from = fish.find(begin) + begin.size();
  const std::string known = fish.substr(from, fish.find('\n', from) - from);
  for (std::size_t at = known.find('\''); at != std::string::npos;) {
    const std::size_t end = known.find('\'', at + 1);
    paths.push_back(known.substr(at + 1, end - at - 1));
    at = known.find('\'', end + 1);
  }
  EXPECT_GT(paths.size(), 50u);
  for (const std::string& path : paths) {
    const CommandResult help = run_weft(scratch, path + " --help");
    EXPECT_EQ(help.code, 0) << path << "\n" << help.err;
    EXPECT_EQ(help.err, "") << path;
    for (const char c : help.out) {
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << path << " has byte " << +c;
    }
    EXPECT_LE(widest_line(help.out), kPageColumns) << help.out;
  }
  EXPECT_EQ(run_weft(scratch, "sim -h").out, run_weft(scratch, "sim --help").out);
}

TEST(CommandLine, UnknownVerbsAreNamed) {
  const Scratch scratch;
  const CommandResult close = run_weft(scratch, "simm");
  EXPECT_EQ(close.code, 2);
  EXPECT_NE(close.err.find("there is no verb 'simm'\n  hint: did you mean 'sim'?"),
            std::string::npos)
      << close.err;
  const CommandResult nothing = run_weft(scratch, "");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("\nrun jobs\n"), std::string::npos) << nothing.err;
}

TEST(CommandLine, FivePoliciesFitOnAPage) {
  const Scratch scratch;
  const std::string small = fixture("../../examples/traces/small-cluster.csv");
  const CommandResult result = run_weft(
      scratch, "sim --cluster 16x8 --policy fifo,backfill,srtf,las,2d-las --trace " + small);
  ASSERT_EQ(result.code, 0) << result.err;
  // The first line names a file.
  const std::string table = result.out.substr(result.out.find("\n\n"));
  EXPECT_LE(widest_line(table), kPageColumns) << table;
  EXPECT_NE(table.find("srtf beats fifo: mean JCT 0.44x, by users' estimates\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("\nbackfill* "), std::string::npos) << table;
  EXPECT_NE(table.find("\n2d-las  "), std::string::npos) << table;
  const auto json = nlohmann::json::parse(
      run_weft(scratch, "sim --cluster 16x8 --policy fifo,srtf --json --trace " + small).out);
  EXPECT_EQ(json.at("runs")[0].at("uses_estimates"), false);
  EXPECT_EQ(json.at("runs")[1].at("uses_estimates"), true);
  EXPECT_EQ(json.at("runs")[1].at("estimates"), "user");
}

TEST(CommandLine, AnExplanationFitsOnAPage) {
  const Scratch scratch;
  const std::string small = fixture("../../examples/traces/small-cluster.csv");
  const CommandResult result =
      run_weft(scratch, "sim explain language-148 --cluster 16x8 --policy fifo --trace " + small);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find(" under fifo: asked for"), std::string::npos) << result.out;
  EXPECT_LE(widest_line(result.out), kPageColumns) << result.out;
}

TEST(CommandLine, TableEndsInAVerdict) {
  const Scratch scratch;
  const CommandResult result = run_weft(scratch, "sim --cluster 2x8 --policy fifo,srtf --trace " +
                                                     fixture("traces/philly_sixty.csv"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("srtf beats fifo: mean JCT 0."), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("x, with true durations known\n"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace weft

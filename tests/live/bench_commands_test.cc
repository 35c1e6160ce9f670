// The verbs of `weft bench` that start ranks, and the verbs that those ranks are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/child.h"
#include "runtime/record/event.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

constexpr double kBenchDeadline_s = 60;

using testing::HasSubstr;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object()) lines.push_back(json);
  }
  return lines;
}

// `ranks` ranks of a verb of `weft bench` that meet in one folder.
std::vector<ChildEnd> run_ranks(const Scratch& scratch, int ranks,
                                const std::vector<std::string>& verb) {
  std::vector<std::vector<std::string>> commands;
  for (int rank = 0; rank < ranks; ++rank) {
    commands.push_back({WEFT_BINARY, "bench"});
    commands.back().insert(commands.back().end(), verb.begin(), verb.end());
    for (const std::string& word :
         {std::string("--ranks"), std::to_string(ranks), std::string("--rank"),
          std::to_string(rank), std::string("--rendezvous"), scratch.path("")}) {
      commands.back().push_back(word);
    }
  }
  const auto ends = run_children(commands, kBenchDeadline_s);
  EXPECT_TRUE(ends.ok());
  return ends.ok() ? *ends : std::vector<ChildEnd>(static_cast<std::size_t>(ranks));
}

TEST(BenchRank, MeasuresItsSizesAndTellsWhatItExpected) {
  for (const bool tcp : {false, true}) {
    const Scratch scratch;
    std::vector<std::string> words = {"rank", "--sizes", "4096,65536", "--algorithm", "ring"};
    if (tcp)
      words.insert(words.end(),
                   {"--network", "tcp", "--encrypt", "--streams", "1", "--credit", "1"});
    const auto ends = run_ranks(scratch, 3, words);
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      SCOPED_TRACE(rank);
      EXPECT_EQ(ends[rank].code, 0);
      int measured = 0, predicted = 0;
      for (const auto& line : json_lines(ends[rank].out)) {
        predicted += line.contains("predicted_s");
        if (line.contains("algorithm")) {
          EXPECT_EQ(line.at("algorithm"), "ring");
        }
        if (!line.contains("times_s")) continue;
        ++measured;
        EXPECT_EQ(line.at("rank"), rank);
        EXPECT_EQ(line.at("wrong"), 0);
        EXPECT_EQ(line.at("times_s").size(), line.at("iterations"));
      }
      EXPECT_EQ(measured, 2);
      EXPECT_EQ(predicted, rank == 0 ? 2 : 0);
    }
  }
}

TEST(BenchRank, BadInputIsNamed) {
  const Scratch scratch;
  const std::string meet = "--rendezvous " + scratch.path("") + " --sizes 4096 ";
  for (const auto& [words, says] : {std::pair{std::string("--rank 0 --ranks 2"), "--rendezvous"},
                                    {meet + "--ranks 2", "--rank is required"},
                                    {meet + "--rank 0 --ranks 0", "--ranks"},
                                    {meet + "--rank 0 --ranks 1 --streams 65", "--streams"},
                                    {meet + "--rank 0 --ranks 1 --interface nonesuch", "nonesuch"},
                                    {meet + "--rank 0 --ranks 1 --algorithm rinng", "ring"}}) {
    SCOPED_TRACE(words);
    const CommandResult result = run_weft(scratch, "bench rank " + words);
    EXPECT_NE(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

TEST(BenchSurvive, SumsUntilItsTimeIsOverAndSaysWhoTookPart) {
  const Scratch scratch;
  const auto ends = run_ranks(scratch, 3, {"survive", "--seconds", "1"});
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    SCOPED_TRACE(rank);
    std::int64_t steps = 0;
    for (const auto& line : json_lines(ends[rank].out)) {
      EXPECT_NE(line.at("event"), "wrong");
      EXPECT_EQ(line.at("member"), rank);
      if (line.at("event") != "step" || line.at("number") != 0) continue;
      EXPECT_EQ(line.at("members"), (std::vector<int>{0, 1, 2}));
      EXPECT_GT(line.at("steps"), steps);
      steps = line.at("steps");
    }
    EXPECT_GT(steps, 0);
  }
}

TEST(BenchSurvive, AKilledRankIsLeftOutByTheOthers) {
  const Scratch scratch;
  const std::string verb = std::string(WEFT_BINARY) + " bench survive --ranks 3 --rendezvous " +
                           scratch.path("") + " --seconds 3 --deadline 20 --rank ";
  // Rank 1 ends by SIGKILL after its first step, whatever the machine's speed.
  const std::string killed = "F=" + scratch.path("fifo") + "; mkfifo $F; " + verb +
                             "1 >$F & read LINE <$F; kill -9 $!; exit 0";
  const auto ends = run_children({{"/bin/sh", "-c", "exec " + verb + "0"},
                                  {"/bin/sh", "-c", killed},
                                  {"/bin/sh", "-c", "exec " + verb + "2"}},
                                 kBenchDeadline_s);
  ASSERT_TRUE(ends.ok());
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    SCOPED_TRACE(rank);
    std::vector<int> members;
    bool error = false;
    for (const auto& line : json_lines((*ends)[rank].out)) {
      EXPECT_NE(line.at("event"), "wrong");
      error |= line.at("event") == "error";
      if (line.at("event") == "reformed" && line.at("number") == 1) {
        members = line.at("members").get<std::vector<int>>();
      }
    }
    EXPECT_TRUE(error);
    EXPECT_EQ(members, (std::vector<int>{0, 2}));
  }
}

// Removes the arena's hosts also when a test ends early.
class ArenaHosts {
 public:
  ArenaHosts(const std::string& tag, const std::string& words) : tag_(tag) {
    up_ = script("up " + tag + " " + words) == 0;
  }
  ~ArenaHosts() {
    if (up_) {
      EXPECT_EQ(script("down " + tag_), 0);
    }
  }
  ArenaHosts(const ArenaHosts&) = delete;
  ArenaHosts& operator=(const ArenaHosts&) = delete;
  bool up() const { return up_; }

 private:
  static int script(const std::string& words) {
    const auto end =
        run_child({"/bin/sh", "-c", fixture("../../bench/arena.sh") + " " + words + " 2>&1"}, 120);
    return end.ok() ? end->code : -1;
  }
  std::string tag_;
  bool up_ = false;
};

// The machine may be busy with other things, so nothing bounds what it took from above, and the
// prediction, which rests on what was measured at the start, only widely.
TEST(BenchAllReduce, PredictsItsTimeOnShapedLinks) {
  const std::string tag = "weft-predict-" + std::to_string(getpid());
  const ArenaHosts arena(tag, "4 200mbit");
  if (!arena.up()) GTEST_SKIP() << "no network namespaces here (root and iproute2 are needed)";
  const Scratch scratch;
  const CommandResult result = run_weft(
      scratch,
      "bench allreduce --ranks 4 --sizes 16MB --rounds 1 --against weft --json --hosts-in " + tag);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto row = nlohmann::json::parse(result.out).at("rows").at(0);
  const double predicted = row.at("predicted_s"), took = row.at("median_s");
  // The wire alone takes 1.5 x 16 MiB / 25 MB/s.
  EXPECT_GT(predicted, 0.8) << row;
  EXPECT_LT(predicted, 4) << row;
  EXPECT_GT(took, 0.9) << row;
}

TEST(BenchChoose, MeasuresHereOrTakesWhatIsGiven) {
  const Scratch scratch;
  const CommandResult measured =
      // By the old name of the verb.
      run_weft(scratch, "bench explain --ranks 4 --hosts 2 --bytes 1MB --json");
  ASSERT_EQ(measured.code, 0) << measured.err;
  const auto json = nlohmann::json::parse(measured.out);
  EXPECT_TRUE(json.at("links").at("measured").get<bool>());
  EXPECT_GT(json.at("links").at("same_host").at("bytes_per_s").get<double>(), 1e6);
  EXPECT_GT(json.at("links").at("other_host").at("message_s").get<double>(), 1e-7);
  ASSERT_EQ(json.at("considered").size(), 4u);

  const CommandResult given = run_weft(scratch,
                                       "bench choose --ranks 4 --hosts 4 --bytes 64000000 --json "
                                       "--links 1us,10GB/s,100us,25MB/s,30GB/s");
  ASSERT_EQ(given.code, 0) << given.err;
  const auto told = nlohmann::json::parse(given.out);
  EXPECT_FALSE(told.at("links").at("measured").get<bool>());
  EXPECT_EQ(told.at("algorithm"), "ring");
  // 1.5 n / b, eight messages, and three quarters added.
  EXPECT_NEAR(told.at("expected_s").get<double>(), 3.84 + 8e-4 + 0.0016, 1e-6);

  const CommandResult table =
      run_weft(scratch,
               "bench choose --ranks 512 --bytes 64KB --operation broadcast --links "
               "1us,10GB/s,100us,25MB/s,30GB/s");
  ASSERT_EQ(table.code, 0) << table.err;
  for (const char* part : {"✓", "binomial", "chain", "inside a host: a message 1.00 us",
                           "as text: 1.00us,10.0GB/s,100us,25.0MB/s,30.0GB/s"}) {
    EXPECT_THAT(table.out, HasSubstr(part));
  }
}

TEST(BenchChoose, BadInputIsNamed) {
  const Scratch scratch;
  for (const auto& [words, says] : {std::pair{"--ranks 4 --bytes lots", "--bytes is 'lots'"},
                                    {"--ranks 4 --bytes 1MB --hosts 3", "multiple of --hosts"},
                                    {"--ranks 128 --bytes 1MB", "give --links"},
                                    {"--ranks 4 --bytes 1MB --links fast", "'fast'"},
                                    {"--ranks 4 --bytes 1MB --operation sum", "--operation"}}) {
    SCOPED_TRACE(words);
    const CommandResult result = run_weft(scratch, std::string("bench choose ") + words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

TEST(Recording, TellsWhereTheTimeOfRecordedRanksWent) {
  const Scratch scratch;
  for (int rank = 0; rank < 2; ++rank) {
    runtime::Recording recording;
    recording.rank = static_cast<std::uint32_t>(rank);
    recording.ranks = 2;
    recording.member = recording.rank;
    for (std::uint32_t step = 1; step <= 3; ++step) {
      const auto at = [&](runtime::EventKind kind, std::int64_t ms) {
        runtime::Event event;
        event.time_ns = (10 * step + ms) * 1'000'000;
        event.kind = kind;
        event.sequence = step;
        event.bytes = kind == runtime::EventKind::kStep ? 0 : 4096;
        recording.events.push_back(event);
      };
      at(runtime::EventKind::kStep, 0);
      at(runtime::EventKind::kSubmitted, 6);
      at(runtime::EventKind::kWaitBegin, 6);
      at(runtime::EventKind::kEnded, 10);
      at(runtime::EventKind::kWaitEnd, 10);
    }
    recording.recorded = recording.events.size();
    scratch.write("run.rank" + std::to_string(rank), encode(recording));
  }
  const std::string files = scratch.path("run.rank0") + " " + scratch.path("run.rank1");
  const CommandResult result =
      // By the old name of the verb.
      run_weft(scratch, "trace " + files + " --json --perfetto " + scratch.path("p.json"));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json.at("ranks").size(), 2u);
  for (const auto& rank : json.at("ranks")) {
    EXPECT_EQ(rank.at("operations"), 3);
    EXPECT_EQ(rank.at("failed"), 0);
    EXPECT_NEAR(rank.at("wait_s").get<double>(), 0.012, 1e-9);
    EXPECT_EQ(rank.at("events"), 15);
  }
  const auto perfetto = nlohmann::json::parse(slurp(scratch.path("p.json")), nullptr, false);
  EXPECT_FALSE(perfetto.is_discarded());
  const CommandResult table = run_weft(scratch, "recording " + files);
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, HasSubstr("compute %"));
}

TEST(Trace, BadInputIsNamed) {
  const Scratch scratch;
  const std::string cut = scratch.write("cut", "WEFTREC");
  for (const auto& [words, says] : {std::pair{std::string(""), "files"},
                                    {scratch.path("nonesuch"), "nonesuch"},
                                    {cut, "cut"}}) {
    SCOPED_TRACE(words);
    const CommandResult result = run_weft(scratch, "recording " + words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

TEST(BenchStart, TellsTheTimeAndTheConnectionsOfAStart) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "bench start --ranks 2,16 --rounds 1 --size 1MB --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("size_bytes"), 1 << 20);
  ASSERT_EQ(json.at("rows").size(), 4u);
  for (const auto& row : json.at("rows")) {
    SCOPED_TRACE(row.dump());
    const int ranks = row.at("ranks");
    const bool tcp = row.at("transport") == "tcp";
    EXPECT_GT(row.at("median_s").get<double>(), 0.001);
    EXPECT_GE(row.at("median_s"), row.at("min_s"));
    // Neighbours 1, 2, 4, ... away on both sides.
    EXPECT_EQ(row.at("after_start").at("control"), ranks == 2 ? 1 : 7);
    EXPECT_EQ(row.at("after_start").at("segments"), tcp ? 0 : ranks - 1);
    for (const char* when : {"after_start", "after_all_reduce"}) {
      const int data = row.at(when).at("data");
      EXPECT_EQ(data > 0, tcp);
      // Both sides of a pair may have begun to connect at once.
      if (ranks == 16) {
        EXPECT_LT(data, row.at("all_to_all").get<int>()) << when;
      }
    }
  }
}

TEST(BenchStart, BadInputIsNamed) {
  const Scratch scratch;
  for (const auto& [words, says] : {std::pair{"--ranks 1", "--ranks"},
                                    {"--ranks 65", "from 2 to 64"},
                                    {"--rounds 0", "--rounds"},
                                    {"--size 6", "multiple of 4 bytes"}}) {
    SCOPED_TRACE(words);
    const CommandResult result = run_weft(scratch, std::string("bench start ") + words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

}  // namespace
}  // namespace weft

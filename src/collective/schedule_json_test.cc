#include "collective/schedule_json.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "collective/requests_testing.h"

namespace weft::collective {
namespace {

TEST(ScheduleJson, EveryAlgorithmComesBackEqual) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const int ranks : {1, 2, 6, 8}) {
      for (const Request& request : requests_for(algorithm, ranks)) {
        const Schedule schedule = algorithm.make(request);
        const Result<Schedule> again = parse_schedule(write_schedule(schedule));
        ASSERT_TRUE(again.ok()) << describe(algorithm, request) << ": " << again.error().text();
        EXPECT_EQ(*again, schedule) << describe(algorithm, request);
      }
    }
  }
}

// A broadcast from rank 0 to rank 1.
constexpr const char* kSmall = R"({"format": "weft-collective", "version": 1,
 "operation": "broadcast", "ranks": 2, "chunks": {"count": 1}, "whole": 1,
 "programs": [
  {"streams": [[{"ops": [
    {"do": "copy", "source": {"buffer": "input", "count": 1},
                   "target": {"buffer": "output", "count": 1}},
    {"do": "send", "peer": 1, "source": {"buffer": "input", "count": 1}}]}]]},
  {"streams": [[{"ops": [
    {"do": "receive", "peer": 0, "target": {"buffer": "output", "count": 1}}]}]]}]})";

TEST(ScheduleJson, LeavesOutWhatIsUsual) {
  const Result<Schedule> schedule = parse_schedule(kSmall);
  ASSERT_TRUE(schedule.ok()) << schedule.error().text();
  EXPECT_EQ(schedule->algorithm, "imported");
  EXPECT_EQ(schedule->credits, 0);
  EXPECT_FALSE(schedule->lockstep);
  EXPECT_FALSE(schedule->in_place);
}

TEST(ScheduleJson, NamesWithQuotesComeBack) {
  Schedule schedule = *parse_schedule(kSmall);
  schedule.algorithm = "a \"ring\"\nof \\ my own";
  EXPECT_EQ(parse_schedule(write_schedule(schedule))->algorithm, schedule.algorithm);
}

struct Edit {
  const char* sentence;
  std::string from;
  std::string to;
  std::string want;
};

void expect_refused(const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    std::string text = kSmall;
    const std::size_t at = text.find(edit.from);
    if (edit.to.empty() && at == std::string::npos) {
      text.resize(text.size() - 20);
    } else {
      ASSERT_NE(at, std::string::npos) << edit.sentence;
      text.replace(at, edit.from.size(), edit.to);
    }
    const Result<Schedule> result = parse_schedule(text);
    ASSERT_FALSE(result.ok()) << edit.sentence;
    EXPECT_NE(result.error().text().find(edit.want), std::string::npos)
        << edit.sentence << ": " << result.error().text();
  }
}

TEST(ScheduleJson, TellsWhatIsWrongAtTheTop) {
  expect_refused({
      {"cut short", "\"output\", \"count\": 1}}]}]]}]})", "", "is not JSON"},
      {"another format", "weft-collective", "msccl", "format must be \"weft-collective\""},
      {"another version", "\"version\": 1", "\"version\": 2",
       "version is 2; it must lie in 1 .. 1"},
      {"no version", "\"version\": 1,", "", "version is missing"},
      {"unknown operation", "\"broadcast\"", "\"brodcast\"",
       "operation must be one of: all-reduce"},
      {"unknown member", "\"whole\"", "\"hole\"", "did you mean 'whole'"},
      {"no ranks", "\"ranks\": 2", "\"ranks\": 0", "ranks is 0; it must lie in 1 .. 131072"},
      {"ranks beyond all limits", "\"ranks\": 2", "\"ranks\": 18446744073709551615",
       "ranks must be a whole number"},
      {"half a rank", "\"ranks\": 2", "\"ranks\": 2.5", "ranks must be a whole number"},
      {"a number that is no number", "\"ranks\": 2", "\"ranks\": 1e999", "is not JSON"},
      {"more ranks than programs", "\"ranks\": 2", "\"ranks\": 3",
       "there are 2 programs for 3 endpoints"},
      {"a root that is no rank", "\"ranks\": 2", "\"ranks\": 2, \"root\": 2", "root is 2"},
      {"unknown helper", "\"ranks\": 2", "\"ranks\": 2, \"helpers\": [\"router\"]",
       "helpers[0] must be one of: switch, server"},
      {"too many chunks", "{\"count\": 1}, \"whole\"", "{\"count\": 9999999999}, \"whole\"",
       "chunks.count is 9999999999"},
      {"weights and a count", "{\"count\": 1}, \"whole\"",
       "{\"count\": 1, \"weights\": [1]}, \"whole\"", "chunks has both"},
      {"no weights", "{\"count\": 1}, \"whole\"", "{\"weights\": []}, \"whole\"",
       "chunks.weights is empty"},
      {"a negative weight", "{\"count\": 1}, \"whole\"", "{\"weights\": [-1]}, \"whole\"",
       "chunks.weights[0] is -1"},
      {"nothing is whole", "\"whole\": 1", "\"whole\": 0", "whole is 0"},
  });
}

TEST(ScheduleJson, TellsWhatIsWrongInAProgramAndWhere) {
  expect_refused({
      {"unknown kind", "\"receive\"", "\"recieve\"",
       "programs[1].streams[0][0].ops[0].do must be one of: send, receive"},
      {"no peer", "\"peer\": 0, ", "", "programs[1].streams[0][0].ops[0].peer is missing"},
      {"a peer in words", "\"peer\": 0", "\"peer\": \"rank 0\"",
       "programs[1].streams[0][0].ops[0].peer must be a whole number"},
      {"a receive with a source", "\"peer\": 0",
       "\"peer\": 0, \"source\": {\"buffer\": \"input\", \"count\": 1}",
       "ops[0] has the unknown member 'source'"},
      {"unknown buffer", "\"target\": {\"buffer\": \"output\", \"count\": 1}}]",
       "\"target\": {\"buffer\": \"register\", \"count\": 1}}]",
       "target.buffer must be one of: input, output, scratch"},
      {"a circle of nothing", "\"target\": {\"buffer\": \"output\", \"count\": 1}}]",
       "\"target\": {\"buffer\": \"output\", \"count\": 1, \"modulus\": 0}}]",
       "rank 1, stream 0, entry 0: operation 0: target modulus is 0"},
      {"a round repeated for ever", "{\"ops\": [\n    {\"do\": \"receive\"",
       "{\"repeat\": 99999999999, \"ops\": [\n    {\"do\": \"receive\"",
       "programs[1].streams[0][0].repeat is 99999999999"},
      {"a round repeated for very long", "{\"ops\": [\n    {\"do\": \"receive\"",
       "{\"repeat\": 2147483648, \"ops\": [\n    {\"do\": \"receive\"", "the limits are"},
      {"scratch without end", "{\"streams\": [[{\"ops\": [\n    {\"do\": \"receive\"",
       "{\"scratch\": {\"count\": 1073741824}, \"streams\": [[{\"ops\": [\n    {\"do\": "
       "\"receive\"",
       "the limits are"},
      {"a density of nothing", "{\"ops\": [\n    {\"do\": \"receive\"",
       "{\"density\": 0, \"ops\": [\n    {\"do\": \"receive\"", "density is 0"},
      {"streams that are no lists", "[[{\"ops\": [\n    {\"do\": \"receive\"",
       "[{\"ops\": [\n    {\"do\": \"receive\"", "is not JSON"},
      {"a cell that does not exist", "\"target\": {\"buffer\": \"output\", \"count\": 1}}]",
       "\"target\": {\"buffer\": \"output\", \"count\": 1, \"base\": 7}}]",
       "rank 1, stream 0, round 0: operation 0: chunk or cell 7 of the output does not exist"},
      {"incomplete", "\"peer\": 1", "\"peer\": 1, \"streamed\": 3",
       "programs[0].streams[0][0].ops[1].streamed must be true or false"},
      {"a receive that nobody answers", "\"do\": \"send\", \"peer\": 1, \"source\"",
       "\"do\": \"copy\", \"target\": {\"buffer\": \"output\", \"count\": 0}, \"source\"",
       "the source has 1 cells and the target 0"},
  });
}

TEST(ScheduleJson, RefusesACycle) {
  std::string text = R"({"format": "weft-collective", "version": 1, "operation": "all-gather",
    "ranks": 2, "chunks": {"count": 2}, "whole": 2, "programs": [)";
  for (const int r : {0, 1}) {
    const std::string own = std::to_string(r);
    const std::string other = std::to_string(1 - r);
    text += std::string(r == 1 ? "," : "") + R"({"streams": [[
      {"ops": [{"do": "receive", "peer": )" +
            other + R"(, "target": {"buffer": "output", "base": )" + other + R"(, "count": 1}}]},
      {"ops": [{"do": "send", "peer": )" +
            other +
            R"(, "source": {"buffer": "input", "count": 1}},
               {"do": "copy", "source": {"buffer": "input", "count": 1},
                "target": {"buffer": "output", "base": )" +
            own + R"(, "count": 1}}]}]]})";
  }
  const Result<Schedule> result = parse_schedule(text + "]}");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("rank 0, stream 0, round 0: receive from rank 1 of chunk 1"),
            std::string::npos)
      << result.error().text();
  EXPECT_NE(result.error().what.find("deadlock"), std::string::npos);
}

TEST(ScheduleJson, SurvivesDeepNesting) {
  const std::string deep(1 << 20, '[');
  EXPECT_FALSE(parse_schedule(deep).ok());
  EXPECT_FALSE(parse_schedule(deep + std::string(1 << 20, ']')).ok());
}

}  // namespace
}  // namespace weft::collective

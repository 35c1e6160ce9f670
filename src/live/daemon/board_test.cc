#include "live/daemon/board.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

TEST(BoardQueue, IsReadWithoutParsingTheRest) {
  const Cluster cluster = *parse_cluster_shorthand("1x1");
  const std::pair<const char*, const char*> rows[] = {
      {R"({"envs":{"queue":"wrong"},"queue":"right","run":"x"})", "right"},
      {R"({"name":"\"queue\":\"no\"","list":["queue",{"queue":"no"}],"queue":"b c"})", "b c"},
      {R"({"queue":"with \"quotes\""})", "with \"quotes\""},
      {R"({ "run": "x", "queue" : "spaced" })", "spaced"},
      {R"({"run":"queue"})", "default"},
  };
  for (const auto& [spec, queue] : rows) {
    Board board(cluster);
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = "j";
    submission->menu = std::make_shared<const Menu>(Menu{{Configuration{}}});
    record.event.submission = submission;
    record.job = JobIdentity{"uuid", "ann", 0, 0, spec};
    board.admit(record);
    EXPECT_EQ(board.at(0)->queue, queue) << spec;
  }
}

}  // namespace
}  // namespace weft::live

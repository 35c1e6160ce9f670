#include "live/daemon/queue_quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/composition.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(QueueQuotas, BecomeAPolicyThatKnowsQueuesByNumber) {
  const auto quotas = parse_quotas(
      "queues:\n  research: {share: 3, cohort: labs}\n  serving: {share: 1}\n"
      "  interns: {share: 0.5, cohort: labs}\n",
      "q.yaml");
  ASSERT_TRUE(quotas.ok()) << quotas.error().text();
  EXPECT_THAT(quotas->queues, ElementsAre("research", "serving", "interns"));
  const auto composition = parse_composition(quotas->policy, "q");
  ASSERT_TRUE(composition.ok()) << composition.error().text();
  EXPECT_EQ(composition->allocate.settings.at("shares"), "3,1,0.5");
  EXPECT_EQ(composition->allocate.settings.at("cohorts"), "1,0,1");
  EXPECT_TRUE(assemble(*composition).ok());
}

TEST(QueueQuotas, EveryMistakeIsTold) {
  struct Row {
    const char *yaml, *wrong;
  };
  const Row rows[] = {
      {"queues: 3", "q.yaml:1: must be a map with 'queues' alone"},
      {"queues: {a: {share: 1}}\nmore: 1", "alone"},
      {"queues: {}", "1 to 1000 queues"},
      {"queues:\n  a: {share: -1}", "q.yaml:2: queue a needs a share"},
      {"queues:\n  a: 3", "queue a needs a share"},
      {"queues:\n  -a: {share: 1}", "'-a' is no name"},
      {"queues:\n  a: {shar: 1}", "'shar' is no field"},
      {"queues:\n  a: {share: 0}", "above 0"},
      {"queues: [", "q.yaml:"},
  };
  for (const Row& row : rows) {
    const auto quotas = parse_quotas(row.yaml, "q.yaml");
    ASSERT_FALSE(quotas.ok()) << row.yaml;
    EXPECT_THAT(quotas.error().text(), HasSubstr(row.wrong)) << row.yaml;
  }
}

TEST(QueueQuotas, MustAgreeWithTheJournal) {
  const Cluster cluster = *parse_cluster_shorthand("1x1");
  Board board(cluster);
  EventRecord record;
  record.event.kind = EventKind::kSubmit;
  auto submission = std::make_shared<Submission>();
  submission->tenant = 1;
  submission->menu = std::make_shared<Menu>(Menu{{Configuration{}}});
  record.event.submission = submission;
  record.job = JobIdentity{"u", "ann", 0, 0, R"({"queue":"b"})"};
  board.admit(record);
  EXPECT_TRUE(check_numbers({}, board).ok());
  EXPECT_TRUE(check_numbers({"a"}, board).ok()) << "b is beyond the list";
  EXPECT_TRUE(check_numbers({"a", "b", "c"}, board).ok());
  EXPECT_FALSE(check_numbers({"b", "a"}, board).ok());
  EXPECT_FALSE(check_numbers({"a", "c"}, board).ok()) << "number 2 is another's";
}

}  // namespace
}  // namespace weft::live

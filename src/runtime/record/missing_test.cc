#include "runtime/record/missing.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

OperationSpec spec_of(std::uint32_t sequence) {
  OperationSpec spec;
  spec.key = {0, 5, 2, sequence};
  spec.call.operation = Operation::kAllReduce;
  spec.members =
      std::make_shared<const std::vector<MemberId>>(std::vector<MemberId>{10, 11, 12, 13});
  spec.rank = 1;
  return spec;
}

struct Answer {
  MemberId from;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> streams;
};
struct MissingRow {
  const char* sentence;
  std::vector<Answer> answers;
  const char* want;
};

TEST(MissingTest, NamesWhoHasNotEntered) {
  const MissingRow rows[] = {
      {"all have entered", {{10, {{2, 18}}}, {12, {{2, 18}}}, {13, {{2, 19}}}}, ""},
      {"one has not",
       {{10, {{2, 18}}}, {12, {{2, 18}}}, {13, {{0, 40}, {2, 17}}}},
       "rank 3 has not entered all-reduce number 17 of stream 2; it last entered number 16"},
      {"the one that is furthest behind comes first",
       {{10, {{2, 17}}}, {12, {{2, 18}}}, {13, {}}},
       "rank 3 has not entered all-reduce number 17 of stream 2; it has entered none; rank 0 has "
       "not "
       "entered all-reduce number 17 of stream 2; it last entered number 16"},
      {"one does not answer",
       {{10, {{2, 18}}}, {12, {{2, 18}}}},
       "rank 3 did not answer when asked"},
  };
  for (const MissingRow& row : rows) {
    Missing missing;
    const Progress question = missing.ask(spec_of(17));
    EXPECT_EQ(question, (Progress{false, 0, 5, {{2, 17}}}));
    for (const Answer& answer : row.answers) {
      missing.answer(answer.from, {true, 0, 5, answer.streams});
    }
    EXPECT_EQ(missing.in_words(spec_of(17)), row.want) << row.sentence;
  }
}

TEST(MissingTest, KnowsNothingOfWhatWasNotAskedNorOfOtherGroups) {
  Missing missing;
  EXPECT_EQ(missing.in_words(spec_of(3)), "");
  missing.ask(spec_of(3));
  missing.answer(10, {true, 1, 5, {{2, 9}}});
  missing.answer(12, {true, 0, 4, {{2, 9}}});
  EXPECT_EQ(missing.in_words(spec_of(3)), "ranks 0, 2, 3 did not answer when asked");
}

}  // namespace
}  // namespace weft::runtime

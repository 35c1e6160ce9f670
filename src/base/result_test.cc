#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace weft {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorKind::kInvalidInput, "the number is odd", "double it"};
  return number / 2;
}

TEST(Result, HoldsAValueOrTheReasonWhyNot) {
  ASSERT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  ASSERT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).error().text(), "the number is odd\n  hint: double it");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, AskingForWhatIsNotThereAborts) {
  EXPECT_DEATH(half(3).value(), "CHECK");
  EXPECT_DEATH(half(4).error(), "CHECK");
}

TEST(Complaints, SpellsOutTheFirstAndCountsTheRest) {
  Complaints complaints;
  EXPECT_TRUE(complaints.empty());
  for (int i = 0; i < Complaints::kShown + 3; ++i) complaints.add("line " + std::to_string(i));
  const std::string text = complaints.error("mend them").text();
  EXPECT_NE(text.find("line 0\nline 1\n"), std::string::npos);
  EXPECT_EQ(text.find("line 20"), std::string::npos);
  EXPECT_NE(text.find("and 3 more\n  hint: mend them"), std::string::npos) << text;
}

TEST(NearMiss, FindsSlipsOfTheKeyboardOnly) {
  const std::vector<std::string> known = {"fifo", "backfill", "srtf", "2d-las"};
  EXPECT_EQ(near_miss("fifp", known), "fifo");
  EXPECT_EQ(near_miss("bakfil", known), "backfill");
  EXPECT_EQ(near_miss("2dlas", known), "2d-las");
  EXPECT_EQ(near_miss("wonderful", known), "");
  EXPECT_EQ(near_miss("x", {}), "");
}

}  // namespace
}  // namespace weft

#include "model/readers/table_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

TEST(TableReader, GathersEveryMistakeInOnePass) {
  const TextFile file{"t.csv", "a,b,c\n1,2\n-1,x,yes\n2,3,maybe\n5,7.5,no\n"};
  Complaints complaints;
  TableReader rows(file, {}, complaints);
  ASSERT_TRUE(rows.require({"a", "b", "c"}));
  std::vector<double> numbers;
  while (rows.next()) {
    numbers.push_back(rows.number(rows.column("a"), {0, 10}));
    numbers.push_back(static_cast<double>(rows.integer(rows.column("b"), 1, 9)));
    EXPECT_EQ(rows.optional_flag(rows.column("c")).value(), rows.line() == 3);
  }
  EXPECT_EQ(complaints.count(), 5);
  EXPECT_EQ(complaints.error().what,
            "t.csv:2: the row has 2 columns; 3 are needed (a row that is cut off at the end of a "
            "file means that the file is not whole)\n"
            "t.csv:3: a is '-1'; it must be a number from 0 to 10\n"
            "t.csv:3: b is 'x'; it must be a whole number from 1 to 9\n"
            "t.csv:4: c is 'maybe'; it must be true or false\n"
            "t.csv:5: b is '7.5'; it must be a whole number from 1 to 9");
}

TEST(TableReader, EmptyCellsAreAbsentWhereTheyMayBe) {
  const TextFile file{"t.csv", "a,b\n , \n"};
  Complaints complaints;
  TableReader rows(file, {}, complaints);
  ASSERT_TRUE(rows.next());
  EXPECT_FALSE(rows.optional_number(0, {0, 1}).has_value());
  EXPECT_FALSE(rows.optional_integer(1, 0, 1).has_value());
  EXPECT_FALSE(rows.optional_flag(rows.column("none")).has_value());
  EXPECT_TRUE(complaints.empty());
  rows.number(0, {0, 1, true});
  EXPECT_EQ(complaints.error().what,
            "t.csv:2: a is empty; it must be a number above 0 and at most 1");
}

TEST(TableReader, HeaderMistakesNameTheColumn) {
  const TextFile file{"t.csv", "\nsubmit_s,devces,submit_s\n"};
  Complaints complaints;
  TableReader rows(file, {}, complaints);
  EXPECT_FALSE(rows.require({"submit_s", "devices"}));
  rows.refuse_unknown({"submit_s", "devices"});
  EXPECT_EQ(complaints.error().what,
            "t.csv:2: column 'submit_s' is named twice\n"
            "t.csv:2: column 'devices' is missing; the header has 'submit_s,devces,submit_s'\n"
            "t.csv:2: column 'devces' is not known; did you mean 'devices'?");
}

TEST(TableReader, ShowsTwentyComplaintsAndCountsTheRest) {
  std::string text = "a\n";
  for (int i = 0; i < 1000; ++i) text += "x\n";
  Complaints complaints;
  TableReader rows({"t.csv", text}, {}, complaints);
  while (rows.next()) rows.number(0, {0, 1});
  EXPECT_EQ(complaints.count(), 1000);
  const std::string what = complaints.error().what;
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 20);
  EXPECT_NE(what.find("980 more"), std::string::npos);
}

TEST(TableReader, IntegersMayHaveAFractionOfZero) {
  EXPECT_EQ(parse_integral("8.0"), 8);
  EXPECT_EQ(parse_integral("-3"), -3);
  EXPECT_EQ(parse_integral("1e3"), 1000);
  for (const char* const text : {"8.5", "1e30", "nan", ""}) {
    EXPECT_FALSE(parse_integral(text).has_value()) << text;
  }
}

TEST(CheckIsText, RefusesWhatIsNot) {
  EXPECT_EQ(check_is_text({"f", " \n"}).error().what, "f: is empty");
  EXPECT_EQ(check_is_text({"f", "a\n\xFE"}).error().what, "f:2: byte 0xfe is not UTF-8");
  EXPECT_TRUE(check_is_text({"f", "a"}).ok());
}

}  // namespace
}  // namespace weft

#include "base/delimited.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/random.h"

namespace weft {
namespace {

using Records = std::vector<std::vector<std::string>>;

// Scans a copy of the text that ends where its allocation ends, so that a sanitizer sees any read
// past it.
Records scan(std::string_view text, DelimitedOptions options = {}, std::string* problems = nullptr,
             std::vector<long>* lines = nullptr) {
  const std::unique_ptr<char[]> exact(new char[text.size()]);
  std::copy(text.begin(), text.end(), exact.get());
  DelimitedScanner scanner({exact.get(), text.size()}, options);
  Records records;
  while (scanner.next()) {
    records.emplace_back(scanner.fields().begin(), scanner.fields().end());
    if (problems != nullptr) *problems += scanner.problem();
    if (lines != nullptr) lines->push_back(scanner.line());
  }
  return records;
}

struct Case {
  const char* why;
  std::string text;
  Records want;
};

TEST(DelimitedScanner, SplitsRecords) {
  const Case cases[] = {
      {"nothing", "", {}},
      {"one field", "a", {{"a"}}},
      {"last line without newline", "a,b\nc,d", {{"a", "b"}, {"c", "d"}}},
      {"CRLF", "a,b\r\nc,d\r\n", {{"a", "b"}, {"c", "d"}}},
      {"empty fields", ",\n,,", {{"", ""}, {"", "", ""}}},
      {"blank lines are skipped", "\na\n\r\n\nb\n\n", {{"a"}, {"b"}}},
      {"byte-order mark",
       "\xEF\xBB\xBF"
       "a,b\n",
       {{"a", "b"}}},
      {"delimiter inside quotes", "\"a,b\",c\n", {{"a,b", "c"}}},
      {"doubled quote", "\"a\"\"b\"\"\",c\n", {{"a\"b\"", "c"}}},
      {"only doubled quotes", "\"\"\"\"\n", {{"\""}}},
      {"empty quotes", "\"\",x\n", {{"", "x"}}},
      {"newline inside quotes", "\"a\nb\",c\nd,e\n", {{"a\nb", "c"}, {"d", "e"}}},
      {"quoted field before CRLF", "a,\"b\"\r\nc\r\n", {{"a", "b"}, {"c"}}},
      {"plain field before CRLF beside a quoted one", "\"a\",b\r\nc\n", {{"a", "b"}, {"c"}}},
      {"quote in the middle of a field stays", "a\"b,c\n", {{"a\"b", "c"}}},
      {"quoted field at the end of the text", "a,\"b\"", {{"a", "b"}}},
  };
  for (const Case& c : cases) {
    std::string problems;
    EXPECT_EQ(scan(c.text, {}, &problems), c.want) << c.why;
    EXPECT_EQ(problems, "") << c.why;
  }
}

TEST(DelimitedScanner, TabsWithoutQuotes) {
  EXPECT_EQ(scan("a \"b\t\"c\"\n", {'\t', false, '\0'}), (Records{{"a \"b", "\"c\""}}));
}

TEST(DelimitedScanner, SkipsComments) {
  EXPECT_EQ(scan("# \"x\na\n#y\nb#\n", {',', true, '#'}), (Records{{"a"}, {"b#"}}));
}

TEST(DelimitedScanner, CountsLinesAcrossQuotesAndBlanks) {
  std::vector<long> lines;
  scan("a\n\n\"b\n\nc\",d\ne\n", {}, nullptr, &lines);
  EXPECT_EQ(lines, (std::vector<long>{1, 3, 6}));
}

TEST(DelimitedScanner, SaysWhatIsWrongAndGoesOn) {
  std::string problems;
  EXPECT_EQ(scan("\"a\"x,b\nc\n", {}, &problems), (Records{{"a", "b"}, {"c"}}));
  EXPECT_EQ(problems, "text follows a closing quote");
  problems.clear();
  EXPECT_EQ(scan("a\nb,\"c\nd", {}, &problems), (Records{{"a"}, {"b", "c\nd"}}));
  EXPECT_EQ(problems, "a quote opens here and never closes");
}

// Writing fields by the rules of RFC 4180 and scanning them gives them back.
TEST(DelimitedScanner, RoundTripsRandomRecords) {
  Random random(11);
  const std::string_view alphabet = "ab,\"\n\r \t";
  for (int round = 0; round < 2000; ++round) {
    Records want;
    std::string text;
    for (std::uint64_t rows = random.below(4); rows > 0; --rows) {
      std::vector<std::string>& record = want.emplace_back();
      for (std::uint64_t fields = 1 + random.below(4); fields > 0; --fields) {
        std::string& field = record.emplace_back();
        for (std::uint64_t size = random.below(5); size > 0; --size) {
          field += alphabet[random.below(alphabet.size())];
        }
        if (record.size() > 1) text += ',';
        text += '"';
        for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
        text += '"';
      }
      text += random.chance(0.5) ? "\n" : "\r\n";
    }
    EXPECT_EQ(scan(text), want) << "round " << round;
  }
}

TEST(ParseNumber, TakesWholeFiniteNumbersOnly) {
  EXPECT_EQ(parse_number(" 1.5e3 "), 1500.0);
  EXPECT_EQ(parse_number("+2"), 2.0);
  EXPECT_EQ(parse_number("-0.25"), -0.25);
  for (const char* const text :
       {"", " ", "nan", "inf", "-inf", "1e999", "1x", "0x10", "1,5", "+-1"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

TEST(ParseInteger, RefusesFractionsAndOverflow) {
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_integer("-12 "), -12);
  for (const char* const text : {"", "1.0", "9223372036854775808", "1e3", "--1"}) {
    EXPECT_FALSE(parse_integer(text).has_value()) << text;
  }
}

TEST(FindBadByte, AcceptsUtf8AndNamesTheLineOfTheRest) {
  EXPECT_FALSE(find_bad_byte("plain\ntext, longer than one word of eight").has_value());
  EXPECT_FALSE(find_bad_byte("Zürich 東京 \xF0\x9F\x99\x82 and more text after it").has_value());
  const std::pair<std::string, long> bad[] = {
      {"a\nb\xFF", 2},
      {std::string("ab\0c", 4), 1},
      {"long enough for a word\n\n\xC3", 3},  // cut off
      {"\xC0\x80", 1},                        // overlong
      {"\xE0\x80\x80", 1},                    // overlong
      {"\xED\xA0\x80", 1},                    // surrogate
      {"\xF4\x90\x80\x80", 1},                // beyond U+10FFFF
      {"12345678\x80", 1},                    // stray continuation
      {std::string("1234567\n123\0", 12), 2},
  };
  for (const auto& [text, line] : bad) {
    const auto found = find_bad_byte(text);
    ASSERT_TRUE(found.has_value()) << shown(text);
    EXPECT_EQ(found->line, line) << shown(text);
  }
}

TEST(Shown, IsShortAndPrintable) {
  EXPECT_EQ(shown(""), "empty");
  EXPECT_EQ(shown("a\tb\xFF"), "'a\\x09b\\xff'");
  EXPECT_EQ(shown("東京"), "'東京'");
  EXPECT_LT(shown(std::string(1000, 'x')).size(), 50U);
}

}  // namespace
}  // namespace weft

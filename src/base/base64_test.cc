#include "base/base64.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Base64, MakesWhatTheStandardGives) {
  const std::pair<std::string, std::string> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"},
                                                      {"\xff\xfb\xff", "//v/"}};
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, BringsEveryByteBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (std::size_t cut = 0; cut < 4; ++cut) {
    const std::string part = all.substr(cut);
    EXPECT_EQ(from_base64(to_base64(part)), part) << cut;
  }
}

TEST(Base64, RefusesWhatItWouldNotMake) {
  const std::pair<const char*, const char*> rows[] = {
      {"a letter that is none", "Zm9-"},   {"a line's end", "Zm9v\n"},
      {"padding that is missing", "Zg"},   {"padding alone", "===="},
      {"three signs of padding", "Z==="},  {"padding before the end", "Zg==Zm9v"},
      {"bits that are left over", "Zh=="}, {"a letter behind padding", "Zg=v"}};
  for (const auto& [what, text] : rows) EXPECT_FALSE(from_base64(text)) << what;
}

}  // namespace
}  // namespace weft

#include "runtime/net/seal.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::runtime {
namespace {

struct Ends {
  Secret secret = *Secret::fresh();
  Nonce connector = *fresh_nonce(), listener = *fresh_nonce();
  Seal out{secret, connector, listener, Direction::kFromConnector};
  Seal in{secret, connector, listener, Direction::kFromConnector};
  Seal back{secret, connector, listener, Direction::kFromListener};
};

std::vector<std::byte> sealed(Seal& seal, std::string_view header, std::string_view a,
                              std::string_view b) {
  std::vector<std::byte> out(a.size() + b.size() + kSealBytes);
  const ByteView pieces[] = {view_of(a), view_of(b)};
  seal.seal(view_of(header), pieces, out.data());
  return out;
}

std::string plain(const std::vector<std::byte>& opened) {
  return {reinterpret_cast<const char*>(opened.data()), opened.size() - kSealBytes};
}

TEST(Seal, OpensFramesInOrder) {
  Ends ends;
  for (std::string_view text : {"first ", "", "third "}) {
    auto body = sealed(ends.out, "header", text, "and more");
    ASSERT_TRUE(ends.in.open(view_of("header"), body));
    EXPECT_EQ(plain(body), std::string(text) + "and more");
  }
  auto empty = sealed(ends.out, "header", "", "");
  EXPECT_TRUE(ends.in.open(view_of("header"), empty));
}

TEST(Seal, SameTextNeverLooksTheSame) {
  Ends ends;
  EXPECT_NE(sealed(ends.out, "h", "text", ""), sealed(ends.out, "h", "text", ""));
  EXPECT_NE(sealed(ends.in, "h", "text", ""), sealed(ends.back, "h", "text", ""));
}

TEST(Seal, DoesNotOpenWhatWasTamperedWith) {
  for (std::size_t i = 0; i < 4 + kSealBytes; ++i) {
    Ends ends;
    auto body = sealed(ends.out, "header", "text", "");
    body[i] ^= std::byte{1};
    EXPECT_FALSE(ends.in.open(view_of("header"), body)) << "byte " << i;
  }
  Ends ends;
  auto body = sealed(ends.out, "header", "text", "");
  EXPECT_FALSE(ends.in.open(view_of("Header"), body));
}

TEST(Seal, DoesNotOpenAFrameTwiceOrOutOfOrderOrSentBack) {
  Ends ends;
  const auto first = sealed(ends.out, "h", "one", ""), second = sealed(ends.out, "h", "two", "");
  auto copy = second;
  Ends same_keys_cannot_be_made_again;
  EXPECT_FALSE(same_keys_cannot_be_made_again.in.open(view_of("h"), copy));
  copy = first;
  ASSERT_TRUE(ends.in.open(view_of("h"), copy));
  copy = first;
  EXPECT_FALSE(ends.in.open(view_of("h"), copy)) << "replayed";
  copy = first;
  EXPECT_FALSE(ends.back.open(view_of("h"), copy)) << "sent back to its maker";
}

}  // namespace
}  // namespace weft::runtime

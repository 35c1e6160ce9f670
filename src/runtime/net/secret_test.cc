#include "runtime/net/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

namespace weft::runtime {
namespace {

using testing::HasSubstr;
using Part = std::span<const std::uint8_t>;

Part bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Proof prove_texts(const Secret& secret, std::string_view label,
                  std::initializer_list<std::string_view> texts) {
  std::vector<Part> parts;
  for (std::string_view text : texts) parts.push_back(bytes(text));
  return prove(secret, label, parts);
}

TEST(Secret, SurvivesItsHexadecimalForm) {
  const auto secret = Secret::fresh();
  ASSERT_TRUE(secret.ok());
  const auto again = Secret::from_hex(secret->hex());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *secret);
  EXPECT_NE(*Secret::fresh(), *secret);
  EXPECT_NE(*fresh_nonce(), *fresh_nonce());
}

TEST(Secret, RefusesOtherTextAndNeverShowsIt) {
  EXPECT_THAT(Secret::from_hex("abc").error().what, HasSubstr("3 characters"));
  std::string text(64, 'a');
  text[9] = 'x';
  const std::string what = Secret::from_hex(text).error().what;
  EXPECT_THAT(what, HasSubstr("character 10"));
  EXPECT_THAT(what, testing::Not(HasSubstr("aax")));
}

TEST(Secret, FileMustBelongToItsOwnerAlone) {
  const std::string path = testing::TempDir() + "weft_secret_test";
  const Secret secret = *Secret::fresh();
  std::ofstream(path) << secret.hex() << "\n";
  chmod(path.c_str(), 0644);
  EXPECT_THAT(Secret::from_file(path).error().text(), HasSubstr("chmod 600"));
  chmod(path.c_str(), 0600);
  const auto read = Secret::from_file(path);
  std::remove(path.c_str());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, secret);
  EXPECT_EQ(Secret::from_file(path).error().kind, ErrorKind::kNotFound);
}

TEST(Prove, DependsOnSecretLabelPartsAndTheirBorders) {
  const Secret secret = *Secret::fresh(), other = *Secret::fresh();
  const Proof proof = prove_texts(secret, "x", {"ab", "c"});
  EXPECT_TRUE(same_proof(proof, prove_texts(secret, "x", {"ab", "c"})));
  EXPECT_FALSE(same_proof(proof, prove_texts(other, "x", {"ab", "c"})));
  EXPECT_FALSE(same_proof(proof, prove_texts(secret, "y", {"ab", "c"})));
  EXPECT_FALSE(same_proof(proof, prove_texts(secret, "x", {"a", "bc"})));
  EXPECT_FALSE(same_proof(proof, prove_texts(secret, "x", {"abc"})));
}

// Computed with Python's hmac module over the same bytes: a change of it would part old from new.
TEST(Prove, IsHmacSha256OverLengthsAndBytes) {
  Secret secret;
  for (std::size_t i = 0; i < secret.key.size(); ++i) secret.key[i] = static_cast<uint8_t>(i);
  std::string hex;
  for (const std::uint8_t byte : prove_texts(secret, "weft", {"one", ""})) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  EXPECT_EQ(hex, "280cb76b0d70610c670f87cee47af402b227bca8cc4f3db238c2186fb6543426");
}

}  // namespace
}  // namespace weft::runtime

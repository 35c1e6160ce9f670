#include "live/daemon/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"

namespace weft::live {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/weft-tokens-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Tokens, ASecretIsKnownUntilItIsRevokedOrExpires) {
  Folder folder;
  const std::string file = path_in(folder.path, "tokens");
  Tokens tokens;
  ASSERT_TRUE(tokens.open(file).ok());
  const auto ever = tokens.create({7, 8, "ann", Role::kOperator}, 100, 0);
  const auto short_lived = tokens.create({9, 9, "bob", Role::kUser}, 100, 200);
  ASSERT_TRUE(ever.ok() && short_lived.ok());
  EXPECT_NE(ever->secret, short_lived->secret);

  Tokens again;
  ASSERT_TRUE(again.open(file).ok());
  for (Tokens* each : {&tokens, &again}) {
    const auto caller = each->find(ever->secret, 1e9);
    ASSERT_TRUE(caller.has_value());
    EXPECT_EQ(caller->user, "ann");
    EXPECT_EQ(caller->uid, 7u);
    EXPECT_EQ(caller->role, Role::kOperator);
    EXPECT_TRUE(caller->by_token);
    EXPECT_TRUE(each->find(short_lived->secret, 199).has_value());
    EXPECT_FALSE(each->find(short_lived->secret, 200).has_value());
  }
  EXPECT_TRUE(*again.revoke(ever->token.id));
  EXPECT_FALSE(*again.revoke(ever->token.id));
  EXPECT_FALSE(again.find(ever->secret, 101).has_value());
}

TEST(Tokens, WhoReadsTheStoreLearnsNoSecret) {
  Folder folder;
  const std::string file = path_in(folder.path, "tokens");
  Tokens tokens;
  ASSERT_TRUE(tokens.open(file).ok());
  const auto made = tokens.create({7, 8, "ann", Role::kAdmin}, 100, 0);
  ASSERT_TRUE(made.ok());
  const std::string text = *read_file(file, 1 << 20);
  EXPECT_EQ(text.find(made->secret), std::string::npos);
  EXPECT_EQ(text.find(made->secret.substr(18)), std::string::npos);
  struct stat info = {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

TEST(Tokens, NothingNearASecretIsOne) {
  Folder folder;
  Tokens tokens;
  ASSERT_TRUE(tokens.open(path_in(folder.path, "tokens")).ok());
  const auto made = tokens.create({7, 8, "ann", Role::kAdmin}, 100, 0);
  ASSERT_TRUE(made.ok());
  const std::string& secret = made->secret;
  EXPECT_FALSE(tokens.find("", 101).has_value());
  EXPECT_FALSE(tokens.find(secret.substr(1), 101).has_value());
  EXPECT_FALSE(tokens.find(secret + "0", 101).has_value());
  EXPECT_FALSE(tokens.find(made->token.digest, 101).has_value());
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string forged = secret;
    forged[i] = forged[i] == '0' ? '1' : '0';
    EXPECT_FALSE(tokens.find(forged, 101).has_value()) << forged;
  }
}

TEST(Tokens, ADamagedFileIsRefused) {
  Folder folder;
  const std::string file = path_in(folder.path, "tokens");
  for (const char* text : {"", "{}", "[3]", "[{\"id\": \"a\"}]", "[{"}) {
    ASSERT_TRUE(write_file_atomically(file, text).ok());
    Tokens tokens;
    EXPECT_FALSE(tokens.open(file).ok()) << text;
  }
}

}  // namespace
}  // namespace weft::live

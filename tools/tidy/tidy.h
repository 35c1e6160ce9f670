// The style of the project as a test: sizes with a ratchet, words banned outside the rooms that may
// use them, and the few habits of layout that clang-format does not see.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tidy {

constexpr int kMaxFileLines = 400;
constexpr int kMaxFunctionLines = 60;
constexpr int kMaxColumns = 100;
constexpr int kMinReadmeLines = 3;

struct Finding {
  std::string path;  // relative to the root
  int line;
  std::string message;
};

// Judges the sources below `root` by root/tools/tidy/rules.txt and root/tools/tidy/ratchet.txt.
// Ensures: findings in order of path and line; none means that the style holds.
std::vector<Finding> check(const std::filesystem::path& root);

}  // namespace tidy

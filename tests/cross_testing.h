// What the tests that cross rooms share: data files, a scratch folder, and the built program.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weft {

inline std::string fixture(const std::string& name) {
  return std::string(WEFT_FIXTURES) + "/" + name;
}
inline std::string example_file(const std::string& name) {
  return std::string(WEFT_EXAMPLES) + "/" + name;
}
inline std::string shared_jobs(const std::string& name) {
  return std::string(WEFT_SHARED_DATA) + "/jobs/" + name;
}
#define SKIP_WITHOUT_FILE(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not here; see docs/data.md"

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder of its own for one test, removed afterwards.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    root_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string root_;
};

struct CommandResult {
  int code = -1;
  std::string out, err;
};

// Runs the built `weft` with these words.
inline CommandResult run_weft(const Scratch& scratch, const std::string& words) {
  const std::string err = scratch.path("stderr.txt");
  const std::string line = std::string(WEFT_BINARY) + " " + words + " 2>" + err + " </dev/null";
  CommandResult result;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.err = slurp(err);
  return result;
}

}  // namespace weft

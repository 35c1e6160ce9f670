// What ranks write, passed on as whole lines with the rank before each. Ranks write to files, so
// that they outlive the launcher and never wait for a slow terminal; the launcher reads the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::runtime {

// A longer line is passed on in pieces of this size.
inline constexpr std::size_t kMostLineBytes = 16 << 10;

// Cuts a stream of bytes into lines. Memory: at most kMostLineBytes.
class LinePrefixer {
 public:
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}
  // Appends to `out` the lines that `bytes` complete, each with the prefix before it.
  void feed(std::string_view bytes, std::string& out);
  // Appends what is left of a line that never ended.
  void finish(std::string& out);

 private:
  void emit(std::string& out);
  std::string prefix_, line_;
};

// Follows a file that grows.
class FileFollower {
 public:
  // Begins at `offset`. The file is opened when first read.
  FileFollower(std::string path, std::int64_t offset, std::string prefix);
  ~FileFollower();
  FileFollower(FileFollower&& other) noexcept;
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  // Reads at most `limit_bytes` that are new and appends whole lines to `out`; false when there was
  // nothing.
  bool read_some(std::size_t limit_bytes, std::string& out);
  void finish(std::string& out) { prefixer_.finish(out); }
  const std::string& path() const { return path_; }
  // Where this process began to write.
  std::int64_t begin() const { return begin_; }

 private:
  std::string path_;
  std::int64_t begin_ = 0, at_ = 0;
  int fd_ = -1;
  LinePrefixer prefixer_;
};

// The last `count` lines of a file after byte `begin`; of more than 64 KiB only the end is looked
// at. Control characters other than tab become '?', so that a log cannot command the terminal.
std::vector<std::string> last_lines(const std::string& path, std::int64_t begin, std::size_t count);

}  // namespace weft::runtime

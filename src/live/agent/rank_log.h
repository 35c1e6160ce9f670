// What a rank writes, in a file of bounded size: when it is half of what may be kept it becomes
// NAME.1, and a new one begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

class RankLog {
 public:
  // Appends to `folder`/rank-RANK.log. The folder is made when it is missing, for the user. As root
  // files are opened with the user's rights, unless the folder is root's alone, so that no link in
  // it leads elsewhere. Requires: keep_bytes > 0; uid and gid -1: ours.
  static Result<RankLog> open(const std::string& folder, int rank, Bytes keep_bytes,
                              std::int64_t uid, std::int64_t gid);
  ~RankLog();
  RankLog(RankLog&& other) noexcept;
  RankLog& operator=(RankLog&&) = delete;

  // What a full disk refuses is dropped and counted; a line says so when there is room again.
  void write(std::string_view bytes);

 private:
  RankLog() = default;
  int open_file() const;
  void rotate();
  bool append(std::string_view bytes);

  std::string path_;
  Bytes most_ = 0, size_ = 0, dropped_ = 0;
  std::int64_t uid_ = -1, gid_ = -1;  // with whose rights files are opened
  int descriptor_ = -1;
};

}  // namespace weft::live

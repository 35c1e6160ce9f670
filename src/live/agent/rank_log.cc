#include "live/agent/rank_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files.h"

namespace weft::live {
namespace {

// Opens and renames files as another user while it lives.
class AsUser {
 public:
  AsUser(std::int64_t uid, std::int64_t gid) : changed_(uid >= 0) {
    if (!changed_) return;
    group_ = static_cast<gid_t>(setfsgid(static_cast<gid_t>(gid < 0 ? uid : gid)));
    user_ = static_cast<uid_t>(setfsuid(static_cast<uid_t>(uid)));
  }
  ~AsUser() {
    if (!changed_) return;
    setfsuid(user_);
    setfsgid(group_);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  bool changed_;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

Error log_error(const std::string& what, const std::string& path) {
  return {ErrorKind::kIo, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)), ""};
}

}  // namespace

Result<RankLog> RankLog::open(const std::string& folder, int rank, Bytes keep_bytes,
                              std::int64_t uid, std::int64_t gid) {
  RankLog log;
  log.path_ = fmt::format("{}/rank-{}.log", folder, rank);
  log.most_ = std::max<Bytes>(keep_bytes / 2, 1);
  const bool other = geteuid() == 0 && uid > 0;
  if (!is_folder(folder)) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error && !is_folder(folder)) return log_error("make the folder", folder);
    chmod(folder.c_str(), 0755);
    if (other && lchown(folder.c_str(), static_cast<uid_t>(uid),
                        static_cast<gid_t>(gid < 0 ? uid : gid)) != 0) {
      return log_error("give to its user", folder);
    }
  }
  struct stat facts = {};
  if (stat(folder.c_str(), &facts) != 0) return log_error("examine", folder);
  const bool roots_alone = facts.st_uid == 0 && (facts.st_mode & 022) == 0;
  if (other && !roots_alone) {
    log.uid_ = uid;
    log.gid_ = gid;
  }
  log.descriptor_ = log.open_file();
  if (log.descriptor_ < 0) return log_error("open", log.path_);
  if (fstat(log.descriptor_, &facts) == 0) log.size_ = facts.st_size;
  return log;
}

int RankLog::open_file() const {
  const AsUser user(uid_, gid_);
  return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                0644);
}

RankLog::~RankLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

RankLog::RankLog(RankLog&& other) noexcept
    : path_(std::move(other.path_)),
      most_(other.most_),
      size_(other.size_),
      dropped_(other.dropped_),
      uid_(other.uid_),
      gid_(other.gid_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

void RankLog::rotate() {
  const AsUser user(uid_, gid_);
  if (rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return;
  const int next = open_file();
  if (next < 0) return;
  close(std::exchange(descriptor_, next));
  size_ = 0;
}

bool RankLog::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      dropped_ += static_cast<Bytes>(bytes.size());
      return false;
    }
    size_ += put;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void RankLog::write(std::string_view bytes) {
  if (size_ >= most_) rotate();
  if (dropped_ > 0) {
    const Bytes lost = std::exchange(dropped_, 0);
    if (!append(fmt::format("[weft: {} bytes could not be written here]\n", lost))) {
      dropped_ = lost + static_cast<Bytes>(bytes.size());
      return;
    }
  }
  append(bytes);
}

}  // namespace weft::live

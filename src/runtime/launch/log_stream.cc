#include "runtime/launch/log_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weft::runtime {
namespace {

// pread that goes on after a signal; 0 also when the file cannot be read.
std::size_t read_at(int fd, char* into, std::size_t bytes, std::int64_t at) {
  ssize_t got = 0;
  do {
    got = pread(fd, into, bytes, at);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace

void LinePrefixer::emit(std::string& out) {
  out += prefix_;
  out += line_;
  out += '\n';
  line_.clear();
}

void LinePrefixer::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const std::size_t room = kMostLineBytes - line_.size();
    const std::size_t end = bytes.find('\n');
    if (end != std::string_view::npos && end <= room) {
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      emit(out);
      continue;
    }
    const std::size_t taken = std::min(room, bytes.size());
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (line_.size() == kMostLineBytes && !bytes.empty()) emit(out);
  }
}

void LinePrefixer::finish(std::string& out) {
  if (!line_.empty()) emit(out);
}

FileFollower::FileFollower(std::string path, std::int64_t offset, std::string prefix)
    : path_(std::move(path)), begin_(offset), at_(offset), prefixer_(std::move(prefix)) {}

FileFollower::FileFollower(FileFollower&& other) noexcept
    : path_(std::move(other.path_)),
      begin_(other.begin_),
      at_(other.at_),
      fd_(std::exchange(other.fd_, -1)),
      prefixer_(std::move(other.prefixer_)) {}

FileFollower::~FileFollower() {
  if (fd_ >= 0) close(fd_);
}

bool FileFollower::read_some(std::size_t limit_bytes, std::string& out) {
  if (fd_ < 0) fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return false;
  char buffer[16 << 10];
  const std::size_t got = read_at(fd_, buffer, std::min(limit_bytes, sizeof buffer), at_);
  at_ += static_cast<std::int64_t>(got);
  prefixer_.feed({buffer, got}, out);
  return got > 0;
}

std::vector<std::string> last_lines(const std::string& path, std::int64_t begin,
                                    std::size_t count) {
  constexpr std::int64_t kLookedAt = 64 << 10;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat facts = {};
  std::string text;
  bool cut = false;
  if (fstat(fd, &facts) == 0 && facts.st_size > begin) {
    const std::int64_t from = std::max<std::int64_t>(begin, facts.st_size - kLookedAt);
    cut = from > begin;
    text.resize(static_cast<std::size_t>(facts.st_size - from));
    text.resize(read_at(fd, text.data(), text.size(), from));
  }
  close(fd);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (cut && lines.size() > 1) lines.erase(lines.begin());  // the middle of a line
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace weft::runtime

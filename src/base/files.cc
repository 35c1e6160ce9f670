#include "base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace weft {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Error system_error(const std::string& what, const std::string& path, int code) {
  const ErrorKind kind = code == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
  return Error{kind, fmt::format("{}: cannot {}: {}", path, what, std::strerror(code)), ""};
}

Error too_large(const std::string& path, std::uint64_t bytes, std::uint64_t limit) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{}: is {} bytes or more; the limit is {} bytes", path, bytes, limit),
               "split the file, or give the part of it that is needed"};
}

// Ensures: `into` grows by what was read; at most `limit` + 1 bytes in all.
Status read_all(int fd, const std::string& path, std::uint64_t limit, std::string& into) {
  constexpr std::size_t kChunk = 1 << 20;
  std::size_t filled = 0;
  while (true) {
    if (filled == into.size()) into.resize(filled + kChunk);
    const ssize_t got = ::read(fd, into.data() + filled, into.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > limit) return too_large(path, filled, limit);
  }
  into.resize(filled);
  return {};
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Status write_through(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error("open", path, errno);
  return write_all(file.get(), path, content);
}

// Creates a file of a new name beside `path` and puts that name in `name`; -1 with errno set if
// not.
int create_beside(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.{}-{}.tmp", path, ::getpid(), attempt);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Where a chain of symbolic links ends, so that a rename replaces the file and not the link.
std::string resolved(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string result = real;
  std::free(real);
  return result;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::uint64_t limit_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error("open", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error("examine", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return Error{ErrorKind::kInvalidInput, path + ": is a folder; a file is needed", ""};
  }
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) {
    return Error{ErrorKind::kInvalidInput, path + ": is a device; a file or a pipe is needed", ""};
  }
  const std::uint64_t size = static_cast<std::uint64_t>(info.st_size);
  if (S_ISREG(info.st_mode) && size > limit_bytes) return too_large(path, size, limit_bytes);
  try {
    std::string content;
    // One byte more, so that the end of the file is seen without growing.
    if (S_ISREG(info.st_mode)) content.resize(size + 1);
    if (Status read = read_all(file.get(), path, limit_bytes, content); !read.ok()) {
      return read.error();
    }
    return content;
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kIo, fmt::format("{}: {} bytes do not fit in memory", path, size), ""};
  }
}

Status write_file_atomically(const std::string& path, std::string_view content) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return Error{ErrorKind::kInvalidInput, path + ": is a folder; a file name is needed", ""};
  }
  if (exists && !S_ISREG(info.st_mode)) return write_through(path, content);

  const std::string target = exists ? resolved(path) : path;
  std::string temporary;
  Descriptor file(create_beside(target, temporary));
  if (file.get() < 0) return system_error("create a file beside", path, errno);
  Status status = write_all(file.get(), path, content);
  if (status.ok() && exists && ::fchmod(file.get(), info.st_mode & 07777) != 0) {
    status = system_error("keep the mode of", path, errno);
  }
  // Some file systems report a full disk only here.
  if (status.ok() && ::fsync(file.get()) != 0) status = system_error("write", path, errno);
  if (!file.close() && status.ok()) status = system_error("write", path, errno);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = system_error("rename a file to", path, errno);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Status sync_folder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return system_error("open", path, errno);
  if (::fsync(folder.get()) != 0) return system_error("sync", path, errno);
  return {};
}

Status write_file_durably(const std::string& path, std::string_view content) {
  const Status written = write_file_atomically(path, content);
  return written.ok() ? sync_folder(folder_of(path)) : written;
}

Status check_writable(const std::string& path) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return Error{ErrorKind::kInvalidInput, path + ": is a folder; a file name is needed", ""};
  }
  if (exists && !S_ISREG(info.st_mode)) return {};
  std::string temporary;
  Descriptor file(create_beside(exists ? resolved(path) : path, temporary));
  if (file.get() < 0) return system_error("create a file beside", path, errno);
  ::unlink(temporary.c_str());
  return {};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string path_in(const std::string& folder, const std::string& name) {
  if (!name.empty() && name.front() == '/') return name;
  if (folder.empty() || folder == ".") return name;
  return folder.back() == '/' ? folder + name : folder + "/" + name;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

}  // namespace weft

#include "runtime/launch/run_folder.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace weft::runtime {
namespace {

Error cannot(const std::string& what, int number) {
  return {ErrorKind::kIo, fmt::format("{}: {}", what, strerror(number)), ""};
}

Status write_private(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(path + " cannot be made", errno);
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int number = errno;
  close(fd);
  return whole ? Status() : cannot(path + " cannot be written", number);
}

}  // namespace

Result<RunFolder> RunFolder::make(const Secret& secret) {
  const char* where = getenv("TMPDIR");
  std::string pattern =
      fmt::format("{}/weft-launch-XXXXXX", where != nullptr && *where != '\0' ? where : "/tmp");
  if (mkdtemp(pattern.data()) == nullptr) return cannot(pattern + " cannot be made", errno);
  RunFolder folder(pattern);
  if (Status wrote = write_private(folder.secret_path(), secret.hex() + "\n"); !wrote.ok()) {
    return wrote.error();
  }
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")), keep_(other.keep_) {}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(secret_path(), ignored);
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> fresh_uuid() {
  Result<Nonce> nonce = fresh_nonce();
  if (!nonce.ok()) return nonce.error();
  Nonce& b = *nonce;
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
  }
  return text;
}

Result<int> free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return cannot("no socket can be made", errno);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int number = errno;
  close(fd);
  if (!bound) return cannot("no free port is found", number);
  return ntohs(address.sin_port);
}

}  // namespace weft::runtime

// Images of the controller beside the journal, and what may be forgotten because of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "base/archive.h"
#include "base/files.h"
#include "live/store/checksum.h"
#include "live/store/journal.h"

namespace weft::live {
namespace {

constexpr std::uint64_t kMostImageBytes = std::uint64_t{4} << 30;
constexpr std::size_t kImagesKept = 2;
const std::string kPrefix = "image-";

// Numbers of the images in the folder, newest first.
std::vector<std::uint64_t> images_in(const std::string& folder) {
  std::vector<std::uint64_t> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename();
    const std::string digits = name.substr(std::min(name.size(), kPrefix.size()));
    if (!name.starts_with(kPrefix) || digits.empty() || digits.size() > 18) continue;
    if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    found.push_back(std::strtoull(digits.c_str(), nullptr, 10));
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

std::string image_path(const std::string& folder, std::uint64_t seq) {
  return path_in(folder, kPrefix + std::to_string(seq));
}

// So that a rename survives the machine.
void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

Status write_durably(const std::string& path, const std::string& bytes) {
  const auto failed = [&](const char* what) {
    return Error{ErrorKind::kIo, fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)),
                 ""};
  };
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed("make it");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const Error error = failed("write it");
      ::close(descriptor);
      ::unlink(path.c_str());
      return error;
    }
    done += static_cast<std::size_t>(n);
  }
  const bool synced = ::fsync(descriptor) == 0;
  if (::close(descriptor) != 0 || !synced) return failed("sync it");
  return {};
}

}  // namespace

std::optional<KeptImage> DurableJournal::newest_image() {
  for (const std::uint64_t seq : images_in(folder_)) {
    const auto content = read_file(image_path(folder_, seq), kMostImageBytes);
    if (!content.ok()) continue;
    KeptImage image;
    std::uint32_t sum = 0;
    ArchiveReader reader(*content);
    reader(image.seq, sum, image.bytes);
    if (reader.at_end() && image.seq == seq && sum == checksum(image.bytes) && seq <= last_seq()) {
      return image;
    }
  }
  return std::nullopt;
}

Status DurableJournal::keep_image(std::uint64_t seq, const std::string& bytes) {
  ArchiveWriter writer;
  writer(seq, checksum(bytes), bytes);
  const std::string path = image_path(folder_, seq), part = path + ".part";
  const Status written = write_durably(part, writer.take());
  if (!written.ok()) return written;
  std::error_code failed;
  std::filesystem::rename(part, path, failed);
  if (failed) {
    return Error{ErrorKind::kIo, fmt::format("{}: {}", path, failed.message()), ""};
  }
  sync_folder(folder_);
  const std::vector<std::uint64_t> all = images_in(folder_);
  for (std::size_t i = kImagesKept; i < all.size(); ++i) {
    std::filesystem::remove(image_path(folder_, all[i]), failed);
  }
  return {};
}

Status DurableJournal::trim(Seconds age_s) {
  const std::vector<std::uint64_t> images = images_in(folder_);
  if (images.size() < kImagesKept) return {};
  auto database = Database::open(path_in(folder_, "journal.db"), Database::Mode::kReadWrite);
  if (!database.ok()) return database.error();
  Statement forget(**database, "DELETE FROM records WHERE seq <= ? AND wall < ?");
  forget.bind(1, static_cast<std::int64_t>(images.back()));
  forget.bind(2, static_cast<std::int64_t>(std::time(nullptr)) - static_cast<std::int64_t>(age_s));
  forget.step();
  if (forget.failed()) return (*database)->error("forget old records");
  return {};
}

}  // namespace weft::live

// Images of the controller beside the journal, and what may be forgotten because of them.

#include <algorithm>
#include <cstdlib>
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
  const Status written = write_file_durably(image_path(folder_, seq), writer.take());
  if (!written.ok()) return written;
  const std::vector<std::uint64_t> all = images_in(folder_);
  for (std::size_t i = kImagesKept; i < all.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(image_path(folder_, all[i]), ignored);
  }
  return {};
}

Status DurableJournal::trim(Seconds age_s) {
  if (age_s == kNever) return {};
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

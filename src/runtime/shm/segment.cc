#include "runtime/shm/segment.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kSegmentMagic = 0x3130677465667477;  // "wtfetg01" as bytes
constexpr std::uint32_t kSegmentVersion = 1;

Error io_error(const std::string& what) {
  return {ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

Result<void*> map(int descriptor, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return io_error("cannot map shared memory");
  return memory;
}

bool digits(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> path_parts(const std::string& where) {
  std::vector<std::string> parts(1);
  for (const char c : where) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

}  // namespace

Result<SharedPages> SharedPages::create(std::size_t bytes) {
  const int descriptor = memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return io_error("cannot make shared memory");
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    const Error error = io_error("cannot size shared memory");
    close(descriptor);
    return error;
  }
  const auto memory = map(descriptor, bytes);
  if (!memory.ok()) {
    close(descriptor);
    return memory.error();
  }
  return SharedPages(descriptor, *memory, bytes);
}

Result<SharedPages> SharedPages::open(const std::string& pid, const std::string& number,
                                      std::size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, number);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return io_error(fmt::format("cannot open shared memory {}", path));
  // Memory that could shrink would end us when we read it, so it must be sealed.
  struct stat status {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (fstat(descriptor, &status) != 0 || status.st_size != static_cast<off_t>(bytes) || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    close(descriptor);
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} is not shared memory of ours: {} bytes, expected {} that cannot "
                             "shrink",
                             path, status.st_size, bytes),
                 "do all ranks run the same version?"};
  }
  const auto memory = map(descriptor, bytes);
  if (!memory.ok()) {
    close(descriptor);
    return memory.error();
  }
  return SharedPages(descriptor, *memory, bytes);
}

SharedPages::SharedPages(SharedPages&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_) {}

SharedPages& SharedPages::operator=(SharedPages&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedPages::~SharedPages() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

Result<SharedBell> SharedBell::create() {
  auto pages = SharedPages::create(sizeof(DoorbellWord));
  if (!pages.ok()) return pages.error();
  return SharedBell(std::move(*pages));
}

Result<Segment> Segment::create(MemberId member, const SharedBell& bell) {
  auto pages = SharedPages::create(sizeof(SegmentMap));
  if (!pages.ok()) return pages.error();
  const std::string pid = std::to_string(getpid());
  auto own_bell = SharedPages::open(pid, std::to_string(bell.descriptor()), sizeof(DoorbellWord));
  if (!own_bell.ok()) return own_bell.error();
  // All zero, which is the first state of every part but the turns.
  auto* map = static_cast<SegmentMap*>(pages->memory());
  for (Ring& ring : map->rings) {
    for (std::uint32_t i = 0; i < kRingEntries; ++i) ring.entries[i].turn.store(i);
  }
  map->member = member;
  map->version = kSegmentVersion;
  map->magic = kSegmentMagic;
  std::string where = fmt::format("{}/{}/{}", pid, pages->descriptor(), bell.descriptor());
  return Segment(std::move(*pages), SharedBell(std::move(*own_bell)), std::move(where));
}

Result<Segment> Segment::open(const std::string& where, MemberId member) {
  const std::vector<std::string> parts = path_parts(where);
  // Digits only, since they become part of a path.
  if (parts.size() != 3 || !std::all_of(parts.begin(), parts.end(), digits)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("'{}' is not the place of a segment; it must be PID/FD/FD", where),
                 ""};
  }
  auto pages = SharedPages::open(parts[0], parts[1], sizeof(SegmentMap));
  if (!pages.ok()) return pages.error();
  auto bell = SharedPages::open(parts[0], parts[2], sizeof(DoorbellWord));
  if (!bell.ok()) return bell.error();
  const auto* map = static_cast<const SegmentMap*>(pages->memory());
  if (map->magic != kSegmentMagic || map->version != kSegmentVersion || map->member != member) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} is not the segment of member {}, version {}", where, member,
                             kSegmentVersion),
                 "do all ranks run the same version?"};
  }
  return Segment(std::move(*pages), SharedBell(std::move(*bell)), where);
}

}  // namespace weft::runtime

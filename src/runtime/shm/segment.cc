#include "runtime/shm/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kMagic = 0x3130677465667477;  // "wtfetg01" as bytes
constexpr std::uint32_t kVersion = 1;

Error io_error(const std::string& what) {
  return {ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

Result<SegmentMap*> map(int descriptor) {
  void* memory =
      mmap(nullptr, sizeof(SegmentMap), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return io_error("cannot map shared memory");
  return static_cast<SegmentMap*>(memory);
}

}  // namespace

Result<Segment> Segment::create(MemberId member) {
  const int descriptor = memfd_create("weft-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return io_error("cannot make shared memory");
  if (ftruncate(descriptor, sizeof(SegmentMap)) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    const Error error = io_error("cannot size shared memory");
    close(descriptor);
    return error;
  }
  auto mapped = map(descriptor);
  if (!mapped.ok()) {
    close(descriptor);
    return mapped.error();
  }
  SegmentMap* segment = *mapped;  // all zero, the first state of every part but the turns
  for (Ring& ring : segment->rings) {
    for (std::uint32_t i = 0; i < kRingEntries; ++i) ring.entries[i].turn.store(i);
  }
  segment->member = member;
  segment->version = kVersion;
  segment->magic = kMagic;
  return Segment(descriptor, segment);
}

Result<Segment> Segment::open(const std::string& where, MemberId member) {
  // Only digits and one slash, since it becomes part of a path.
  const std::size_t slash = where.find('/');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (slash == std::string::npos || !digits(where.substr(0, slash)) ||
      !digits(where.substr(slash + 1))) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("'{}' is not the place of a segment; it must be PID/FD", where), ""};
  }
  const std::string path =
      fmt::format("/proc/{}/fd/{}", where.substr(0, slash), where.substr(slash + 1));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return io_error(fmt::format("cannot open the segment {}", path));
  // A segment that could shrink would end us when we read it, so it must be sealed.
  struct stat status {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (fstat(descriptor, &status) != 0 || status.st_size != sizeof(SegmentMap) || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    close(descriptor);
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} is not a segment: {} bytes, expected {} that cannot shrink", path,
                             status.st_size, sizeof(SegmentMap)),
                 "do all ranks run the same version?"};
  }
  auto mapped = map(descriptor);
  if (!mapped.ok()) {
    close(descriptor);
    return mapped.error();
  }
  Segment segment(descriptor, *mapped);
  if (segment->magic != kMagic || segment->version != kVersion || segment->member != member) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} is not the segment of member {}, version {}", path, member,
                             kVersion),
                 "do all ranks run the same version?"};
  }
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), map_(std::exchange(other.map_, nullptr)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(map_, other.map_);
  return *this;
}

Segment::~Segment() {
  if (map_ != nullptr) munmap(map_, sizeof(SegmentMap));
  if (descriptor_ >= 0) close(descriptor_);
}

std::string Segment::where() const { return fmt::format("{}/{}", getpid(), descriptor_); }

}  // namespace weft::runtime

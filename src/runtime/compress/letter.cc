#include "runtime/compress/letter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace weft::runtime {
namespace {

constexpr std::size_t kHead = sizeof(std::uint64_t);
constexpr std::size_t kLeastSentence = 160;
constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;

}  // namespace

std::size_t letter_room(std::size_t bytes) { return kHead + std::max(bytes, kLeastSentence); }

std::size_t write_letter(std::span<std::byte> room,
                         const std::function<Result<std::size_t>(std::span<std::byte>)>& encode) {
  const auto body = room.subspan(kHead);
  const Result<std::size_t> written = encode(body);
  std::uint64_t head = 0, used = 0;
  if (written.ok()) {
    CHECK(*written <= body.size());
    head = used = *written;
  } else {
    const std::string& why = written.error().what;
    used = std::min(why.size(), body.size());
    std::memcpy(body.data(), why.data(), used);
    head = used | kFailed;
  }
  std::memcpy(room.data(), &head, kHead);
  return kHead + used;
}

Result<std::span<const std::byte>> read_letter(std::span<const std::byte> letter) {
  std::uint64_t head = 0;
  if (letter.size() < kHead) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("a letter of {} bytes lacks its length", letter.size()), ""};
  }
  std::memcpy(&head, letter.data(), kHead);
  const std::uint64_t length = head & ~kFailed;
  if (length > letter.size() - kHead) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("a letter claims {} bytes but has {}", length, letter.size() - kHead),
                 ""};
  }
  const auto body = letter.subspan(kHead, length);
  if ((head & kFailed) == 0) return body;
  return Error{ErrorKind::kInvalidInput,
               std::string(reinterpret_cast<const char*>(body.data()), body.size()), ""};
}

}  // namespace weft::runtime

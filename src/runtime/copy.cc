#include "runtime/copy.h"

#include <cstdint>
#include <cstring>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/copy.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::runtime {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Bytes = hn::ScalableTag<std::uint8_t>;

void copy_to_two(std::uint8_t* target1, std::uint8_t* target2, const std::uint8_t* source,
                 std::size_t bytes) {
  const Bytes d;
  const std::size_t run = hn::Lanes(d);
  std::size_t at = 0;
  for (; at + 2 * run <= bytes; at += 2 * run) {
    const auto first = hn::LoadU(d, source + at), second = hn::LoadU(d, source + at + run);
    hn::StoreU(first, d, target1 + at);
    hn::StoreU(second, d, target1 + at + run);
    hn::StoreU(first, d, target2 + at);
    hn::StoreU(second, d, target2 + at + run);
  }
  if (at == bytes) return;
  std::memcpy(target1 + at, source + at, bytes - at);
  std::memcpy(target2 + at, source + at, bytes - at);
}

// Requires: at least kLine bytes.
void copy_around_caches(std::uint8_t* target, const std::uint8_t* source, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const Bytes d;
  const std::size_t run = hn::Lanes(d);
  std::size_t at = -reinterpret_cast<std::uintptr_t>(target) % kLine;
  std::memcpy(target, source, at);
  for (; at + kLine <= bytes; at += kLine) {
    for (std::size_t in = 0; in < kLine; in += run) {
      hn::Stream(hn::LoadU(d, source + at + in), d, target + at + in);
    }
  }
  hwy::FlushStream();
  std::memcpy(target + at, source + at, bytes - at);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::runtime {
namespace {

HWY_EXPORT(copy_to_two);
HWY_EXPORT(copy_around_caches);

std::uint8_t* raw(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }
const std::uint8_t* raw(const std::byte* at) { return reinterpret_cast<const std::uint8_t*>(at); }

}  // namespace

void copy_twice(std::byte* target1, std::byte* target2, const std::byte* source,
                std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(copy_to_two)(raw(target1), raw(target2), raw(source), bytes);
}

void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes, bool streaming) {
  constexpr std::size_t kLeastStreamed = 1 << 10;
  if (streaming && bytes >= kLeastStreamed) {
    HWY_DYNAMIC_DISPATCH(copy_around_caches)(raw(target), raw(source), bytes);
  } else if (bytes > 0) {
    std::memcpy(target, source, bytes);
  }
}

}  // namespace weft::runtime
#endif

#include "runtime/shm/store_choice.h"

#include <algorithm>
#include <bit>

namespace weft::runtime {

std::size_t StoreChoice::class_of(std::size_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / kLeast)) - 1,
                               kClasses - 1);
}

float StoreChoice::Times::least() const {
  const std::size_t known = std::min<std::size_t>(count, ns_per_byte.size());
  return *std::min_element(ns_per_byte.begin(),
                           ns_per_byte.begin() + static_cast<std::ptrdiff_t>(known));
}

StoreChoice::Decision StoreChoice::next(std::size_t bytes, bool wish) {
  if (bytes < kLeast) return {};
  if (wish) return {true, false};
  SizeClass& size = classes_[class_of(bytes)];
  const std::uint32_t turn = size.messages++;
  const bool probes = turn % kProbedEach == kProbedEach - 1 || turn == 1;
  return {probes ? !size.around : size.around, probes || turn % kTimedEach == 0};
}

void StoreChoice::tell(std::size_t bytes, bool around, std::int64_t ns) {
  if (bytes < kLeast) return;
  SizeClass& size = classes_[class_of(bytes)];
  Times& times = size.times[around ? 1 : 0];
  times.ns_per_byte[times.count++ % times.ns_per_byte.size()] =
      static_cast<float>(ns) / static_cast<float>(bytes);
  if (size.times[0].count == 0 || size.times[1].count == 0) return;
  size.around = size.times[0].least() > size.times[1].least() + kReadMore;
}

}  // namespace weft::runtime

#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace weft {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

std::vector<float> long_zeros(std::size_t count) {
  std::vector<float> values;
  values.reserve(count);
  if (count * sizeof(float) >= 2 * kHugePage) {
    // Before the first touch, which is what makes a page. Advice only: where it is refused, pages
    // are small.
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(values.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(values.data() + count) / page * page;
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
  }
  values.resize(count, 0.0F);
  return values;
}

}  // namespace weft

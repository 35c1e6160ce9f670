// Long vectors that are read and written from end to end.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

// `count` zeros, in huge pages where the kernel has them to give: a pass over them then looks up an
// address per 2 MiB instead of per 4 KiB. No gain was measurable in `weft bench codec`.
// Cost: one pass.
std::vector<float> long_zeros(std::size_t count);

}  // namespace weft

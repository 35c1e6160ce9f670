// From a composition to the policies of this folder; each has a header of its own.
#pragma once

#include "policy/composition.h"

namespace weft {

Result<std::unique_ptr<Policy>> assemble_fill(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_quota(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_reserve(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_min_share(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_auction(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_market(const Composition& composition);
Result<std::unique_ptr<Policy>> assemble_share(const Composition& composition);

// For allocators that place on one device type at a time: first-fit, best-fit or worst-fit.
Result<PackedPlace> packed_place(const Part& part);

}  // namespace weft

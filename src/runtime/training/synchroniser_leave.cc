#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/training/sync_operation.h"

namespace weft::runtime {

Status Synchroniser::leave() {
  if (failed_) return *failed_;
  const sync::Mode& mode = options_.mode;
  const bool ways = mode.exchange == sync::Exchange::kDeltas && mode.fragments == 1 &&
                    mode.overlap == 0 && !mode.eager && !mode.control && mode.group == 0 &&
                    mode.participation == 1 && mode.outer == sync::OuterRule{};
  // By bits: a NaN that was averaged is agreed on, too.
  if (!ways || std::memcmp(parameters_.data(), agreed().data(), parameters_.size_bytes()) != 0) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("sync mode '{}' cannot be left {}", mode.name,
                             ways ? "between two averages" : "for another"),
                 ""};
  }
  failed_ = Error{ErrorKind::kUnsupported, "the mode was left", "load a state to go on"};
  if (options_.codec->text() == "none") return {};
  std::vector<float> owed(parameters_.size());
  const std::uint32_t first = first_bucket(sync::What::kDeltas, 0);
  for (std::uint32_t k = 0; k * kPiece < owed.size(); ++k) {
    const std::vector<float> residual = reduce_.take_residual(first + k);
    std::copy(residual.begin(), residual.end(),
              owed.begin() + static_cast<std::ptrdiff_t>(k * kPiece));
  }
  CallOptions call;
  call.stream = kSyncStream;
  const Status summed =
      group_->all_reduce(owed.data(), owed.size(), DataType::kFloat32, ReduceOp::kSum, call)
          ->wait();
  if (!summed.ok()) return summed;
  double weight = 0;
  for (const sync::Member& member : members_) weight += member.weight;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    parameters_[i] -= static_cast<float>(owed[i] / weight);
  }
  return {};
}

}  // namespace weft::runtime

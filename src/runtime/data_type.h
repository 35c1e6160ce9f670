// The element types and reductions of the collectives on real ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace weft::runtime {

enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBfloat16,
  kInt32,
  kInt64,
  kUint8,
};
inline constexpr int kDataTypes = 7;

// An average is a sum that is divided by the number of ranks at the end.
enum class ReduceOp : std::uint8_t { kSum, kMin, kMax, kAverage };
inline constexpr int kReduceOps = 4;

std::size_t size_of(DataType type);
std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);
Result<DataType> parse_data_type(std::string_view name);
Result<ReduceOp> parse_reduce_op(std::string_view name);

}  // namespace weft::runtime

// What the elements of a buffer are and how two of them become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace weft::runtime {

// The values travel in messages: they never change, new ones go to the end.
enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBfloat16,
  kInt32,
  kInt64,
  kUint8
};
inline constexpr std::size_t kDataTypes = 7;

// kAverage combines as kSum does; the end result is divided by the number of ranks (scale_down).
enum class ReduceOp : std::uint8_t { kSum, kMin, kMax, kAverage };
inline constexpr std::size_t kReduceOps = 4;

// Bytes of one element.
constexpr std::size_t size_of(DataType type) {
  constexpr std::size_t kSizes[kDataTypes] = {4, 8, 2, 2, 4, 8, 1};
  return kSizes[static_cast<std::size_t>(type)];
}

constexpr bool is_float(DataType type) { return type <= DataType::kBfloat16; }

// The word for people and files, as in "bfloat16" and "average".
std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);

// The inverse of name_of. An unknown word is an error that lists the known ones.
Result<DataType> parse_data_type(std::string_view word);
Result<ReduceOp> parse_reduce_op(std::string_view word);

}  // namespace weft::runtime

// What a rank asked for. Every message of an operation carries it, and ranks compare before a byte
// is reduced: a mismatch is an error on every rank, never a wrong sum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/data_type.h"

namespace weft::runtime {

enum class Operation : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kBarrier,
  kPoint,  // send on one side, receive on the other
};
inline constexpr int kOperations = 8;

// 16 bytes on every wire, in this order, little-endian, without padding.
struct Call {
  Operation operation = Operation::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp reduce = ReduceOp::kSum;
  std::uint8_t variant = 0;  // all-to-all: 1 when the amounts differ by pair, which only pairs know
  std::uint32_t root = 0;    // broadcast and reduce
  // Elements: of the vector (all-reduce, broadcast, reduce) or of the part of one rank (the
  // others).
  std::uint64_t count = 0;

  bool operator==(const Call&) const = default;
};
static_assert(sizeof(Call) == 16);

std::string_view name_of(Operation operation);
// "all-reduce of 1000 float32 (sum)", "broadcast of 10 int64 from rank 2".
std::string describe(const Call& call);

}  // namespace weft::runtime

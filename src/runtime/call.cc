#include "runtime/call.h"

#include <fmt/core.h>

namespace weft::runtime {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "all-reduce";
    case Operation::kReduceScatter:
      return "reduce-scatter";
    case Operation::kAllGather:
      return "all-gather";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduce:
      return "reduce";
    case Operation::kAllToAll:
      return "all-to-all";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kPoint:
      return "send/receive";
  }
  return "an unknown operation";
}

std::string describe(const Call& call) {
  if (call.operation == Operation::kBarrier) return "barrier";
  std::string text =
      fmt::format("{} of {} {}", name_of(call.operation), call.count, name_of(call.type));
  switch (call.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
      return text + fmt::format(" ({})", name_of(call.reduce));
    case Operation::kReduce:
      return text + fmt::format(" ({}) to rank {}", name_of(call.reduce), call.root);
    case Operation::kBroadcast:
      return text + fmt::format(" from rank {}", call.root);
    default:
      return text;
  }
}

}  // namespace weft::runtime

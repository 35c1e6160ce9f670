#include "runtime/data_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft::runtime {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::string_view, kDataTypes> kTypeNames = {
    "float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"};
constexpr std::array<std::string_view, kReduceOps> kOpNames = {"sum", "min", "max", "average"};

template <typename Enum, typename Known>
Result<Enum> parse(std::string_view thing, std::string_view word, const Known& known) {
  const auto found = std::find(known.begin(), known.end(), word);
  if (found != known.end()) return static_cast<Enum>(found - known.begin());
  const std::string close = near_miss(std::string(word), Names(known.begin(), known.end()));
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{} is '{}'; it must be one of {}", thing, word, fmt::join(known, ", ")),
               close.empty() ? "" : fmt::format("did you mean {}?", close)};
}

}  // namespace

std::string_view name_of(DataType type) { return kTypeNames[static_cast<std::size_t>(type)]; }
std::string_view name_of(ReduceOp op) { return kOpNames[static_cast<std::size_t>(op)]; }

Result<DataType> parse_data_type(std::string_view word) {
  return parse<DataType>("the element type", word, kTypeNames);
}

Result<ReduceOp> parse_reduce_op(std::string_view word) {
  return parse<ReduceOp>("the reduction", word, kOpNames);
}

}  // namespace weft::runtime

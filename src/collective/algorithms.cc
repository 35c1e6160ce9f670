#include "collective/algorithms.h"

#include <fmt/format.h>

#include <array>

#include "collective/generators.h"

namespace weft::collective {
namespace {

std::string any(const Request&) { return ""; }

constexpr std::array kAlgorithms = {
    Algorithm{"ring", Operation::kAllReduce, any, ring_all_reduce},
    Algorithm{"ring", Operation::kReduceScatter, any, ring_reduce_scatter},
    Algorithm{"ring", Operation::kAllGather, any, ring_all_gather},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

Result<Schedule> generate(std::string_view name, const Request& request) {
  if (request.ranks < 1 || request.ranks > kMaxEndpoints) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("ranks is {}; it must lie in 1 .. {}", request.ranks, kMaxEndpoints),
                 ""};
  }
  std::vector<std::string> known;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.operation != request.operation) continue;
    known.emplace_back(algorithm.name);
    if (algorithm.name != name) continue;
    const std::string refusal = algorithm.refusal(request);
    if (refusal.empty()) return algorithm.make(request);
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} {}: {}", name, name_of(request.operation), refusal), ""};
  }
  const std::string near = near_miss(std::string(name), known);
  return Error{
      ErrorKind::kNotFound,
      fmt::format("there is no {} algorithm called '{}'", name_of(request.operation), name),
      near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                   : fmt::format("did you mean '{}'?", near)};
}

}  // namespace weft::collective

#include "collective/schedule.h"

#include <fmt/core.h>

#include <array>

#include "base/check.h"

namespace weft::collective {
namespace {

std::int64_t modulo(std::int64_t value, std::int64_t modulus) {
  const std::int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

}  // namespace

int Walk::at(std::int64_t i) const {
  return static_cast<int>(base + stride * modulo(first + i * advance, modulus));
}

int Cells::at(std::int64_t i, int j) const {
  const std::int64_t offset = std::int64_t{j / block} * step + j % block;
  return base + static_cast<int>(modulo(first + i * advance + offset, modulus));
}

std::int64_t cells_in(const Schedule& schedule, int endpoint, Buffer buffer) {
  if (buffer == Buffer::kScratch) {
    return schedule.programs[static_cast<std::size_t>(endpoint)].scratch.count;
  }
  if (endpoint >= schedule.ranks) return 0;
  const bool input = buffer == Buffer::kInput;
  const std::int64_t all = schedule.chunks.count;
  switch (schedule.operation) {
    case Operation::kAllReduce:
      return all;
    case Operation::kReduceScatter:
      return input ? all : all / schedule.ranks;
    case Operation::kAllGather:
      return input ? all / schedule.ranks : all;
    case Operation::kBroadcast:
      return !input || endpoint == schedule.root ? all : 0;
    case Operation::kReduce:
      return input || endpoint == schedule.root ? all : 0;
    case Operation::kAllToAll:
      return schedule.ranks;
    case Operation::kBarrier:
      return 0;
  }
  return 0;
}

std::int64_t chunk_at(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell) {
  CHECK(buffer != Buffer::kScratch);
  const bool input = buffer == Buffer::kInput;
  const std::int64_t each = schedule.chunks.count / schedule.ranks;
  switch (schedule.operation) {
    case Operation::kReduceScatter:
      return input ? cell : endpoint * each + cell;
    case Operation::kAllGather:
      return input ? endpoint * each + cell : cell;
    case Operation::kAllToAll:
      return input ? endpoint * std::int64_t{schedule.ranks} + cell
                   : cell * schedule.ranks + endpoint;
    default:
      return cell;
  }
}

std::uint64_t weight_at(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell) {
  return buffer == Buffer::kScratch
             ? schedule.programs[static_cast<std::size_t>(endpoint)].scratch.at(cell)
             : schedule.chunks.at(chunk_at(schedule, endpoint, buffer, cell));
}

bool sums(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter ||
         operation == Operation::kReduce;
}

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, kOperations> kNames = {
      "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all", "barrier"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string_view name_of(HelperKind kind) {
  return kind == HelperKind::kSwitch ? "switch" : "server";
}

std::string_view name_of(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames = {"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"send", "receive", "receive-reduce", "copy",
                                                      "reduce"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string endpoint_name(const Schedule& schedule, int endpoint) {
  if (endpoint < schedule.ranks) return fmt::format("rank {}", endpoint);
  const int helper = endpoint - schedule.ranks;
  return fmt::format("{} {}", name_of(schedule.helpers[static_cast<std::size_t>(helper)]), helper);
}

}  // namespace weft::collective

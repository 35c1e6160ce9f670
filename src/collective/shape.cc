// Whether a schedule is well formed, before anything of it is executed.
#include <fmt/core.h>

#include <cmath>
#include <string>

#include "collective/verify.h"

namespace weft::collective {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

Error invalid(std::string what) { return {ErrorKind::kInvalidInput, std::move(what), ""}; }

std::string check_weights(const Weights& weights, std::string_view what) {
  if (weights.count < 0 || weights.count > kMaxCells) {
    return fmt::format("{} count is {}; it must lie in 0 .. {}", what, weights.count, kMaxCells);
  }
  if (!weights.list.empty() && static_cast<std::int64_t>(weights.list.size()) != weights.count) {
    return fmt::format("{} has {} weights for {} cells", what, weights.list.size(), weights.count);
  }
  if (weights.each > kMaxWeight) {
    return fmt::format("{} weight is {}; at most {} is allowed", what, weights.each, kMaxWeight);
  }
  for (const std::uint64_t weight : weights.list) {
    if (weight > kMaxWeight) {
      return fmt::format("{} weight is {}; at most {} is allowed", what, weight, kMaxWeight);
    }
  }
  return "";
}

std::string check_walk(const Walk& walk) {
  if (walk.modulus < 1) return fmt::format("peer modulus is {}; it must be above 0", walk.modulus);
  const std::int64_t reach = walk.base + std::int64_t{walk.stride} * (walk.modulus - 1);
  if (std::abs(reach) > kMaxInt) return "peer runs out of the whole numbers";
  return "";
}

std::string check_cells(const Cells& cells, std::string_view which) {
  if (cells.modulus < 1 || cells.block < 1) {
    return fmt::format("{} modulus is {} and block is {}; both must be above 0", which,
                       cells.modulus, cells.block);
  }
  if (cells.count < 0 || cells.count > kMaxCells) {
    return fmt::format("{} count is {}; it must lie in 0 .. {}", which, cells.count, kMaxCells);
  }
  if (std::int64_t{cells.base} + cells.modulus > kMaxInt) {
    return fmt::format("{} runs out of the whole numbers", which);
  }
  return "";
}

std::string check_op(const Op& op) {
  const bool local = op.kind == Kind::kCopy || op.kind == Kind::kReduce;
  if (op.streamed && op.kind != Kind::kSend) {
    return fmt::format("a {} is marked streamed; only sends can be", name_of(op.kind));
  }
  if (!local) {
    if (std::string fault = check_walk(op.peer); !fault.empty()) return fault;
  }
  const bool reads = op.kind != Kind::kReceive;
  const bool writes = op.kind != Kind::kSend;
  if (reads) {
    if (std::string fault = check_cells(op.source, "source"); !fault.empty()) return fault;
  }
  if (writes) {
    if (std::string fault = check_cells(op.target, "target"); !fault.empty()) return fault;
    if (op.target.buffer == Buffer::kInput)
      return "the target is the input, which is never written";
  }
  if (reads && writes && op.source.count != op.target.count) {
    return fmt::format("the source has {} cells and the target {}", op.source.count,
                       op.target.count);
  }
  return "";
}

std::string check_round(const Round& round) {
  if (round.repeat < 0 || round.repeat > kMaxRepeat) {
    return fmt::format("repeat is {}; it must lie in 0 .. {}", round.repeat, kMaxRepeat);
  }
  if (!(std::isfinite(round.density) && round.density > 0 && round.density <= 1)) {
    return fmt::format("density is {}; it must be above 0 and at most 1", round.density);
  }
  for (std::size_t o = 0; o < round.ops.size(); ++o) {
    const std::string fault = check_op(round.ops[o]);
    if (!fault.empty()) return fmt::format("operation {}: {}", o, fault);
  }
  return "";
}

std::string check_counts(const Schedule& s) {
  const std::int64_t endpoints = s.ranks + static_cast<std::int64_t>(s.helpers.size());
  if (s.ranks < 1 || endpoints > kMaxEndpoints) {
    return fmt::format("ranks is {} with {} helpers; there must be 1 to {} endpoints", s.ranks,
                       s.helpers.size(), kMaxEndpoints);
  }
  if (s.root < 0 || s.root >= s.ranks) {
    return fmt::format("root is {}; it must lie in 0 .. {}", s.root, s.ranks - 1);
  }
  if (s.whole < 1) return "whole is 0; it must be above 0";
  if (s.credits < 0) return fmt::format("credits is {}; it must not be negative", s.credits);
  if (std::string fault = check_weights(s.chunks, "chunks"); !fault.empty()) return fault;
  const bool shared =
      s.operation == Operation::kReduceScatter || s.operation == Operation::kAllGather;
  if (shared && s.chunks.count % s.ranks != 0) {
    return fmt::format("chunks count is {}; for {} it must be a multiple of the {} ranks",
                       s.chunks.count, name_of(s.operation), s.ranks);
  }
  if (s.operation == Operation::kAllToAll && s.chunks.count != std::int64_t{s.ranks} * s.ranks) {
    return fmt::format("chunks count is {}; an all-to-all of {} ranks has {}", s.chunks.count,
                       s.ranks, std::int64_t{s.ranks} * s.ranks);
  }
  if (s.operation == Operation::kBarrier && s.chunks.count != 0) {
    return fmt::format("chunks count is {}; a barrier has none", s.chunks.count);
  }
  if (s.operation == Operation::kAllToAll && s.in_place) return "an all-to-all is never in place";
  return "";
}

}  // namespace

Status check_shape(const Schedule& s) {
  if (const std::string fault = check_counts(s); !fault.empty()) return invalid(fault);
  if (s.programs.size() != static_cast<std::size_t>(s.endpoints())) {
    return invalid(
        fmt::format("there are {} programs for {} endpoints", s.programs.size(), s.endpoints()));
  }
  if (s.streams() > kMaxStreams) {
    return invalid(
        fmt::format("there are {} streams; at most {} are allowed", s.streams(), kMaxStreams));
  }
  for (int e = 0; e < s.endpoints(); ++e) {
    const Program& program = s.programs[static_cast<std::size_t>(e)];
    const std::string who = endpoint_name(s, e);
    if (static_cast<int>(program.streams.size()) != s.streams()) {
      return invalid(fmt::format("{} has {} streams, rank 0 has {}", who, program.streams.size(),
                                 s.streams()));
    }
    const std::string fault = check_weights(program.scratch, "scratch");
    if (!fault.empty()) return invalid(fmt::format("{}: {}", who, fault));
    for (std::size_t t = 0; t < program.streams.size(); ++t) {
      for (std::size_t k = 0; k < program.streams[t].size(); ++k) {
        const std::string wrong = check_round(program.streams[t][k]);
        if (wrong.empty()) continue;
        return invalid(fmt::format("{}, stream {}, entry {}: {}", who, t, k, wrong));
      }
    }
  }
  return {};
}

}  // namespace weft::collective

#include "collective/hazards.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace weft::collective {

std::int64_t alias_of(const Schedule& schedule, int endpoint, std::int64_t input_cell) {
  const std::int64_t chunk = chunk_at(schedule, endpoint, Buffer::kInput, input_cell);
  const std::int64_t outputs = cells_in(schedule, endpoint, Buffer::kOutput);
  if (outputs == 0 || schedule.operation == Operation::kAllToAll) return -1;
  const std::int64_t cell = chunk - chunk_at(schedule, endpoint, Buffer::kOutput, 0);
  return cell >= 0 && cell < outputs ? cell : -1;
}

std::int64_t cell_number(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell) {
  switch (buffer) {
    case Buffer::kInput:
      return schedule.in_place ? alias_of(schedule, endpoint, cell) : -1;
    case Buffer::kOutput:
      return cell;
    case Buffer::kScratch:
      return cells_in(schedule, endpoint, Buffer::kOutput) + cell;
  }
  return -1;
}

// In place, a copy of input cells to the output cells of the same chunks does nothing.
bool Hazards::copies_onto_itself(int endpoint, const Op& op, std::int64_t iteration) const {
  if (op.kind != Kind::kCopy || !schedule_->in_place || op.source.buffer != Buffer::kInput ||
      op.target.buffer != Buffer::kOutput) {
    return false;
  }
  for (int j = 0; j < op.source.count; ++j) {
    const int from = op.source.at(iteration, j);
    if (alias_of(*schedule_, endpoint, from) != op.target.at(iteration, j)) return false;
  }
  return true;
}

void Hazards::gather(int endpoint, const Round& round, std::int64_t iteration) {
  accesses_.clear();
  const auto number = [&](const Cells& cells, int j) {
    return cell_number(*schedule_, endpoint, cells.buffer, cells.at(iteration, j));
  };
  for (int o = 0; o < static_cast<int>(round.ops.size()); ++o) {
    const Op& op = round.ops[static_cast<std::size_t>(o)];
    if (copies_onto_itself(endpoint, op, iteration)) continue;
    if (op.kind != Kind::kReceive) {
      for (int j = 0; j < op.source.count; ++j) {
        const std::int64_t cell = number(op.source, j);
        if (cell >= 0) accesses_.push_back({cell, o, j, false, false});
      }
    }
    if (op.kind == Kind::kSend) continue;
    for (int j = 0; j < op.target.count; ++j) {
      const std::int64_t cell = number(op.target, j);
      const bool adds = op.kind == Kind::kReduce ||
                        (op.kind == Kind::kReceiveReduce && number(op.source, j) == cell);
      accesses_.push_back({cell, o, j, true, adds});
    }
  }
  std::sort(accesses_.begin(), accesses_.end(), [](const Access& a, const Access& b) {
    return std::tie(a.cell, a.op, a.writes) < std::tie(b.cell, b.op, b.writes);
  });
}

std::string Hazards::check_cell(const Round& round, std::size_t begin, std::size_t end) const {
  const auto name = [&](int op) {
    return fmt::format("operation {} ({})", op,
                       name_of(round.ops[static_cast<std::size_t>(op)].kind));
  };
  const Access* writer = nullptr;
  for (std::size_t k = begin; k < end; ++k) {
    const Access& a = accesses_[k];
    if (!a.writes) continue;
    if (writer != nullptr && writer->op == a.op) return name(a.op) + " writes it twice";
    if (writer != nullptr && !a.adds) {
      return fmt::format("race: {} and {} both write it", name(writer->op), name(a.op));
    }
    writer = &a;
  }
  if (writer == nullptr) return "";
  for (std::size_t k = begin; k < end; ++k) {
    const Access& a = accesses_[k];
    if (a.writes) continue;
    if (round.ops[static_cast<std::size_t>(a.op)].streamed) {
      if (a.op > writer->op) continue;
      return fmt::format("{} forwards it but is listed before {}", name(a.op), name(writer->op));
    }
    bool own = false;  // its own write, which sorts behind its reads, is no race
    for (std::size_t w = k + 1; w < end && accesses_[w].op == a.op; ++w) {
      own = own || (accesses_[w].writes && accesses_[w].position == a.position);
    }
    if (own) continue;
    return fmt::format("race: {} reads it while {} writes it", name(a.op), name(writer->op));
  }
  return "";
}

std::string Hazards::check(int endpoint, const Round& round, std::int64_t iteration) {
  gather(endpoint, round, iteration);
  groups_.resize(round.ops.size());
  std::iota(groups_.begin(), groups_.end(), 0);
  for (std::size_t begin = 0, end = 0; begin < accesses_.size(); begin = end) {
    while (end < accesses_.size() && accesses_[end].cell == accesses_[begin].cell) ++end;
    std::string fault = check_cell(round, begin, end);
    if (fault.empty()) continue;
    const std::int64_t outputs = cells_in(*schedule_, endpoint, Buffer::kOutput);
    const std::int64_t cell = accesses_[begin].cell;
    if (cell >= outputs) return fmt::format("scratch cell {}: {}", cell - outputs, fault);
    return fmt::format("chunk {}: {}", chunk_at(*schedule_, endpoint, Buffer::kOutput, cell),
                       fault);
  }
  return "";
}

int Hazards::root(int op) {
  while (groups_[static_cast<std::size_t>(op)] != op) op = groups_[static_cast<std::size_t>(op)];
  return op;
}

const std::vector<int>& Hazards::groups() {
  for (std::size_t begin = 0, end = 0; begin < accesses_.size(); begin = end) {
    bool written = false;
    for (; end < accesses_.size() && accesses_[end].cell == accesses_[begin].cell; ++end) {
      written = written || accesses_[end].writes;
    }
    for (std::size_t k = begin; written && k < end; ++k) {
      const int a = root(accesses_[begin].op);
      const int b = root(accesses_[k].op);
      groups_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  for (int op = 0; op < static_cast<int>(groups_.size()); ++op) {
    groups_[static_cast<std::size_t>(op)] = root(op);
  }
  return groups_;
}

}  // namespace weft::collective

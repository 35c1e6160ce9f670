// What operations do to cells, and what must be in them at the end.
#include <fmt/core.h>

#include <bit>

#include "collective/machine.h"

namespace weft::collective {
namespace {

std::uint16_t stream_number(int stream) { return static_cast<std::uint16_t>(stream); }

// The rank whose data a chunk is, for operations that do not sum.
int origin_of(const Schedule& s, std::int64_t chunk) {
  if (s.operation == Operation::kBroadcast) return s.root;
  return static_cast<int>(chunk / (s.chunks.count / s.ranks));
}

}  // namespace

void Machine::apply(Lane& lane, int op) {
  Task& task = lane.tasks[static_cast<std::size_t>(op)];
  const Op& o = lane.cursor.round().ops[static_cast<std::size_t>(op)];
  if (task.applied || o.kind == Kind::kSend) return;
  task.applied = true;
  if (schedule_.operation == Operation::kBarrier && !task.payload.empty()) {
    heard_[static_cast<std::size_t>(lane.endpoint)] |= task.payload.back().ranks;
  }
  for (int j = 0; j < o.target.count && fault_.ok(); ++j) {
    const auto received = [&] { return task.payload[static_cast<std::size_t>(j)]; };
    Value value;
    switch (o.kind) {
      case Kind::kSend:
        break;
      case Kind::kReceive:
        value = received();
        break;
      case Kind::kReceiveReduce:
        value = sum(lane, read(lane, o.source, j), received());
        break;
      case Kind::kCopy:
        value = read(lane, o.source, j);
        break;
      case Kind::kReduce:
        value = sum(lane, read(lane, o.target, j), read(lane, o.source, j));
        break;
    }
    write(lane, o.target, j, value);
  }
}

Value Machine::read(Lane& lane, const Cells& cells, int j) {
  const std::int64_t cell = cells.at(lane.cursor.iteration(), j);
  const std::int64_t number = cell_number(schedule_, lane.endpoint, cells.buffer, cell);
  auto& mine = cells_[static_cast<std::size_t>(lane.endpoint)];
  if (cells.buffer == Buffer::kInput) {
    Value value;
    const std::int64_t chunk = chunk_at(schedule_, lane.endpoint, Buffer::kInput, cell);
    value.chunk = static_cast<std::uint32_t>(chunk);
    value.ranks = tracking_.keys[static_cast<std::size_t>(lane.endpoint)];
    if (number < 0) return value;
    Value& shared = mine[static_cast<std::size_t>(number)];
    const bool as_it_was = shared.chunk == value.chunk && shared.ranks == value.ranks;
    if (shared.chunk != Value::kNothing && !as_it_was) {
      fail(
          lane, chunk,
          fmt::format("reads the input, which the output overwrote in round {}; it is not in place",
                      shared.round));
    }
    const bool alone =
        shared.readers == Value::kNobody || shared.readers == stream_number(lane.stream);
    shared.readers = alone ? stream_number(lane.stream) : Value::kMany;
    return value;
  }
  const Value& value = mine[static_cast<std::size_t>(number)];
  if (value.chunk == Value::kNothing) {
    fail(lane, fmt::format("reads {} cell {} (chunk {}) before anything was written to it",
                           name_of(cells.buffer), cell,
                           cells.buffer == Buffer::kOutput
                               ? chunk_at(schedule_, lane.endpoint, cells.buffer, cell)
                               : -1));
  } else if (value.writer != stream_number(lane.stream)) {
    fail(lane, value.chunk,
         fmt::format("race: reads {} cell {}, which stream {} writes", name_of(cells.buffer), cell,
                     value.writer));
  }
  return value;
}

void Machine::write(Lane& lane, const Cells& cells, int j, Value value) {
  if (!fault_.ok()) return;
  const std::int64_t cell = cells.at(lane.cursor.iteration(), j);
  const std::int64_t number = cell_number(schedule_, lane.endpoint, cells.buffer, cell);
  Value& old = cells_[static_cast<std::size_t>(lane.endpoint)][static_cast<std::size_t>(number)];
  const std::uint64_t weight = schedule_.chunks.at(value.chunk);
  const std::uint64_t room = weight_at(schedule_, lane.endpoint, cells.buffer, cell);
  const bool scratch = cells.buffer == Buffer::kScratch;
  if (weight > room || (!scratch && weight != room)) {
    return fail(lane, value.chunk,
                fmt::format("weighs {}, but {} cell {} is for a weight of {}", weight,
                            name_of(cells.buffer), cell, room));
  }
  const std::uint16_t stream = stream_number(lane.stream);
  if (old.writer != Value::kNobody && old.writer != stream) {
    return fail(lane, value.chunk,
                fmt::format("race: writes {} cell {}, as stream {} does", name_of(cells.buffer),
                            cell, old.writer));
  }
  if (old.readers != Value::kNobody && old.readers != stream) {
    return fail(lane, value.chunk,
                fmt::format("race: writes output cell {} over an input that another stream reads; "
                            "it is not in place",
                            cell));
  }
  old.ranks = value.ranks;
  old.chunk = value.chunk;
  old.round = static_cast<std::uint32_t>(lane.cursor.number());
  old.writer = stream;
}

Value Machine::sum(const Lane& lane, const Value& a, const Value& b) {
  if (!fault_.ok()) return a;
  Value total = a;
  if (a.chunk != b.chunk) {
    fail(lane, a.chunk, fmt::format("chunk {} is added to it", b.chunk));
  } else if (const std::uint64_t twice = a.ranks & b.ranks; tracking_.exact && twice != 0) {
    fail(lane, a.chunk,
         fmt::format("the contribution of rank {} is added a second time",
                     tracking_.first + std::countr_zero(twice)));
  }
  total.ranks = tracking_.exact ? a.ranks | b.ranks : a.ranks + b.ranks;
  return total;
}

Status Machine::check_output(int rank, std::int64_t cell, std::uint64_t all) const {
  const Value& value = cells_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cell)];
  const std::int64_t chunk = chunk_at(schedule_, rank, Buffer::kOutput, cell);
  const auto wrong = [&](std::string what) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {}, stream {}, round {}: chunk {} ends wrong: {}", rank,
                             value.writer, value.round, chunk, what),
                 ""};
  };
  if (value.chunk == Value::kNothing) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("rank {}, at the end of all rounds: chunk {} was never written", rank, chunk),
        ""};
  }
  if (value.chunk != chunk) return wrong(fmt::format("its place holds chunk {}", value.chunk));
  const std::uint64_t want =
      sums(schedule_.operation)
          ? all
          : tracking_.keys[static_cast<std::size_t>(origin_of(schedule_, chunk))];
  if (value.ranks == want) return {};
  if (!tracking_.exact) return wrong("the contributions of the ranks are not there once each");
  const std::uint64_t lost = want & ~value.ranks;
  if (lost == 0) return wrong("it holds contributions of other ranks");
  return wrong(
      fmt::format("the contribution of rank {} is lost", tracking_.first + std::countr_zero(lost)));
}

Status Machine::check_outputs() const {
  std::uint64_t all = 0;
  for (const std::uint64_t key : tracking_.keys) all += key;
  for (int rank = 0; rank < schedule_.ranks; ++rank) {
    const std::int64_t cells = cells_in(schedule_, rank, Buffer::kOutput);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      if (Status status = check_output(rank, cell, all); !status.ok()) return status;
    }
    const std::uint64_t missing = all & ~heard_[static_cast<std::size_t>(rank)];
    if (schedule_.operation != Operation::kBarrier || missing == 0) continue;
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {}, at the end of all rounds: it passes the barrier without "
                             "having heard of rank {}",
                             rank, tracking_.first + std::countr_zero(missing)),
                 ""};
  }
  return {};
}

}  // namespace weft::collective

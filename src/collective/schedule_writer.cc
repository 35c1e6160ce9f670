#include <fmt/ranges.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "collective/schedule_json.h"

namespace weft::collective {
namespace {

using Text = fmt::memory_buffer;

template <typename... Arguments>
void add(Text& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

std::string quoted(const std::string& word) {
  return nlohmann::json(word).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// A member of an object, left out when it has its usual value.
void member(Text& out, const char* name, std::int64_t value, std::int64_t usual) {
  if (value != usual) add(out, ", \"{}\": {}", name, value);
}

void write_weights(Text& out, const Weights& weights) {
  if (weights.list.empty()) {
    add(out, "{{\"count\": {}, \"each\": {}}}", weights.count, weights.each);
  } else {
    add(out, "{{\"weights\": [{}]}}", fmt::join(weights.list, ", "));
  }
}

void write_cells(Text& out, const char* name, const Cells& cells) {
  add(out, ", \"{}\": {{\"buffer\": \"{}\"", name, name_of(cells.buffer));
  add(out, ", \"count\": {}", cells.count);
  member(out, "base", cells.base, 0);
  member(out, "first", cells.first, 0);
  member(out, "advance", cells.advance, 0);
  member(out, "modulus", cells.modulus, 1);
  member(out, "block", cells.block, 1);
  member(out, "step", cells.step, 1);
  add(out, "}}");
}

void write_peer(Text& out, const Walk& peer) {
  if (peer == Walk{.base = peer.base}) return add(out, ", \"peer\": {}", peer.base);
  add(out, ", \"peer\": {{\"base\": {}", peer.base);
  member(out, "stride", peer.stride, 1);
  member(out, "first", peer.first, 0);
  member(out, "advance", peer.advance, 0);
  member(out, "modulus", peer.modulus, 1);
  add(out, "}}");
}

void write_op(Text& out, const Op& op) {
  add(out, "{{\"do\": \"{}\"", name_of(op.kind));
  if (op.streamed) add(out, ", \"streamed\": true");
  if (op.kind != Kind::kCopy && op.kind != Kind::kReduce) write_peer(out, op.peer);
  if (op.kind != Kind::kReceive) write_cells(out, "source", op.source);
  if (op.kind != Kind::kSend) write_cells(out, "target", op.target);
  add(out, "}}");
}

void write_round(Text& out, const Round& round) {
  add(out, "{{\"repeat\": {}", round.repeat);
  if (round.density != 1) add(out, ", \"density\": {}", round.density);
  add(out, ", \"ops\": [");
  for (std::size_t o = 0; o < round.ops.size(); ++o) {
    if (o > 0) add(out, ", ");
    write_op(out, round.ops[o]);
  }
  add(out, "]}}");
}

void write_program(Text& out, const Program& program) {
  add(out, "{{\"scratch\": ");
  write_weights(out, program.scratch);
  add(out, ", \"streams\": [");
  for (std::size_t s = 0; s < program.streams.size(); ++s) {
    add(out, "{}[", s > 0 ? ", " : "");
    for (std::size_t k = 0; k < program.streams[s].size(); ++k) {
      add(out, "{}\n    ", k > 0 ? "," : "");
      write_round(out, program.streams[s][k]);
    }
    add(out, "]");
  }
  add(out, "]}}");
}

}  // namespace

std::string write_schedule(const Schedule& s) {
  Text out;
  add(out, "{{\"format\": \"weft-collective\", \"version\": 1,\n");
  add(out, " \"operation\": \"{}\", \"algorithm\": {},\n", name_of(s.operation),
      quoted(s.algorithm));
  add(out, " \"ranks\": {}, \"root\": {}, \"helpers\": [", s.ranks, s.root);
  for (std::size_t h = 0; h < s.helpers.size(); ++h) {
    add(out, "{}\"{}\"", h > 0 ? ", " : "", name_of(s.helpers[h]));
  }
  add(out, "],\n \"chunks\": ");
  write_weights(out, s.chunks);
  add(out, ", \"whole\": {},\n", s.whole);
  add(out, " \"credits\": {}, \"lockstep\": {}, \"in_place\": {},\n \"programs\": [", s.credits,
      s.lockstep, s.in_place);
  for (std::size_t e = 0; e < s.programs.size(); ++e) {
    add(out, "{}\n  ", e > 0 ? "," : "");
    write_program(out, s.programs[e]);
  }
  add(out, "]}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::collective

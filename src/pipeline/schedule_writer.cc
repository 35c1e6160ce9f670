#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "pipeline/schedule_json.h"

namespace weft::pipeline {
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
template <typename Value>
void member(Text& out, const char* name, Value value, Value usual) {
  if (value != usual) add(out, ", \"{}\": {}", name, value);
}

template <typename Value>
void list(Text& out, const char* name, const std::vector<Value>& values) {
  if (!values.empty()) add(out, " \"{}\": [{}],\n", name, fmt::join(values, ", "));
}

void write_op(Text& out, const Op& op) {
  add(out, "{{\"do\": \"{}\"", name_of(op.kind));
  if (op.kind != Kind::kOptimizer) {
    add(out, ", \"micro_batch\": {}, \"chunk\": {}", op.work.micro_batch, op.work.chunk);
    member(out, "slice", op.work.slice, 0);
  }
  if (op.kind == Kind::kForwardBackward) {
    add(out, ", \"other\": {{\"micro_batch\": {}, \"chunk\": {}", op.other.micro_batch,
        op.other.chunk);
    member(out, "slice", op.other.slice, 0);
    add(out, "}}");
  }
  if (op.flow != Flow::kForward) add(out, ", \"flow\": \"{}\"", name_of(op.flow));
  member(out, "peer", op.peer, kHost);
  member(out, "version", op.version, 0);
  member(out, "codec", op.codec, 0);
  member(out, "seconds", op.seconds, 0.0);
  member(out, "joules", op.joules, 0.0);
  add(out, "}}");
}

}  // namespace

std::string write_schedule(const Schedule& s) {
  Text out;
  add(out, "{{\"format\": \"weft-pipeline\", \"version\": 1, \"name\": {},\n", quoted(s.name));
  add(out, " \"devices\": {}, \"chunks\": {}, \"micro_batches\": {}, \"slices\": {},\n", s.devices,
      s.chunks, s.micro_batches, s.slices);
  add(out, " \"staleness\": {}, \"weight_versions\": {}, \"listed_transfers\": {},\n", s.staleness,
      s.weight_versions, s.listed_transfers);
  add(out, " \"checkpoint_part\": {}, \"weight_part\": {}, \"idle_watts\": {},\n",
      s.checkpoint_part, s.weight_part, s.idle_watts);
  list(out, "route_of", s.route_of);
  list(out, "limits", s.limits);
  list(out, "activation", s.activation);
  list(out, "transfer_seconds", s.transfer_seconds);
  std::vector<std::string> codecs;
  for (const std::string& codec : s.codecs) codecs.push_back(quoted(codec));
  list(out, "codecs", codecs);
  add(out, " \"routes\": [");
  for (std::size_t r = 0; r < s.routes.size(); ++r) {
    add(out, "{}[{}]", r > 0 ? ", " : "", fmt::join(s.routes[r], ", "));
  }
  add(out, "],\n \"programs\": [");
  for (std::size_t d = 0; d < s.programs.size(); ++d) {
    add(out, "{}\n  [", d > 0 ? "," : "");
    for (std::size_t i = 0; i < s.programs[d].size(); ++i) {
      add(out, "{}", i > 0 ? ",\n   " : "");
      write_op(out, s.programs[d][i]);
    }
    add(out, "]");
  }
  add(out, "]}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::pipeline

#include <fmt/ranges.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "pipeline/schedule_json.h"

namespace weft::pipeline {
namespace {

using Text = fmt::memory_buffer;

template <typename... Arguments>
void append(Text& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

std::string quoted(const std::string& word) {
  return nlohmann::json(word).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// A member of an object, left out when it has its usual value.
template <typename Value>
void member(Text& out, const char* name, Value value, Value usual) {
  if (value != usual) append(out, ", \"{}\": {}", name, value);
}

template <typename Value>
void list(Text& out, const char* name, const std::vector<Value>& values) {
  if (!values.empty()) append(out, " \"{}\": [{}],\n", name, fmt::join(values, ", "));
}

void write_op(Text& out, const Op& op) {
  append(out, "{{\"do\": \"{}\"", name_of(op.kind));
  if (op.kind != Kind::kOptimizer) {
    append(out, ", \"micro_batch\": {}, \"chunk\": {}", op.work.micro_batch, op.work.chunk);
    member(out, "slice", op.work.slice, 0);
  }
  if (op.kind == Kind::kForwardBackward) {
    append(out, ", \"other\": {{\"micro_batch\": {}, \"chunk\": {}", op.other.micro_batch,
           op.other.chunk);
    member(out, "slice", op.other.slice, 0);
    append(out, "}}");
  }
  if (op.flow != Flow::kForward) append(out, ", \"flow\": \"{}\"", name_of(op.flow));
  member(out, "peer", op.peer, kHost);
  member(out, "version", op.version, 0);
  member(out, "codec", op.codec, 0);
  member(out, "seconds", op.seconds, 0.0);
  member(out, "joules", op.joules, 0.0);
  append(out, "}}");
}

}  // namespace

std::string write_schedule(const Schedule& s) {
  Text out;
  append(out, "{{\"format\": \"weft-pipeline\", \"version\": 1, \"name\": {},\n", quoted(s.name));
  append(out, " \"devices\": {}, \"chunks\": {}, \"micro_batches\": {}, \"slices\": {},\n",
         s.devices, s.chunks, s.micro_batches, s.slices);
  append(out, " \"staleness\": {}, \"weight_versions\": {}, \"listed_transfers\": {},\n",
         s.staleness, s.weight_versions, s.listed_transfers);
  append(out, " \"checkpoint_part\": {}, \"weight_part\": {}, \"idle_watts\": {},\n",
         s.checkpoint_part, s.weight_part, s.idle_watts);
  list(out, "route_of", s.route_of);
  list(out, "limits", s.limits);
  list(out, "activation", s.activation);
  list(out, "transfer_seconds", s.transfer_seconds);
  std::vector<std::string> codecs;
  for (const std::string& codec : s.codecs) codecs.push_back(quoted(codec));
  list(out, "codecs", codecs);
  append(out, " \"routes\": [");
  for (std::size_t r = 0; r < s.routes.size(); ++r) {
    append(out, "{}[{}]", r > 0 ? ", " : "", fmt::join(s.routes[r], ", "));
  }
  append(out, "],\n \"programs\": [");
  for (std::size_t d = 0; d < s.programs.size(); ++d) {
    append(out, "{}\n  [", d > 0 ? "," : "");
    for (std::size_t i = 0; i < s.programs[d].size(); ++i) {
      append(out, "{}", i > 0 ? ",\n   " : "");
      write_op(out, s.programs[d][i]);
    }
    append(out, "]");
  }
  append(out, "]}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::pipeline

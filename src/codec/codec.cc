#include "codec/codec.h"

#include <fmt/core.h>

#include "base/check.h"

namespace weft::codec {
namespace {

Error state_refused(std::string what) {
  return Error{ErrorKind::kInvalidInput, "codec state refused: " + std::move(what),
               "save the state again, or begin without one"};
}

}  // namespace

Status Codec::check(const CodecState& state) const {
  CHECK(!state.compact);
  if (state.codec != text()) {
    return state_refused(
        fmt::format("it is of codec '{}', not '{}'", state.codec.substr(0, 100), text()));
  }
  const auto shape = shape_of_state(state);
  if (!shape.ok()) return state_refused(shape.error().what);
  if (state.local.size() != shape->local) {
    return state_refused(fmt::format("it has {} local vectors; '{}' keeps {}", state.local.size(),
                                     text(), shape->local));
  }
  for (std::size_t v = 0; v < state.local.size(); ++v) {
    if (state.local[v].size() == state.size) continue;
    return state_refused(fmt::format("local vector {} has {} values; the tensor has {}", v,
                                     state.local[v].size(), state.size));
  }
  if (state.shared.size() != shape->shared.size()) {
    return state_refused(fmt::format("it has {} shared vectors; '{}' keeps {}", state.shared.size(),
                                     text(), shape->shared.size()));
  }
  for (std::size_t v = 0; v < state.shared.size(); ++v) {
    if (state.shared[v].size() == shape->shared[v]) continue;
    return state_refused(fmt::format("shared vector {} has {} values; for {} values '{}' keeps {}",
                                     v, state.shared[v].size(), state.size, text(),
                                     shape->shared[v]));
  }
  const Status numbers = check_numbers(state);
  return numbers.ok() ? Status{} : state_refused(numbers.error().what);
}

}  // namespace weft::codec

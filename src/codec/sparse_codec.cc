#include "codec/sparse_codec.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "codec/draw.h"

namespace weft::codec {

Result<std::size_t> SparseCodec::encode(std::span<const float> values, std::size_t first,
                                        CodecState& state, std::span<std::byte> out) const {
  const std::size_t count = values.size();
  CHECK(state.codec == text() && out.size() >= most_bytes(count));
  Part part{values,       state.residual(first, count).exact,
            nullptr,      own_key(state),
            state.step,   state.place.ranks,
            state.budget, {&state, first}};
  if (state.local.size() > 1) part.velocity = state.local[1].data() + first;
  Plan planned;
  if (count > 0) {
    auto plan_or = plan(part);
    if (!plan_or.ok()) return plan_or.error();
    planned = *plan_or;
  }
  SparseValues sparse;
  std::vector<std::uint16_t> offsets(std::min(count, kChunk));
  std::vector<float> chosen_values(offsets.size());
  std::size_t room = most(count);
  sparse.offsets.reserve(expected(count));
  sparse.values.reserve(expected(count));
  for (std::size_t at = 0; at < count; at += kChunk) {
    const std::size_t n = std::min(kChunk, count - at);
    Chosen chosen{offsets.data(), chosen_values.data(), 0, room, planned.threshold.ties};
    const std::size_t handled = choose(part, planned, at, n, chosen);
    room = chosen.room;
    planned.threshold.ties = chosen.ties;
    sparse.counts.push_back(static_cast<std::uint32_t>(chosen.count));
    sparse.offsets.insert(sparse.offsets.end(), offsets.data(), offsets.data() + chosen.count);
    sparse.values.insert(sparse.values.end(), chosen_values.data(),
                         chosen_values.data() + chosen.count);
    if (handled == n) continue;
    take_back(part, planned, sparse, at + handled, at + n);
    return not_finite(part, planned, at + handled);
  }
  const std::vector<float> exact =
      carrier_ != nullptr && part.residual != nullptr ? sparse.values : std::vector<float>();
  const auto bytes = write_sparse(sparse, count, carrier_.get(), state, out);
  if (!bytes.ok()) {
    take_back(part, planned, sparse, count, count);
    return named(bytes.error(), sparse, state, out);
  }
  if (!exact.empty()) {
    for_each_chosen(sparse, [&](std::size_t i, std::size_t c) {
      part.residual[i] += exact[c] - sparse.values[c];
    });
  }
  sent(part, sparse);
  return bytes;
}

Error SparseCodec::not_finite(const Part& part, const Plan& plan, std::size_t from) const {
  std::size_t at = from;
  while (at + 1 < part.values.size() && std::isfinite(value(part, plan, at))) ++at;
  const float given = part.values[at];
  return Error{
      ErrorKind::kInvalidInput,
      std::isfinite(given)
          ? fmt::format("value {} is {} and with what was kept {}; only finite sums can be "
                        "compressed",
                        at, given, value(part, plan, at))
          : fmt::format("value {} is {}; only finite gradients can be compressed", at, given),
      "skip the step, or lower the loss scale"};
}

// What was chosen goes back and the values out again.
void SparseCodec::take_back(const Part& part, const Plan& plan, const SparseValues& sparse,
                            std::size_t residuals, std::size_t velocities) const {
  if (part.residual == nullptr) return;
  for_each_chosen(sparse,
                  [&](std::size_t i, std::size_t c) { part.residual[i] = sparse.values[c]; });
  undo(part, plan, residuals, velocities);
}

// The carrier's error with the place that its value has in the tensor.
Error SparseCodec::named(Error error, const SparseValues& sparse, const CodecState& state,
                         std::span<std::byte> out) const {
  CodecState fresh = carrier_->make_state(1, state.place);
  bool found = false;
  for_each_chosen(sparse, [&](std::size_t i, std::size_t c) {
    if (found) return;
    const auto alone = carrier_->encode(std::span(sparse.values).subspan(c, 1), 0, fresh, out);
    if (alone.ok()) return;
    found = true;
    const std::string& why = alone.error().what;  // "…; this codec sends …"
    error.what = fmt::format("value {} with what was kept is {}{}", i, sparse.values[c],
                             why.substr(std::min(why.find(';'), why.size())));
  });
  return error;
}

}  // namespace weft::codec

#include "codec/ranks_testing.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "codec/codecs.h"

namespace weft::codec {
namespace {

template <typename Number>
void combine(std::vector<Exchange>& rounds) {
  const std::size_t count = rounds[0].count;
  std::vector<Number> result(count), other(count);
  if (count == 0) return;
  const std::size_t bytes = count * sizeof(Number);
  const std::size_t first = rounds[0].combine == Combine::kBroadcast ? rounds[0].root : 0;
  std::memcpy(result.data(), rounds[first].data.data(), bytes);
  for (std::size_t rank = 1; rank < rounds.size(); ++rank) {
    if (rounds[0].combine == Combine::kBroadcast) break;
    std::memcpy(other.data(), rounds[rank].data.data(), bytes);
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = rounds[0].combine == Combine::kSum ? static_cast<Number>(result[i] + other[i])
                                                     : std::max(result[i], other[i]);
    }
  }
  for (Exchange& round : rounds) std::memcpy(round.data.data(), result.data(), bytes);
}

}  // namespace

std::unique_ptr<Codec> must_make(const std::string& text) {
  auto codec = make_codec(text);
  if (!codec.ok()) CHECK(codec.error().text().empty());
  return std::move(*codec);
}

std::vector<float> through(const OpaqueCodec& codec, const std::vector<float>& values) {
  CodecState state = codec.make_state(values.size(), {});
  std::vector<std::byte> bytes(codec.most_bytes(values.size()));
  std::vector<float> out(values.size());
  const auto used = codec.encode(values, 0, state, bytes);
  CHECK(used.ok());
  CHECK(codec.decode(std::span(bytes).first(*used), out).ok());
  return out;
}

TestRanks::TestRanks(const std::string& text, std::uint32_t ranks, std::size_t size)
    : size_(size), codec_(must_make(text)) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    states_.push_back(codec_->make_state(size, {rank, ranks, 42}));
  }
  for (std::uint32_t owner = 0; owner < ranks && codec_->opaque() != nullptr; ++owner) {
    const std::size_t length = part_begin(owner + 1) - part_begin(owner);
    backs_.push_back(codec_->opaque()->back().make_state(length, {owner, ranks, 42}));
  }
}

Result<std::vector<float>> TestRanks::sum(const std::vector<std::vector<float>>& gradients) {
  CHECK(gradients.size() == states_.size());
  auto result = codec_->opaque() != nullptr ? sum_opaque(gradients) : sum_linear(gradients);
  if (!result.ok()) return result;
  const auto ranks = static_cast<float>(states_.size());
  std::vector<float> settled;
  for (CodecState& state : states_) {
    settled = *result;
    for (float& x : settled) x /= ranks;
    codec_->settle(settled, state);
  }
  for (CodecState& state : backs_) ++state.step;
  for (float& x : settled) x *= ranks;
  return settled;
}

Result<std::vector<float>> TestRanks::sum_opaque(const std::vector<std::vector<float>>& gradients) {
  const OpaqueCodec& codec = *codec_->opaque();
  std::vector<float> result(size_);
  for (std::size_t owner = 0; owner < states_.size(); ++owner) {
    const std::size_t at = part_begin(owner), n = part_begin(owner + 1) - at;
    std::vector<float> part(n, 0.0F);
    std::vector<std::byte> bytes(codec.most_bytes(n));
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      const auto used =
          codec.encode(std::span(gradients[rank]).subspan(at, n), at, states_[rank], bytes);
      if (!used.ok()) return used.error();
      const Status status = codec.decode_add(std::span(bytes).first(*used), part);
      if (!status.ok()) return status.error();
    }
    bytes.resize(codec.back().most_bytes(n));
    const auto used = codec.back().encode(part, 0, backs_[owner], bytes);
    if (!used.ok()) return used.error();
    const Status status =
        codec.back().decode(std::span(bytes).first(*used), std::span(result).subspan(at, n));
    if (!status.ok()) return status.error();
  }
  return result;
}

Result<std::vector<float>> TestRanks::sum_linear(const std::vector<std::vector<float>>& gradients) {
  std::vector<std::unique_ptr<LinearRun>> runs;
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    auto run = codec_->linear()->begin(gradients[rank], states_[rank]);
    if (!run.ok()) return run.error();
    runs.push_back(std::move(*run));
  }
  while (!runs[0]->done()) {
    std::vector<Exchange> rounds;
    for (auto& run : runs) {
      rounds.push_back(run->exchange());
      CHECK(rounds.back().count == rounds[0].count && rounds.back().root == rounds[0].root);
    }
    switch (rounds[0].element) {
      case Element::kFloat32:
        combine<float>(rounds);
        break;
      case Element::kInt32:
        combine<std::int32_t>(rounds);
        break;
      case Element::kUint8:
        combine<std::uint8_t>(rounds);
        break;
      default:
        CHECK(false);
    }
    for (auto& run : runs) {
      if (const Status status = run->next(); !status.ok()) return status.error();
    }
  }
  std::vector<float> result(size_), other(size_);
  runs[0]->finish(result);
  for (std::size_t rank = 1; rank < runs.size(); ++rank) {
    runs[rank]->finish(other);
    CHECK(other == result);
  }
  return result;
}

double TestRanks::kept(std::size_t i) {
  double sum = 0;
  for (CodecState& state : states_) sum += static_cast<double>(state.residual(i, 1).at(0));
  for (std::size_t owner = 0; owner < backs_.size(); ++owner) {
    const std::size_t at = part_begin(owner);
    if (i < at || i >= part_begin(owner + 1)) continue;
    sum += static_cast<double>(backs_[owner].residual(i - at, 1).at(0));
  }
  return sum;
}

}  // namespace weft::codec

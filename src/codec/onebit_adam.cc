// 1-bit Adam (Tang et al. 2021): for `warmup` steps gradients go as they are and Adam runs as ever;
// then its variance is frozen, and what ranks send is their momentum, in one bit and a mean
// magnitude per block with error feedback on both ways. settle() turns the mean that came back into
// Adam's direction, so the training loop takes it as the gradient of plain SGD with Adam's learning
// rate.
#include "codec/onebit_adam.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "codec/dense.h"

namespace weft::codec {
namespace {

struct AdamRule {
  std::uint64_t warmup = 100;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

// The square of a gradient may be larger than any float; an infinite variance would never fall
// again.
float narrowed(double x) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kMost, kMost));
}

DenseFormat float32_format() {
  return {WireId::kFloat32,
          {DenseKind::kFloat32, 32, kTile, 0, std::numeric_limits<float>::infinity(), 0},
          ResidualForm::kNone};
}
DenseFormat sign_format() {
  return {WireId::kScaledSign,
          {DenseKind::kScaledSign, 1, kTile, 1, 0x1p115F, 0},
          ResidualForm::kFloat32};
}

// One bit per value after the warm-up, all of it before.
class Phased : public OpaqueCodec {
 public:
  Phased(std::string text, std::uint64_t warmup)
      : OpaqueCodec(std::move(text)),
        warmup_(warmup),
        whole_(float32_format()),
        signs_(sign_format()) {}
  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state{text(), size, place, 0, {}, {}};
    state.keep(ResidualForm::kFloat32);
    return state;
  }
  Result<StateShape> shape_of_state(const CodecState&) const override { return StateShape{1}; }
  double wire_bytes(std::size_t size) const override {
    return static_cast<double>(signs_.bytes(size));
  }
  // One or two values take less as they are than a scale and a word of signs do.
  std::size_t most_bytes(std::size_t count) const override {
    return std::max(whole_.bytes(count), signs_.bytes(count));
  }
  Result<std::size_t> encode(std::span<const float> values, std::size_t first, CodecState& state,
                             std::span<std::byte> out) const override {
    CHECK(state.codec == text());
    if (warming(state)) return whole_.encode(values, {}, 0, first, out);
    return signs_.encode(values, state.residual(first, values.size()), 0, first, out);
  }
  // The envelope says which of the two it is.
  Status decode(std::span<const std::byte> bytes, std::span<float> out) const override {
    return loops_of(bytes).decode(bytes, out, false);
  }
  Status decode_add(std::span<const std::byte> bytes, std::span<float> sum) const override {
    return loops_of(bytes).decode(bytes, sum, true);
  }

 protected:
  bool warming(const CodecState& state) const { return state.step < warmup_; }

 private:
  const DenseLoops& loops_of(std::span<const std::byte> bytes) const {
    const bool whole = bytes.size() > 2 && bytes[2] == static_cast<std::byte>(WireId::kFloat32);
    return whole ? whole_ : signs_;
  }
  std::uint64_t warmup_;
  DenseLoops whole_, signs_;
};

class OneBitAdam : public Phased {
 public:
  OneBitAdam(const std::string& text, const AdamRule& rule)
      : Phased(text, rule.warmup), rule_(rule), back_(text + "/back", rule.warmup) {}

  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state = Phased::make_state(size, place);
    state.shared.assign(2, std::vector<float>(size, 0.0F));  // momentum and variance
    return state;
  }
  Result<StateShape> shape_of_state(const CodecState& state) const override {
    return StateShape{1, {state.size, state.size}};
  }
  Result<std::size_t> encode(std::span<const float> values, std::size_t first, CodecState& state,
                             std::span<std::byte> out) const override {
    if (warming(state)) return Phased::encode(values, first, state, out);
    CHECK(first <= state.size && values.size() <= state.size - first);
    const auto beta1 = static_cast<float>(rule_.beta1);
    const float* momentum = state.shared[0].data() + first;
    std::vector<float> next(values.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = beta1 * momentum[i] + (1 - beta1) * values[i];
    }
    return Phased::encode(next, first, state, out);
  }
  const OpaqueCodec& back() const override { return back_; }
  bool movable() const override { return false; }  // the optimizer

  void settle(std::span<float> mean, CodecState& state) const override {
    CHECK(mean.size() == state.size);
    const bool warm = warming(state);
    const double steps = static_cast<double>(std::min(state.step + 1, rule_.warmup));
    const double bias1 = warm ? 1 - std::pow(rule_.beta1, steps) : 1;
    const double bias2 = steps > 0 ? 1 - std::pow(rule_.beta2, steps) : 1;
    std::vector<float>&m = state.shared[0], &v = state.shared[1];
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double g = static_cast<double>(mean[i]);
      const double momentum =
          warm ? rule_.beta1 * static_cast<double>(m[i]) + (1 - rule_.beta1) * g : g;
      if (warm) {
        v[i] = narrowed(rule_.beta2 * static_cast<double>(v[i]) + (1 - rule_.beta2) * g * g);
      }
      m[i] = static_cast<float>(momentum);
      const double spread = std::sqrt(static_cast<double>(v[i]) / bias2);
      mean[i] = narrowed(momentum / bias1 / (spread + rule_.epsilon));
    }
    ++state.step;
  }

 protected:
  Status check_numbers(const CodecState& state) const override {
    for (std::size_t i = 0; i < state.size; ++i) {
      const float variance = state.shared[1][i];
      if (variance >= 0) continue;
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the variance of value {} is {}; it is at least 0", i, variance),
                   ""};
    }
    return {};
  }

 private:
  AdamRule rule_;
  Phased back_;
};

}  // namespace

std::unique_ptr<Codec> make_onebit_adam(Parameters& p) {
  AdamRule rule;
  rule.warmup = static_cast<std::uint64_t>(p.integer("warmup", 100, 1, 1'000'000'000));
  rule.beta1 = p.number("beta1", rule.beta1, 0, 0.9999);
  rule.beta2 = p.number("beta2", rule.beta2, 0, 0.999999);
  rule.epsilon = p.number("epsilon", rule.epsilon, 1e-12, 1);
  return std::make_unique<OneBitAdam>(p.text(), rule);
}

}  // namespace weft::codec

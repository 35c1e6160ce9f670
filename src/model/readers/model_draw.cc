#include "model/readers/model_draw.h"

#include <array>

namespace weft {
namespace {

using Words = std::array<std::uint32_t, 4>;

std::uint32_t fold(std::uint32_t value) { return value ^ (value >> 16); }

// Spreads a seed over four words and draws state from them (O'Neill, "Developing a seed_seq
// alternative", 2015).
class SeedSequence {
 public:
  explicit SeedSequence(std::uint32_t seed) {
    for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash(i == 0 ? seed : 0);
    for (std::size_t from = 0; from < pool_.size(); ++from) {
      for (std::size_t to = 0; to < pool_.size(); ++to) {
        if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
      }
    }
  }

  std::array<std::uint64_t, 4> state() const {
    std::array<std::uint64_t, 4> out{};
    std::uint32_t constant = 0x8b51f9ddu;
    for (std::size_t i = 0; i < 2 * out.size(); ++i) {
      std::uint32_t word = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58f38dedu;
      word = fold(word * constant);
      out[i / 2] |= static_cast<std::uint64_t>(word) << (i % 2 == 0 ? 0 : 32);
    }
    return out;
  }

 private:
  std::uint32_t hash(std::uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875u;
    return fold(value * constant_);
  }
  static std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
    return fold(0xca01f9ddu * x - 0x4973f715u * y);
  }

  Words pool_{};
  std::uint32_t constant_ = 0x43b0d7e5u;
};

}  // namespace

ModelDraw::ModelDraw(std::uint32_t seed) {
  const auto words = SeedSequence(seed).state();
  const Wide start = (static_cast<Wide>(words[0]) << 64) | words[1];
  increment_ = (((static_cast<Wide>(words[2]) << 64) | words[3]) << 1) | 1;
  step();
  state_ += start;
  step();
}

void ModelDraw::step() {
  const Wide multiplier =
      (static_cast<Wide>(2549297995355413924ULL) << 64) | 4865540595714422341ULL;
  state_ = state_ * multiplier + increment_;
}

std::uint32_t ModelDraw::next_half() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  step();
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  const auto turn = static_cast<unsigned>(state_ >> 122);
  const std::uint64_t drawn = (folded >> turn) | (folded << ((64 - turn) & 63));
  has_spare_ = true;
  spare_ = static_cast<std::uint32_t>(drawn >> 32);
  return static_cast<std::uint32_t>(drawn);
}

std::uint32_t ModelDraw::below(std::uint32_t bound) {
  const std::uint32_t reject = (0u - bound) % bound;
  std::uint64_t product = std::uint64_t{next_half()} * bound;
  while (static_cast<std::uint32_t>(product) < reject) product = std::uint64_t{next_half()} * bound;
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace weft

// Linear codecs that go block by block: block-sparse (exact) and homomorphic quantisation.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "codec/draw.h"
#include "codec/linear.h"
#include "codec/linear_parts.h"
#include "codec/thc_kernels.h"

namespace weft::codec {
namespace {

// Block-sparse (after OmniReduce, Fei et al. 2021): blocks that are 0 on every rank are left out,
// so nothing is lost. A byte per block says on which ranks it is not; the union is summed.
class BlockSparseRun : public LinearRun {
 public:
  BlockSparseRun(std::span<const float> values, std::size_t block)
      : values_(values), block_(block), used_((values.size() + block - 1) / block) {
    for (std::size_t b = 0; b < used_.size(); ++b) {
      const auto part = block_of(b);
      used_[b] = std::any_of(part.begin(), part.end(), [](float x) { return x != 0; }) ? 1 : 0;
    }
  }
  bool done() const override { return step_ == 2; }
  Exchange exchange() override {
    return step_ == 0 ? exchange_of(used_, Element::kUint8, Combine::kMax)
                      : exchange_of(union_, Element::kFloat32, Combine::kSum);
  }
  Status next() override {
    if (step_++ == 1) return check_finite(union_);
    for (std::size_t b = 0; b < used_.size(); ++b) {
      if (used_[b] == 0) continue;
      const auto part = block_of(b);
      union_.insert(union_.end(), part.begin(), part.end());
    }
    return {};
  }
  void finish(std::span<float> sum) override {
    CHECK(done() && sum.size() == values_.size());
    auto from = union_.begin();
    for (std::size_t b = 0; b < used_.size(); ++b) {
      const std::size_t at = b * block_, n = block_of(b).size();
      if (used_[b] == 0) {
        std::fill_n(sum.data() + at, n, 0.0F);
      } else {
        std::copy_n(from, n, sum.data() + at);
        from += static_cast<std::ptrdiff_t>(n);
      }
    }
  }

 private:
  std::span<const float> block_of(std::size_t b) const {
    const std::size_t at = b * block_;
    return values_.subspan(at, std::min(block_, values_.size() - at));
  }
  std::span<const float> values_;
  std::size_t block_;
  std::vector<std::uint8_t> used_;
  std::vector<float> union_;
  int step_ = 0;
};

class BlockSparse : public LinearCodec {
 public:
  BlockSparse(std::string text, std::size_t block) : LinearCodec(std::move(text)), block_(block) {}
  CodecState make_state(std::size_t size, const Place& place) const override {
    return {text(), size, place, 0, {}, {}};
  }
  Result<StateShape> shape_of_state(const CodecState&) const override { return StateShape{}; }
  // What a tensor without zeros takes.
  double wire_bytes(std::size_t size) const override {
    return 4 * static_cast<double>(size) + static_cast<double>((size + block_ - 1) / block_);
  }
  Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                           CodecState& state) const override {
    CHECK(state.codec == text() && values.size() == state.size);
    if (const Status finite = check_finite(values); !finite.ok()) return finite.error();
    return std::unique_ptr<LinearRun>(std::make_unique<BlockSparseRun>(values, block_));
  }

 private:
  std::size_t block_;
};

// THC (Li et al. 2024): blocks are rotated by a random Hadamard transform, which evens out their
// values, and quantised on a grid that all ranks share (the largest magnitude anywhere), so that
// sums of codes are codes of sums. A byte holds the sum: levels · ranks ≤ 255.
struct ThcRule {
  std::uint32_t bits = 4;
  std::size_t block = 1024;
  bool random = false;
};

class ThcRun : public LinearRun {
 public:
  ThcRun(const ThcRule& rule, std::span<const float> given, CodecState& state)
      : rule_(rule),
        given_(given),
        v_(state.local.front()),
        ranks_(static_cast<float>(state.place.ranks)),
        levels_(static_cast<float>(
            std::min((1U << rule.bits) - 1, 255U / std::max(state.place.ranks, 1U)))),
        shared_(static_cast<std::uint32_t>(shared_key(state))),
        own_(static_cast<std::uint32_t>(own_key(state))) {
    const std::size_t blocks = (v_.size() + rule.block - 1) / rule.block;
    rotated_.assign(blocks * rule.block, 0.0F);
    std::copy(v_.begin(), v_.end(), rotated_.begin());
    for (std::size_t b = 0; b < blocks; ++b) {
      float* block = rotated_.data() + b * rule.block;
      thc_kernels().rotate(block, rule.block, key(b));
      tops_.push_back(thc_kernels().largest(block, rule.block));
    }
  }
  bool done() const override { return step_ == 2; }
  Exchange exchange() override {
    return step_ == 0 ? exchange_of(tops_, Element::kFloat32, Combine::kMax)
                      : exchange_of(codes_, Element::kUint8, Combine::kSum);
  }
  Status next() override {
    if (step_++ == 1) return {};
    for (const float top : tops_) {
      if (top >= 0 && top < 0x1p100F) continue;
      take_out(given_, v_);
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the largest magnitude of a block is {}; thc sends those below {}",
                               top, 0x1p100F),
                   "skip the step, or lower the loss scale"};
    }
    codes_.resize(rotated_.size());
    for (std::size_t b = 0; b < tops_.size(); ++b) quantise(b);
    return {};
  }
  void finish(std::span<float> sum) override {
    CHECK(done() && sum.size() == v_.size());
    std::vector<float> block(rule_.block);
    for (std::size_t b = 0; b < tops_.size(); ++b) {
      const std::size_t at = b * rule_.block, n = std::min(rule_.block, v_.size() - at);
      thc_kernels().expand({tops_[b], levels_}, codes_.data() + at, rule_.block, ranks_,
                           block.data());
      thc_kernels().rotate_back(block.data(), rule_.block, key(b));
      std::copy_n(block.begin(), n, sum.data() + at);
    }
  }

 private:
  std::uint32_t key(std::size_t block) const {
    return shared_ + static_cast<std::uint32_t>(block * rule_.block);
  }
  // Codes of this rank, and its residual: v less what the codes say.
  void quantise(std::size_t b) {
    const std::size_t at = b * rule_.block, n = std::min(rule_.block, v_.size() - at);
    float* block = rotated_.data() + at;
    thc_kernels().quantise({tops_[b], levels_}, block, rule_.block,
                           own_ + static_cast<std::uint32_t>(at), rule_.random, codes_.data() + at);
    thc_kernels().rotate_back(block, rule_.block, key(b));
    for (std::size_t i = 0; i < n; ++i) v_[at + i] -= block[i];
  }

  ThcRule rule_;
  std::span<const float> given_;
  std::span<float> v_;
  float ranks_, levels_;
  std::uint32_t shared_, own_;
  std::vector<float> rotated_, tops_;
  std::vector<std::uint8_t> codes_;
  int step_ = 0;
};

class Thc : public LinearCodec {
 public:
  Thc(std::string text, const ThcRule& rule) : LinearCodec(std::move(text)), rule_(rule) {}
  CodecState make_state(std::size_t size, const Place& place) const override {
    return state_with_residual(*this, size, place);
  }
  Result<StateShape> shape_of_state(const CodecState&) const override { return StateShape{1}; }
  double wire_bytes(std::size_t size) const override {
    const std::size_t blocks = (size + rule_.block - 1) / rule_.block;
    return static_cast<double>(blocks * (rule_.block + 4));
  }
  Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                           CodecState& state) const override {
    CHECK(state.codec == text() && values.size() == state.size);
    if (state.place.ranks > 127) {
      return Error{ErrorKind::kUnsupported,
                   fmt::format("thc sums codes of {} ranks in a byte; it serves at most 127",
                               state.place.ranks),
                   "use int8 or qsgd"};
    }
    if (const Status sum = accumulate(values, state.local.front()); !sum.ok()) return sum.error();
    return std::unique_ptr<LinearRun>(std::make_unique<ThcRun>(rule_, values, state));
  }

 private:
  ThcRule rule_;
};

}  // namespace

std::unique_ptr<Codec> make_blocksparse(Parameters& p) {
  const auto block = static_cast<std::size_t>(p.integer("block", 256, 1, 1 << 20));
  return std::make_unique<BlockSparse>(p.text(), block);
}

std::unique_ptr<Codec> make_thc(Parameters& p) {
  ThcRule rule;
  rule.bits = static_cast<std::uint32_t>(p.integer("bits", 6, 1, 8));
  rule.block = static_cast<std::size_t>(p.integer("block", 1024, 8, 65536));
  if (!std::has_single_bit(rule.block)) p.complain("thc: block must be a power of two");
  rule.random = p.word("round", "nearest", {"nearest", "random"}) == "random";
  return std::make_unique<Thc>(p.text(), rule);
}

}  // namespace weft::codec

// PowerSGD (Vogels, Karimireddy and Jaggi 2019): a tensor as a nearly square matrix M ≈ P Qᵀ of low
// rank, by one step of the power method from the last Q (warm start). P = Σ M Q is summed and made
// orthonormal, then Q = Σ Mᵀ P is summed. A rank keeps M − P Qᵀ of its own Q, so that the residuals
// of all ranks are what the sum lacks.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "codec/draw.h"
#include "codec/linear.h"
#include "codec/linear_parts.h"
#include "codec/matrix_kernels.h"

namespace weft::codec {
namespace {

// Makes columns orthonormal in place (modified Gram-Schmidt, in double). A column that is nothing
// but a combination of those before it becomes 0: it carries no news.
void orthonormalise(std::vector<float>& p, std::size_t rows, std::size_t rank) {
  constexpr double kVanished = 1e-6;  // of the norm that it had
  for (std::size_t k = 0; k < rank; ++k) {
    float* column = p.data() + k * rows;
    const auto dot = [&](const float* a) {
      double sum = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        sum += static_cast<double>(a[i]) * static_cast<double>(column[i]);
      }
      return sum;
    };
    const double before = std::sqrt(dot(column));
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      const float* other = p.data() + earlier * rows;
      const double share = dot(other);
      for (std::size_t i = 0; i < rows; ++i) {
        column[i] = static_cast<float>(column[i] - share * static_cast<double>(other[i]));
      }
    }
    const double norm = std::sqrt(dot(column));
    const double scale = norm > kVanished * before && norm > 0 ? 1 / norm : 0;
    for (std::size_t i = 0; i < rows; ++i) column[i] = static_cast<float>(column[i] * scale);
  }
}

class PowerSgdRun : public LinearRun {
 public:
  PowerSgdRun(const MatrixShape& shape, CodecState& state)
      : shape_(shape),
        matrix_(state.local.front()),
        sum_(state.shared.front()),
        p_(shape.rows * shape.rank) {}
  // The first pass. An error leaves the residual as before, up to rounding.
  Status start(std::span<const float> values) {
    if (matrix_kernels().project(shape_, values.data(), matrix_.data(), sum_.data(), p_.data())) {
      return {};
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i] + matrix_[i])) matrix_[i] -= values[i];
    }
    const Status finite = check_finite(values);
    if (!finite.ok()) return finite;
    return Error{ErrorKind::kInvalidInput, "gradients and their residuals overflow", ""};
  }
  bool done() const override { return step_ == 2; }
  Exchange exchange() override {
    if (step_ == 0) return exchange_of(p_, Element::kFloat32, Combine::kSum);
    return {Element::kFloat32, Combine::kSum, 0, std::as_writable_bytes(sum_), sum_.size()};
  }
  Status next() override {
    if (step_++ == 1) return check_finite(sum_);
    if (const Status status = check_finite(p_); !status.ok()) return status;
    orthonormalise(p_, shape_.rows, shape_.rank);
    matrix_kernels().project_back(shape_, matrix_.data(), p_.data(), sum_.data());
    own_.assign(sum_.begin(), sum_.end());
    return {};
  }
  void finish(std::span<float> sum) override {
    CHECK(done() && sum.size() == matrix_.size());
    matrix_kernels().expand(shape_, p_.data(), own_.data(), sum_.data(), matrix_.data(),
                            sum.data());
  }

 private:
  MatrixShape shape_;
  std::span<float> matrix_, sum_;  // values + residual; the last Q, then the next
  std::vector<float> p_, own_;
  int step_ = 0;
};

// A tensor for which factors would be no smaller goes as it is.
class WholeRun : public LinearRun {
 public:
  explicit WholeRun(CodecState& state) : v_(state.local.front()), sum_(v_.begin(), v_.end()) {}
  bool done() const override { return done_; }
  Exchange exchange() override { return exchange_of(sum_, Element::kFloat32, Combine::kSum); }
  Status next() override {
    done_ = true;
    std::fill(v_.begin(), v_.end(), 0.0F);
    return check_finite(sum_);
  }
  void finish(std::span<float> sum) override { std::copy(sum_.begin(), sum_.end(), sum.begin()); }

 private:
  std::span<float> v_;
  std::vector<float> sum_;
  bool done_ = false;
};

class PowerSgd : public LinearCodec {
 public:
  PowerSgd(std::string text, std::size_t rank) : LinearCodec(std::move(text)), rank_(rank) {}

  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state = state_with_residual(*this, size, place);
    const MatrixShape shape = shape_of(size);
    std::vector<float> q(shape.cols * shape.rank);
    const auto key = static_cast<std::uint32_t>(shared_key(state));
    for (std::size_t i = 0; i < q.size(); ++i) {
      q[i] = draw_unit(key + static_cast<std::uint32_t>(i)) - 0.5F;
    }
    state.shared.push_back(std::move(q));
    return state;
  }
  double wire_bytes(std::size_t size) const override {
    const MatrixShape shape = shape_of(size);
    return 4 * static_cast<double>(shape.rank == 0 ? size : (shape.rows + shape.cols) * shape.rank);
  }
  Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                           CodecState& state) const override {
    CHECK(state.codec == text() && values.size() == state.size);
    const MatrixShape shape = shape_of(state.size);
    if (shape.rank == 0) {
      if (const Status sum = accumulate(values, state.local.front()); !sum.ok()) return sum.error();
      return std::unique_ptr<LinearRun>(std::make_unique<WholeRun>(state));
    }
    auto run = std::make_unique<PowerSgdRun>(shape, state);
    if (const Status first = run->start(values); !first.ok()) return first.error();
    return std::unique_ptr<LinearRun>(std::move(run));
  }

 private:
  // Rank 0: not worth it.
  MatrixShape shape_of(std::size_t size) const {
    const auto cols = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(size))));
    if (cols == 0) return {};
    MatrixShape shape{(size + cols - 1) / cols, cols, size, rank_};
    if ((shape.rows + shape.cols) * rank_ >= size) return {0, 0, size, 0};
    return shape;
  }

  std::size_t rank_;
};

}  // namespace

std::unique_ptr<Codec> make_powersgd(Parameters& p) {
  const auto rank = static_cast<std::size_t>(p.integer("rank", 4, 1, 64));
  return std::make_unique<PowerSgd>(p.text(), rank);
}

}  // namespace weft::codec

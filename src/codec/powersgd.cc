// PowerSGD (Vogels, Karimireddy and Jaggi 2019): a tensor as a nearly square matrix M ≈ P Qᵀ of low
// rank, by one step of the power method from the last Q (warm start). P = Σ M Q is summed and made
// orthonormal, then Q = Σ Mᵀ P is summed. A rank keeps M − P Qᵀ of its own Q, so that the residuals
// of all ranks are what the sum lacks.
#include <fmt/core.h>

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
void orthonormalise(std::span<float> p, std::size_t rows, std::size_t rank) {
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

// A state's matrices, where each begins among the values, in P and in Q, and the values between
// them, which are sent with P as they are.
struct Layout {
  struct Matrix {
    MatrixShape shape;
    std::size_t from, p, q;
  };
  std::vector<Matrix> matrices;
  std::vector<std::pair<std::size_t, std::size_t>> rest;  // first, number
  std::size_t p = 0, q = 0, rested = 0, reached = 0;

  void add(std::size_t from, const MatrixShape& shape) {
    rest_until(from);
    matrices.push_back({shape, from, p, q});
    p += shape.rows * shape.rank;
    q += shape.cols * shape.rank;
    reached = from + shape.count;
  }
  void rest_until(std::size_t end) {
    if (end > reached) rest.emplace_back(reached, end - reached);
    rested += end - reached;
    reached = end;
  }
};

class PowerSgdRun : public LinearRun {
 public:
  PowerSgdRun(Layout layout, std::span<const float> given, CodecState& state)
      : layout_(std::move(layout)),
        given_(given),
        matrix_(state.local.front()),
        sum_(state.shared.front()),
        before_(sum_.begin(), sum_.end()),
        p_(layout_.p + layout_.rested) {}
  // The first pass. An error leaves the residual as before, up to rounding.
  Status start() {
    const std::span<const float> values = given_;
    bool finite = true;
    for (const auto& [shape, from, p, q] : layout_.matrices) {
      finite = matrix_kernels().project(shape, values.data() + from, matrix_.data() + from,
                                        sum_.data() + q, p_.data() + p) &&
               finite;
    }
    float* out = p_.data() + layout_.p;
    for (const auto& [first, count] : layout_.rest) {
      for (std::size_t i = first; i < first + count; ++i) {
        *out = matrix_[i] + values[i];
        finite = finite && std::isfinite(*out);
        if (std::isfinite(*out)) matrix_[i] = *out;
        ++out;
      }
    }
    if (finite) return {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i] + matrix_[i])) matrix_[i] -= values[i];
    }
    const Status checked = check_finite(values);
    if (!checked.ok()) return checked;
    return Error{ErrorKind::kInvalidInput, "gradients and their residuals overflow", ""};
  }
  bool done() const override { return step_ == 2; }
  Exchange exchange() override {
    if (step_ == 0) return exchange_of(p_, Element::kFloat32, Combine::kSum);
    return {Element::kFloat32, Combine::kSum, 0, std::as_writable_bytes(sum_), sum_.size()};
  }
  Status next() override {
    Status status = step_++ == 0 ? take_p() : check_factors(sum_);
    if (status.ok()) return status;
    // The next step must not begin from what this one left.
    std::copy(before_.begin(), before_.end(), sum_.begin());
    take_out(given_, matrix_);
    return status;
  }
  void finish(std::span<float> sum) override {
    CHECK(done() && sum.size() == matrix_.size());
    for (const auto& [shape, from, p, q] : layout_.matrices) {
      matrix_kernels().expand(shape, p_.data() + p, own_.data() + q, sum_.data() + q,
                              matrix_.data() + from, sum.data() + from);
    }
    const float* in = p_.data() + layout_.p;
    for (const auto& [first, count] : layout_.rest) {
      std::copy_n(in, count, sum.begin() + static_cast<std::ptrdiff_t>(first));
      std::fill_n(matrix_.begin() + static_cast<std::ptrdiff_t>(first), count, 0.0F);
      in += count;
    }
  }

 private:
  Status take_p() {
    if (Status status = check_finite(p_); !status.ok()) return status;
    for (const auto& [shape, from, p, q] : layout_.matrices) {
      orthonormalise({p_.data() + p, shape.rows * shape.rank}, shape.rows, shape.rank);
      matrix_kernels().project_back(shape, matrix_.data() + from, p_.data() + p, sum_.data() + q);
    }
    own_.assign(sum_.begin(), sum_.end());
    return check_factors(own_);
  }
  // P has columns of norm 1 and at most 64 of them, so that products with such a Q are finite, also
  // when they are taken from a value that is nearly the largest float.
  static Status check_factors(std::span<const float> q) {
    constexpr float kMost = 0x1p96F;
    const auto bad =
        std::find_if_not(q.begin(), q.end(), [](float x) { return std::abs(x) < kMost; });
    if (bad == q.end()) return {};
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("value {} of Q is {}; powersgd sends magnitudes below {}",
                             bad - q.begin(), *bad, kMost),
                 "skip the step, or lower the loss scale"};
  }

  const Layout layout_;
  std::span<const float> given_;
  std::span<float> matrix_, sum_;  // values + residual; the last Qs, then the next
  std::vector<float> before_;      // the last Qs
  std::vector<float> p_, own_;
  int step_ = 0;
};

// A tensor for which factors would be no smaller goes as it is.
class WholeRun : public LinearRun {
 public:
  WholeRun(std::span<const float> given, CodecState& state)
      : given_(given), v_(state.local.front()), sum_(v_.begin(), v_.end()) {}
  bool done() const override { return done_; }
  Exchange exchange() override { return exchange_of(sum_, Element::kFloat32, Combine::kSum); }
  Status next() override {
    done_ = true;
    Status status = check_finite(sum_);
    if (status.ok()) {
      std::fill(v_.begin(), v_.end(), 0.0F);
    } else {
      take_out(given_, v_);
    }
    return status;
  }
  void finish(std::span<float> sum) override { std::copy(sum_.begin(), sum_.end(), sum.begin()); }

 private:
  std::span<const float> given_;
  std::span<float> v_;
  std::vector<float> sum_;
  bool done_ = false;
};

class PowerSgd : public LinearCodec {
 public:
  PowerSgd(std::string text, std::size_t rank) : LinearCodec(std::move(text)), rank_(rank) {}

  // Shared: Q of every matrix; then, if matrices were named, for each of them the values between it
  // and the one before, its rows and its columns.
  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state = state_with_residual(*this, size, place);
    std::vector<float> named;
    Layout layout;
    if (place.matrices.empty()) {
      layout.add(0, shape_of(size));
    } else {
      for (const MatrixPlace& m : place.matrices) {
        CHECK(m.from >= layout.reached && m.from + m.rows * m.cols <= size);
        if (!worthwhile(m.rows, m.cols)) continue;
        for (const std::size_t number : {m.from - layout.reached, m.rows, m.cols}) {
          named.push_back(static_cast<float>(number));
        }
        layout.add(m.from, {m.rows, m.cols, m.rows * m.cols, rank_});
      }
    }
    std::vector<float> q(layout.q);
    const auto key = static_cast<std::uint32_t>(shared_key(state));
    for (std::size_t i = 0; i < q.size(); ++i) {
      q[i] = draw_unit(key + static_cast<std::uint32_t>(i)) - 0.5F;
    }
    state.shared.push_back(std::move(q));
    if (!place.matrices.empty()) state.shared.push_back(std::move(named));
    return state;
  }
  Result<StateShape> shape_of_state(const CodecState& state) const override {
    const auto layout = layout_of(state);
    if (!layout.ok()) return layout.error();
    StateShape shape{1, {layout->q}};
    if (state.shared.size() >= 2) shape.shared.push_back(3 * layout->matrices.size());
    return shape;
  }
  bool shaped() const override { return true; }
  double wire_bytes(std::size_t size) const override {
    const MatrixShape shape = shape_of(size);
    return 4 * static_cast<double>(shape.rank == 0 ? size : (shape.rows + shape.cols) * shape.rank);
  }
  double shaped_bytes(std::size_t size, const std::vector<MatrixPlace>& matrices) const override {
    if (matrices.empty()) return wire_bytes(size);
    auto sent = static_cast<double>(size);
    for (const MatrixPlace& m : matrices) {
      if (!worthwhile(m.rows, m.cols)) continue;
      sent -= static_cast<double>(m.rows * m.cols) - static_cast<double>((m.rows + m.cols) * rank_);
    }
    return 4 * sent;
  }
  Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                           CodecState& state) const override {
    CHECK(state.codec == text() && values.size() == state.size);
    auto layout = layout_of(state);
    if (!layout.ok()) return layout.error();
    const std::size_t kept = state.shared.empty() ? 0 : state.shared.front().size();
    if (kept != layout->q) {
      return misfit(fmt::format("Q of a state has {} values", kept), std::to_string(layout->q));
    }
    if (layout->matrices.empty() || layout->matrices.front().shape.rank == 0) {
      if (const Status sum = accumulate(values, state.local.front()); !sum.ok()) return sum.error();
      return std::unique_ptr<LinearRun>(std::make_unique<WholeRun>(values, state));
    }
    auto run = std::make_unique<PowerSgdRun>(std::move(*layout), values, state);
    if (const Status first = run->start(); !first.ok()) return first.error();
    return std::unique_ptr<LinearRun>(std::move(run));
  }

 private:
  bool worthwhile(std::size_t rows, std::size_t cols) const {
    // Larger numbers would not be whole in a state's floats.
    constexpr std::size_t kMost = 1 << 24;
    return rows < kMost && cols < kMost && (rows + cols) * rank_ < rows * cols;
  }
  // What the matrices named in the state, which may come from outside, or its size mean.
  Result<Layout> layout_of(const CodecState& state) const {
    Layout layout;
    if (state.shared.size() < 2) {
      layout.add(0, shape_of(state.size));
    } else {
      const std::vector<float>& named = state.shared[1];
      for (std::size_t i = 0; i + 2 < named.size(); i += 3) {
        std::size_t whole[3] = {};
        for (std::size_t k = 0; k < 3; ++k) {
          const float number = named[i + k];
          if (!(number >= 0 && number <= 0x1p24F && number == std::floor(number))) {
            return misfit(
                fmt::format("number {} of the matrices named in a state is {}", i + k, number),
                "a whole number of at most 2^24");
          }
          whole[k] = static_cast<std::size_t>(number);
        }
        const auto [gap, rows, cols] = whole;
        if (!worthwhile(rows, cols)) {
          return misfit(fmt::format("matrix {} of a state is {} x {}", i / 3, rows, cols),
                        fmt::format("one that factors of rank {} make smaller", rank_));
        }
        const std::size_t left = state.size - layout.reached;
        if (gap > left || rows * cols > left - gap) {
          return misfit(
              fmt::format("matrix {} of a state has {} values after {}", i / 3, rows * cols, gap),
              fmt::format("at most the {} that are left", left));
        }
        layout.add(layout.reached + gap, {rows, cols, rows * cols, rank_});
      }
      layout.rest_until(state.size);
    }
    return layout;
  }
  static Error misfit(const std::string& seen, const std::string& allowed) {
    return {ErrorKind::kInvalidInput, fmt::format("{}; it must be {}", seen, allowed), ""};
  }
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

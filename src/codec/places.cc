// Linear codecs that sum exact values at places which all ranks know: random-k draws them, ScaleCom
// takes those of one rank, count-sketch finds them in a sum of sketches.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "codec/draw.h"
#include "codec/linear.h"
#include "codec/linear_parts.h"
#include "codec/threshold.h"

namespace weft::codec {
namespace {

// The last round, the same for all three. The residual holds v = values + residual from the start;
// what is sent of it goes. A first round, if any, gives the places.
class PlacesRun : public LinearRun {
 public:
  PlacesRun(std::span<const float> given, CodecState& state)
      : given_(given), v_(state.local.front()) {}
  bool done() const override { return step_ == 2; }
  Exchange exchange() override {
    return step_ == 0 ? find() : exchange_of(values_, Element::kFloat32, Combine::kSum);
  }
  Status next() override {
    const bool first = step_++ == 0;
    Status status = first ? found() : check_finite(values_);
    if (!status.ok()) {
      for (std::size_t i = 0; i < taken_.size(); ++i) v_[at(i)] = taken_[i];
      take_out(given_, v_);
    } else if (first) {
      take();
    }
    return status;
  }
  void finish(std::span<float> sum) override {
    CHECK(done() && sum.size() == v_.size());
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (std::size_t i = 0; i < places_.size(); ++i) sum[at(i)] = values_[i];
  }

 protected:
  virtual Exchange find() = 0;  // the round that finds the places
  virtual Status found() = 0;   // makes places_ of what it left: rising, in range
  void know(std::vector<std::int32_t> places) {
    places_ = std::move(places);
    take();
    step_ = 1;
  }
  std::span<const float> v() const { return v_; }
  std::vector<std::int32_t> places_;

 private:
  std::size_t at(std::size_t i) const { return static_cast<std::size_t>(places_[i]); }
  void take() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      taken_.push_back(v_[at(i)]);
      v_[at(i)] = 0;
    }
    values_ = taken_;
  }
  std::span<const float> given_;
  std::span<float> v_;
  std::vector<float> taken_, values_;  // of this rank; then the sum
  int step_ = 0;
};

// What the three codecs share: a residual, and tensors that 31 bits can count.
class PlacesCodec : public LinearCodec {
 public:
  CodecState make_state(std::size_t size, const Place& place) const override {
    return state_with_residual(*this, size, place);
  }
  Result<StateShape> shape_of_state(const CodecState&) const override { return StateShape{1}; }
  Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                           CodecState& state) const override {
    CHECK(state.codec == text() && values.size() == state.size);
    constexpr std::size_t kMost = std::size_t{1} << 31;
    if (values.size() >= kMost) {
      return Error{ErrorKind::kUnsupported,
                   fmt::format("{} values; {} takes fewer than {}", values.size(), text(), kMost),
                   "split the bucket"};
    }
    if (const Status sum = accumulate(values, state.local.front()); !sum.ok()) return sum.error();
    return start(values, state);
  }

 protected:
  PlacesCodec(std::string text, double rate) : LinearCodec(std::move(text)), rate_(rate) {}
  virtual std::unique_ptr<LinearRun> start(std::span<const float> values,
                                           CodecState& state) const = 0;
  std::size_t kept(std::size_t size) const { return kept_of(rate_, size); }

 private:
  double rate_;
};

// Random-k with a shared seed (Stich, Cordonnier and Jaggi 2018): one place of each of k equal
// stretches, so that places differ and rise.
class RandomKRun : public PlacesRun {
 public:
  RandomKRun(std::span<const float> values, CodecState& state, std::size_t kept)
      : PlacesRun(values, state) {
    std::vector<std::int32_t> places;
    places.reserve(kept);
    const std::uint64_t key = shared_key(state);
    for (std::size_t i = 0; i < kept; ++i) {
      const std::size_t from = i * state.size / kept, end = (i + 1) * state.size / kept;
      places.push_back(static_cast<std::int32_t>(from + mix(key + i) % (end - from)));
    }
    know(std::move(places));
  }

 protected:
  Exchange find() override { return {}; }
  Status found() override { return {}; }
};

class RandomK : public PlacesCodec {
 public:
  RandomK(std::string text, double rate) : PlacesCodec(std::move(text), rate) {}
  double wire_bytes(std::size_t size) const override { return 4 * static_cast<double>(kept(size)); }

 protected:
  std::unique_ptr<LinearRun> start(std::span<const float> values,
                                   CodecState& state) const override {
    return std::make_unique<RandomKRun>(values, state, kept(state.size));
  }
};

// ScaleCom (Chen et al. 2020, cyclic local top-k): each step another rank's largest magnitudes say
// which places all ranks send, so that the message does not grow with the ranks.
class ScaleComRun : public PlacesRun {
 public:
  ScaleComRun(std::span<const float> values, CodecState& state, std::size_t kept)
      : PlacesRun(values, state),
        leader_(static_cast<std::uint32_t>(state.step % state.place.ranks)) {
    places_.assign(kept, -1);
    if (state.place.rank != leader_ || kept == 0) return;
    Threshold threshold = exact_threshold(v(), nullptr, kept);
    std::size_t found = 0;
    for (std::size_t i = 0; i < v().size() && found < kept; ++i) {
      const float size = std::abs(v()[i]);
      if (size < threshold.magnitude) continue;
      if (size == threshold.magnitude && threshold.ties-- == 0) {
        threshold.ties = 0;
        continue;
      }
      places_[found++] = static_cast<std::int32_t>(i);
    }
  }

 protected:
  Exchange find() override {
    Exchange round = exchange_of(places_, Element::kInt32, Combine::kBroadcast);
    round.root = leader_;
    return round;
  }
  // Unused places, when fewer values than asked for are not 0, are −1 at the end.
  Status found() override {
    while (!places_.empty() && places_.back() == -1) places_.pop_back();
    std::int64_t last = -1;
    for (const std::int32_t place : places_) {
      if (place <= last || static_cast<std::size_t>(place) >= v().size()) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("rank {} sent place {} after {} of {} values", leader_, place,
                                 last, v().size()),
                     ""};
      }
      last = place;
    }
    return {};
  }

 private:
  std::uint32_t leader_;
};

class ScaleCom : public PlacesCodec {
 public:
  ScaleCom(std::string text, double rate) : PlacesCodec(std::move(text), rate) {}
  double wire_bytes(std::size_t size) const override { return 8 * static_cast<double>(kept(size)); }

 protected:
  std::unique_ptr<LinearRun> start(std::span<const float> values,
                                   CodecState& state) const override {
    return std::make_unique<ScaleComRun>(values, state, kept(state.size));
  }
};

// Count-sketch (Charikar, Chen and Farach-Colton 2002; for gradients Ivkin et al., SketchedSGD,
// 2019): every row adds each value, with a random sign, to one of its cells. Sums of sketches are
// sketches of sums; the median over rows estimates a value, and the largest estimates are the
// places.
class SketchRun : public PlacesRun {
 public:
  SketchRun(std::span<const float> values, CodecState& state, std::size_t kept, std::size_t rows,
            std::size_t cells)
      : PlacesRun(values, state), kept_(kept), rows_(rows), cells_(cells), key_(shared_key(state)) {
    table_.assign(rows * cells, 0.0F);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < v().size(); ++i) table_[cell(row, i)] += sign(row, i) * v()[i];
    }
  }

 protected:
  Exchange find() override { return exchange_of(table_, Element::kFloat32, Combine::kSum); }
  Status found() override {
    if (const Status status = check_finite(table_); !status.ok()) return status;
    std::vector<float> estimates(v().size());
    std::vector<float> row_values(rows_);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      for (std::size_t row = 0; row < rows_; ++row) {
        row_values[row] = sign(row, i) * table_[cell(row, i)];
      }
      const auto middle = row_values.begin() + static_cast<std::ptrdiff_t>(rows_ / 2);
      std::nth_element(row_values.begin(), middle, row_values.end());
      estimates[i] = *middle;
    }
    if (kept_ == 0) return {};
    Threshold threshold = exact_threshold(estimates, nullptr, kept_);
    for (std::size_t i = 0; i < estimates.size() && places_.size() < kept_; ++i) {
      const float size = std::abs(estimates[i]);
      if (size > threshold.magnitude || (size == threshold.magnitude && threshold.ties > 0)) {
        if (size == threshold.magnitude) --threshold.ties;
        places_.push_back(static_cast<std::int32_t>(i));
      }
    }
    return {};
  }

 private:
  std::uint32_t word(std::size_t row, std::size_t i) const {
    return static_cast<std::uint32_t>(mix(key_ + row * 0x9E3779B97F4A7C15ULL + i));
  }
  std::size_t cell(std::size_t row, std::size_t i) const {
    const std::uint64_t upper = word(row, i) >> 1;
    return row * cells_ + static_cast<std::size_t>(upper * cells_ >> 31);
  }
  float sign(std::size_t row, std::size_t i) const { return (word(row, i) & 1) != 0 ? -1 : 1; }

  std::size_t kept_, rows_, cells_;
  std::uint64_t key_;
  std::vector<float> table_;
};

class Sketch : public PlacesCodec {
 public:
  Sketch(std::string text, double rate, std::size_t rows, std::size_t width)
      : PlacesCodec(std::move(text), rate), rows_(rows), width_(width) {}
  double wire_bytes(std::size_t size) const override {
    return 4 * static_cast<double>(rows_ * cells(size) + kept(size));
  }

 protected:
  std::unique_ptr<LinearRun> start(std::span<const float> values,
                                   CodecState& state) const override {
    return std::make_unique<SketchRun>(values, state, kept(state.size), rows_, cells(state.size));
  }

 private:
  std::size_t cells(std::size_t size) const {
    return std::max<std::size_t>(kept(size) * width_, 1);
  }
  std::size_t rows_, width_;
};

}  // namespace

std::unique_ptr<Codec> make_randomk(Parameters& p) {
  const double rate = p.number("rate", 0.01, 1e-6, 1);
  return std::make_unique<RandomK>(p.text(), rate);
}
std::unique_ptr<Codec> make_scalecom(Parameters& p) {
  const double rate = p.number("rate", 0.01, 1e-6, 1);
  return std::make_unique<ScaleCom>(p.text(), rate);
}
std::unique_ptr<Codec> make_sketch(Parameters& p) {
  const double rate = p.number("rate", 0.001, 1e-6, 1);
  const auto rows = static_cast<std::size_t>(p.integer("rows", 3, 1, 15));
  const auto width = static_cast<std::size_t>(p.integer("width", 10, 1, 1000));
  if (rows % 2 == 0) p.complain("sketch: rows must be odd, for the median is one of them");
  return std::make_unique<Sketch>(p.text(), rate, rows, width);
}

}  // namespace weft::codec

// Codecs and values for tests of compressed averages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "codec/codecs.h"

namespace weft::runtime {

inline std::shared_ptr<const codec::Codec> codec_of(const std::string& text) {
  return std::shared_ptr<const codec::Codec>(std::move(codec::make_codec(text).value()));
}

// What rank `rank` gives as value i at a step: of either sign and of several magnitudes.
inline float gradient(int rank, std::uint64_t step, std::size_t i) {
  const auto x = static_cast<double>(i * 37 + static_cast<std::size_t>(rank) * 101 + step * 13);
  return static_cast<float>(std::sin(x) * (1 + static_cast<double>(i % 7)));
}
inline std::vector<float> gradients(int rank, std::uint64_t step, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = gradient(rank, step, i);
  return values;
}

// A value that a rank of the codec below stumbles over, after its first round.
inline constexpr float kStumble = 12345;

// A linear codec with a round of each kind: the least scale that fits all, then whole numbers, with
// error feedback; rank 0's word at the end.
class WholeNumbers : public codec::LinearCodec {
 public:
  WholeNumbers() : LinearCodec("whole-numbers") {}
  codec::CodecState make_state(std::size_t size, const codec::Place& place) const override {
    return {text(), size, place, 0, {std::vector<float>(size)}, {}};
  }
  Result<codec::StateShape> shape_of_state(const codec::CodecState&) const override {
    return codec::StateShape{1};
  }
  double wire_bytes(std::size_t size) const override { return 4.0 * static_cast<double>(size); }
  Result<std::unique_ptr<codec::LinearRun>> begin(std::span<const float> values,
                                                  codec::CodecState& state) const override {
    for (const float value : values) {
      if (!std::isfinite(value)) {
        return Error{ErrorKind::kInvalidInput, "a value is not finite", ""};
      }
    }
    return std::unique_ptr<codec::LinearRun>(std::make_unique<Run>(values, state));
  }

 private:
  class Run : public codec::LinearRun {
   public:
    Run(std::span<const float> values, codec::CodecState& state) : state_(state) {
      float* residual = state.residual(0, values.size()).exact;
      for (std::size_t i = 0; i < values.size(); ++i) {
        residual[i] += values[i];
        stumbles_ = stumbles_ || values[i] == kStumble;
        largest_ = std::max(largest_, std::abs(residual[i]));
      }
      numbers_.resize(values.size());
    }
    bool done() const override { return round_ == 3; }
    codec::Exchange exchange() override {
      using codec::Combine, codec::Element;
      if (round_ == 0) return {Element::kFloat32, Combine::kMax, 0, bytes_of(&largest_, 1), 1};
      if (round_ == 2) return {Element::kUint8, Combine::kBroadcast, 0, bytes_of(&word_, 1), 1};
      return {Element::kInt32, Combine::kSum, 0, bytes_of(numbers_.data(), numbers_.size()),
              numbers_.size()};
    }
    Status next() override {
      if (stumbles_) return Error{ErrorKind::kInvalidInput, "a value to stumble over", ""};
      if (round_++ == 0) {
        scale_ = largest_ > 0 ? largest_ / 100 : 1;
        for (std::size_t i = 0; i < numbers_.size(); ++i) {
          float& residual = state_.local[0][i];
          numbers_[i] = static_cast<std::int32_t>(std::lround(residual / scale_));
          residual -= scale_ * static_cast<float>(numbers_[i]);
        }
      }
      return {};
    }
    void finish(std::span<float> sum) override {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = scale_ * static_cast<float>(numbers_[i]);
      }
    }

   private:
    template <typename T>
    static std::span<std::byte> bytes_of(T* at, std::size_t count) {
      return std::as_writable_bytes(std::span(at, count));
    }
    codec::CodecState& state_;
    std::vector<std::int32_t> numbers_;
    float largest_ = 0, scale_ = 1;
    std::uint8_t word_ = 7;
    bool stumbles_ = false;
    int round_ = 0;
  };
};

// Every codec there is, and a linear one that is always there.
inline std::vector<std::shared_ptr<const codec::Codec>> all_codecs() {
  std::vector<std::shared_ptr<const codec::Codec>> all = {std::make_shared<WholeNumbers>()};
  for (const auto& help : codec::codec_list()) all.push_back(codec_of(help.name));
  return all;
}

}  // namespace weft::runtime

// The rules of reduce.h one element at a time, written for trust instead of speed: what tests
// compare the kernels with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/data_type.h"

namespace weft::runtime::reference {

// A binary format of 16 bits by the numbers of its exponent and fraction bits.
template <int kExponentBits, int kFractionBits>
struct Short {
  static constexpr int kLeast = 2 - (1 << (kExponentBits - 1));  // exponent of the least normal
  static constexpr int kEndless = (1 << kExponentBits) - 1;      // of infinity and NaN
  std::uint16_t bits;

  float decode() const {
    const int exponent = bits >> kFractionBits & kEndless;
    const int fraction = bits & ((1 << kFractionBits) - 1);
    const int whole = exponent > 0 ? fraction + (1 << kFractionBits) : fraction;
    float size = std::ldexp(static_cast<float>(whole),
                            kLeast - kFractionBits + (exponent > 0 ? exponent - 1 : 0));
    if (exponent == kEndless) {
      size = fraction == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    }
    return bits >> 15 ? -size : size;
  }

  // Counts in units of the last place, which std::nearbyint rounds to even.
  static Short encode(float value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    int size = kEndless << kFractionBits;
    if (std::isnan(value)) {
      ++size;
    } else if (std::isfinite(value)) {
      const int exponent = value == 0 ? kLeast : std::max(std::ilogb(value), kLeast);
      const double units = std::nearbyint(
          std::ldexp(std::fabs(static_cast<double>(value)), kFractionBits - exponent));
      // A fraction that rounds up to the next power carries into the exponent by itself.
      size = std::min(size, ((exponent - kLeast) << kFractionBits) + static_cast<int>(units));
    }
    return {static_cast<std::uint16_t>(sign | size)};
  }
};
using Half = Short<5, 10>;
using Brain = Short<8, 7>;

template <typename T>
auto widen(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return value.decode();
  }
}

template <typename T, typename Wide>
T narrow(Wide value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return T::encode(value);
  }
}

template <typename Wide>
Wide apply(ReduceOp op, Wide a, Wide b) {
  if (op == ReduceOp::kSum || op == ReduceOp::kAverage) {
    if constexpr (std::is_floating_point_v<Wide>) {
      return a + b;
    } else {
      using Unsigned = std::make_unsigned_t<Wide>;  // wraps around
      return static_cast<Wide>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }
  }
  if (b != b) return b;
  return (op == ReduceOp::kMin ? b < a : b > a) ? b : a;
}

// f(T{}) with the type that stands for `type`.
template <typename F>
auto with_type(DataType type, F f) {
  switch (type) {
    case DataType::kFloat32:
      return f(float{});
    case DataType::kFloat64:
      return f(double{});
    case DataType::kFloat16:
      return f(Half{});
    case DataType::kBfloat16:
      return f(Brain{});
    case DataType::kInt32:
      return f(std::int32_t{});
    case DataType::kInt64:
      return f(std::int64_t{});
    case DataType::kUint8:
      break;
  }
  return f(std::uint8_t{});
}

template <typename T>
T element(const std::byte* buffer, std::size_t index) {
  T value;
  std::memcpy(&value, buffer + index * sizeof(T), sizeof(T));
  return value;
}

inline std::vector<std::byte> combine_many(std::span<const std::byte* const> sources,
                                           std::size_t count, DataType type, ReduceOp op) {
  std::vector<std::byte> target(count * size_of(type));
  with_type(type, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      auto value = widen(element<T>(sources[0], i));
      for (const std::byte* source : sources.subspan(1)) {
        value = apply(op, value, widen(element<T>(source, i)));
      }
      const T result = narrow<T>(value);
      std::memcpy(target.data() + i * sizeof(T), &result, sizeof(T));
    }
  });
  return target;
}

inline std::vector<std::byte> scale_down(const std::byte* source, std::size_t count, DataType type,
                                         std::uint32_t divisor) {
  std::vector<std::byte> target(count * size_of(type));
  with_type(type, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = widen(element<T>(source, i));
      using Wide = std::remove_const_t<decltype(value)>;
      T result;
      if constexpr (std::is_floating_point_v<Wide>) {
        result = narrow<T>(value / static_cast<Wide>(divisor));
      } else {
        result = static_cast<T>(static_cast<std::int64_t>(value) / std::int64_t{divisor});
      }
      std::memcpy(target.data() + i * sizeof(T), &result, sizeof(T));
    }
  });
  return target;
}

// Index of the first element with unlike bits, where NaNs count as alike; `count` if there is none.
inline std::size_t first_unlike(const std::byte* a, const std::byte* b, std::size_t count,
                                DataType type) {
  return with_type(type, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::memcmp(a + i * sizeof(T), b + i * sizeof(T), sizeof(T)) == 0) continue;
      const auto x = widen(element<T>(a, i)), y = widen(element<T>(b, i));
      if (x == x || y == y) return i;
    }
    return count;
  });
}

}  // namespace weft::runtime::reference

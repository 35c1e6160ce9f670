#include "runtime/reduce.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/vector_testing.h"
#include "runtime/reduce_testing.h"

namespace weft::runtime {
namespace {

using ByteBuffer = std::vector<std::byte>;

constexpr std::array kTypes = {DataType::kFloat32,  DataType::kFloat64, DataType::kFloat16,
                               DataType::kBfloat16, DataType::kInt32,   DataType::kInt64,
                               DataType::kUint8};
constexpr std::array kOps = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAverage};
constexpr std::size_t kMostElements = 130;  // two rounds of the widest loop and its rest

// Bits that arithmetic stumbles over: the middle of the range first, then zeros, denormals, the
// largest, infinities, NaNs, the unit and its neighbours, all with both signs.
std::vector<std::uint64_t> special_bits(DataType type) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(type) - 1);
  const auto of_float = [&](int fraction_bits) {
    const std::uint64_t one = std::uint64_t{1} << fraction_bits, infinity = sign - one;
    std::vector<std::uint64_t> all = {infinity / 2, 0, 1, 2, one - 1, one, one + 1};
    for (const auto bits : {infinity - 1, infinity, infinity + 1, infinity + one / 2,
                            infinity / 2 + 1, infinity / 2 + one, infinity / 2 - 11 * one}) {
      all.push_back(bits);
    }
    for (std::size_t i = 0, positive = all.size(); i < positive; ++i) all.push_back(all[i] | sign);
    return all;
  };
  switch (type) {
    case DataType::kFloat32:
      return of_float(23);
    case DataType::kFloat64:
      return of_float(52);
    case DataType::kFloat16:
      return of_float(10);
    case DataType::kBfloat16:
      return of_float(7);
    default:
      return {0, 1, 2, sign - 1, sign, sign + 1, ~std::uint64_t{0}};
  }
}

// A third special bits, a third any bits, a third numbers of like size, whose sums are rounded.
ByteBuffer draw(DataType type, std::size_t count, Random& random) {
  const auto special = special_bits(type);
  const std::size_t size = size_of(type);
  ByteBuffer buffer(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = random.next();
    const auto kind = random.below(3);
    if (kind == 0) bits = special[random.below(special.size())];
    if (kind == 1) bits = special[0] ^ (bits >> (64 - 8 * size + 6));
    std::memcpy(buffer.data() + i * size, &bits, size);
  }
  return buffer;
}

// A buffer that begins `skew` bytes off a boundary and notices writes outside of it.
class Guarded {
 public:
  Guarded(const ByteBuffer& content, std::size_t skew)
      : skew_(kMargin + skew), size_(content.size()), bytes_(skew_ + size_ + kMargin, kGuard) {
    std::copy(content.begin(), content.end(), data());
  }
  std::byte* data() { return bytes_.data() + skew_; }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < skew_ || i >= skew_ + size_) && bytes_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kMargin = 64;
  static constexpr std::byte kGuard{0xA5};
  std::size_t skew_, size_;
  ByteBuffer bytes_;
};

// "" if the buffer holds what is wanted and nothing around it was touched.
std::string complaint(Guarded& got, const ByteBuffer& want, DataType type) {
  const std::size_t count = want.size() / size_of(type);
  const std::size_t at = reference::first_unlike(got.data(), want.data(), count, type);
  if (at < count) return fmt::format("element {} of {} {}", at, count, name_of(type));
  return got.intact() ? "" : "wrote outside of the target";
}

class ReduceTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};
  Random random_{20261116};
};

// Calls test(type, op, count, skew) for all of them; lengths as asked for, skews in turn.
template <typename Test>
void for_all(Test test) {
  std::size_t turn = 0;
  for (const DataType type : kTypes) {
    for (const ReduceOp op : kOps) {
      for (std::size_t count = 0; count <= kMostElements; ++count) {
        SCOPED_TRACE(fmt::format("{} {} x {}", name_of(type), name_of(op), count));
        test(type, op, count, turn++ % 9);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(ReduceTest, CombineIsTheReferenceInEveryPlace) {
  for_all([&](DataType type, ReduceOp op, std::size_t count, std::size_t skew) {
    const ByteBuffer a = draw(type, count, random_), b = draw(type, count, random_);
    const std::array<const std::byte*, 2> sources = {a.data(), b.data()};
    const ByteBuffer want = reference::combine_many(sources, count, type, op);

    Guarded apart(ByteBuffer(a.size()), skew);
    combine(apart.data(), a.data(), b.data(), count, type, op);
    EXPECT_EQ(complaint(apart, want, type), "");
    Guarded first(a, skew), second(b, skew / 2);
    combine(first.data(), first.data(), second.data(), count, type, op);
    EXPECT_EQ(complaint(first, want, type), "") << "in place of a";
    Guarded fresh(a, skew);
    combine(second.data(), fresh.data(), second.data(), count, type, op);
    EXPECT_EQ(complaint(second, want, type), "") << "in place of b";
  });
}

TEST_P(ReduceTest, CombineTwiceWritesTheSameTwice) {
  for_all([&](DataType type, ReduceOp op, std::size_t count, std::size_t skew) {
    const ByteBuffer a = draw(type, count, random_);
    Guarded b(draw(type, count, random_), skew), other(ByteBuffer(a.size()), skew / 3);
    const std::array<const std::byte*, 2> sources = {a.data(), b.data()};
    const ByteBuffer want = reference::combine_many(sources, count, type, op);
    combine_twice(b.data(), other.data(), a.data(), b.data(), count, type, op);
    EXPECT_EQ(complaint(b, want, type), "");
    EXPECT_EQ(complaint(other, want, type), "");
  });
}

TEST_P(ReduceTest, CombineManyKeepsTheOrderAndRoundsOnce) {
  for_all([&](DataType type, ReduceOp op, std::size_t count, std::size_t skew) {
    std::vector<Guarded> buffers;
    for (std::size_t s = 0; s <= skew % 6; ++s) {
      buffers.emplace_back(draw(type, count, random_), skew);
    }
    std::vector<const std::byte*> sources;
    for (Guarded& buffer : buffers) sources.push_back(buffer.data());
    const ByteBuffer want = reference::combine_many(sources, count, type, op);
    Guarded apart(ByteBuffer(want.size()), skew);
    combine_many(apart.data(), sources, count, type, op);
    EXPECT_EQ(complaint(apart, want, type), "") << sources.size() << " sources";
    Guarded& last = buffers.back();
    combine_many(last.data(), sources, count, type, op);
    EXPECT_EQ(complaint(last, want, type), "") << "in place, " << sources.size() << " sources";
  });
}

TEST_P(ReduceTest, ScaleDownDividesEveryElement) {
  const std::array<std::uint32_t, 6> divisors = {1, 2, 3, 7, 64, 1000};
  for_all([&](DataType type, ReduceOp, std::size_t count, std::size_t skew) {
    const ByteBuffer a = draw(type, count, random_);
    const std::uint32_t divisor = divisors[skew % divisors.size()];
    Guarded target(a, skew);
    scale_down(target.data(), count, type, divisor);
    EXPECT_EQ(complaint(target, reference::scale_down(a.data(), count, type, divisor), type), "")
        << "divided by " << divisor;
  });
}

// All 16-bit numbers, divided (results between representable ones) and added to special ones.
TEST_P(ReduceTest, ShortFloatsAreRightForEveryPattern) {
  constexpr std::size_t kCount = 65536;
  ByteBuffer all(2 * kCount), other(2 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(all.data() + 2 * i, &bits, 2);
  }
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    for (const std::uint32_t divisor : {2U, 3U, 1024U}) {
      Guarded target(all, 1);
      scale_down(target.data(), kCount, type, divisor);
      EXPECT_EQ(complaint(target, reference::scale_down(all.data(), kCount, type, divisor), type),
                "");
    }
    for (const std::uint64_t bits : special_bits(type)) {
      for (std::size_t i = 0; i < kCount; ++i) std::memcpy(other.data() + 2 * i, &bits, 2);
      const std::array<const std::byte*, 2> sources = {all.data(), other.data()};
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        Guarded target(all, 0);
        combine(target.data(), all.data(), other.data(), kCount, type, op);
        EXPECT_EQ(complaint(target, reference::combine_many(sources, kCount, type, op), type), "")
            << name_of(op) << " with bits " << bits;
      }
    }
  }
}

// Rows that a reader can check by hand, for kernels and reference alike.
TEST_P(ReduceTest, KnownSums) {
  struct Row {
    const char* sentence;
    DataType type;
    std::uint64_t a, b;
    ReduceOp op;
    std::uint64_t want;
  };
  const Row rows[] = {
      {"half 1 + 2^-11 is a tie and stays even", DataType::kFloat16, 0x3C00, 0x1000, ReduceOp::kSum,
       0x3C00},
      {"half (1 + 2^-10) + 2^-11 is a tie and goes up", DataType::kFloat16, 0x3C01, 0x1000,
       ReduceOp::kSum, 0x3C02},
      {"half 65504 + 16 rounds to infinity", DataType::kFloat16, 0x7BFF, 0x4C00, ReduceOp::kSum,
       0x7C00},
      {"half denormals add exactly", DataType::kFloat16, 0x0001, 0x03FF, ReduceOp::kSum, 0x0400},
      {"bfloat 1 + 2^-8 is a tie and stays even", DataType::kBfloat16, 0x3F80, 0x3B80,
       ReduceOp::kSum, 0x3F80},
      {"bfloat 1 + 3 x 2^-8 goes up", DataType::kBfloat16, 0x3F80, 0x3C40, ReduceOp::kSum, 0x3F82},
      {"min keeps a NaN on the left", DataType::kFloat32, 0x7FC00001, 0x3F800000, ReduceOp::kMin,
       0x7FC00001},
      {"max keeps a NaN on the right", DataType::kFloat32, 0x3F800000, 0x7FC00001, ReduceOp::kMax,
       0x7FC00001},
      {"min of zeros is the first", DataType::kFloat32, 0, 0x80000000, ReduceOp::kMin, 0},
      {"float denormals are not flushed", DataType::kFloat32, 1, 2, ReduceOp::kSum, 3},
      {"int32 wraps around", DataType::kInt32, 0x7FFFFFFF, 1, ReduceOp::kSum, 0x80000000},
      {"uint8 has no sign", DataType::kUint8, 200, 100, ReduceOp::kMax, 200},
      {"int64 has one", DataType::kInt64, ~std::uint64_t{0}, 1, ReduceOp::kMax, 1},
  };
  for (const Row& row : rows) {
    std::array<std::byte, 8> a, b;
    std::memcpy(a.data(), &row.a, 8);
    std::memcpy(b.data(), &row.b, 8);
    std::array<std::byte, 8> target{};
    const std::array<const std::byte*, 2> sources = {a.data(), b.data()};
    combine(target.data(), a.data(), b.data(), 1, row.type, row.op);
    ByteBuffer model = reference::combine_many(sources, 1, row.type, row.op);
    const std::size_t size = size_of(row.type);
    EXPECT_EQ(std::memcmp(target.data(), &row.want, size), 0) << row.sentence;
    EXPECT_EQ(std::memcmp(model.data(), &row.want, size), 0) << "reference: " << row.sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ReduceTest, ::testing::ValuesIn(vector_targets()),
                         vector_target_name);

TEST(ReduceTest, BothSetsOfX86AreTriedWhereTheyRun) {
#if defined(__x86_64__)
  EXPECT_EQ(vector_targets().size(), __builtin_cpu_supports("avx2") ? 2U : 1U);
#endif
}

}  // namespace
}  // namespace weft::runtime

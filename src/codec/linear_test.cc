// Linear codecs on several ranks: sums equal what their formulas say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "base/vector_testing.h"
#include "codec/codecs.h"
#include "codec/matrix_kernels.h"
#include "codec/ranks_testing.h"
#include "codec/threshold.h"

namespace weft::codec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Gradients = std::vector<std::vector<float>>;

Gradients random_gradients(std::uint32_t ranks, std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Gradients gradients(ranks, std::vector<float>(size));
  for (auto& gradient : gradients) {
    for (float& x : gradient) x = static_cast<float>(random.normal());
  }
  return gradients;
}

std::vector<float> plain_sum(const Gradients& gradients) {
  std::vector<float> sum(gradients[0].size());
  for (const auto& gradient : gradients) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  return sum;
}

TEST(Linear, RandomKSumsExactlyTheDrawnPlaces) {
  TestRanks ranks("randomk:rate=0.1", 3, 1000);
  const Gradients gradients = random_gradients(3, 1000, 1);
  const auto sum = ranks.sum(gradients);
  const std::vector<float> want = plain_sum(gradients);
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if ((*sum)[i] == 0) continue;
    places.insert(i);
    EXPECT_FLOAT_EQ((*sum)[i], want[i]);
  }
  EXPECT_EQ(places.size(), 100u);
  const auto second = ranks.sum(gradients);  // other places in the next step
  EXPECT_NE(*second, *sum);
}

TEST(Linear, ScaleComTakesTheLargestOfEachRankInTurn) {
  TestRanks ranks("scalecom:rate=0.25", 2, 4);
  EXPECT_THAT(*ranks.sum({{9, 1, 1, 1}, {1, 1, 1, 8}}), ElementsAre(10, 0, 0, 0));
  // Now rank 1 leads; its last value has gathered 16 and rank 0's there 2.
  EXPECT_THAT(*ranks.sum({{9, 1, 1, 1}, {1, 1, 1, 8}}), ElementsAre(0, 0, 0, 18));
}

TEST(Linear, ScaleComRefusesPlacesThatCannotBe) {
  const auto codec = must_make("scalecom:rate=0.5");
  for (const auto& places : {std::vector<std::int32_t>{1, 1}, {3, 2}, {0, 4}, {-1, 2}}) {
    CodecState state = codec->make_state(4, {1, 2, 1});
    const std::vector<float> values = {1, 2, 3, 4};
    auto run = codec->linear()->begin(values, state);
    ASSERT_TRUE(run.ok());
    const Exchange round = (*run)->exchange();
    EXPECT_EQ(round.combine, Combine::kBroadcast);
    std::copy_n(std::as_bytes(std::span(places)).data(), 8, round.data.data());
    EXPECT_THAT((*run)->next().error().what, HasSubstr("sent place"));
  }
}

TEST(Linear, SketchFindsWhatIsLargeInTheSumOnly) {
  const std::size_t size = 5000;
  TestRanks ranks("sketch:rate=0.001,rows=5,width=40", 4, size);
  Gradients gradients = random_gradients(4, size, 2);
  for (auto& gradient : gradients) {
    for (const std::size_t i : {7U, 1234U, 2500U, 4000U, 4999U}) gradient[i] += 100;
  }
  const auto sum = ranks.sum(gradients);
  const std::vector<float> want = plain_sum(gradients);
  for (std::size_t i = 0; i < size; ++i) {
    const bool large = i == 7 || i == 1234 || i == 2500 || i == 4000 || i == 4999;
    EXPECT_FLOAT_EQ((*sum)[i], large ? want[i] : 0.0F);
  }
}

// A sum of rank one is found exactly by rank one, after a step or two of the power method.
TEST(Linear, PowerSgdFindsALowRankSum) {
  const std::size_t side = 40, size = side * side - 11;
  TestRanks ranks("powersgd:rank=2", 3, size);
  Random random(3);
  Gradients gradients(3, std::vector<float>(size));
  std::vector<float> left(side), right(side);
  for (std::size_t i = 0; i < side; ++i) {
    left[i] = static_cast<float>(random.normal());
    right[i] = static_cast<float>(random.normal());
  }
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < size; ++i) {
      gradients[r][i] = static_cast<float>(r + 1) * left[i / side] * right[i % side];
    }
  }
  const auto sum = ranks.sum(gradients);
  const std::vector<float> want = plain_sum(gradients);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < size; ++i) {
    error += std::pow(static_cast<double>((*sum)[i] - want[i]), 2);
    norm += std::pow(static_cast<double>(want[i]), 2);
  }
  EXPECT_LT(error, 0.01 * norm);  // the cut last row is not of rank one
}

// One rank's average of `values` through a state that knows what the values are.
std::vector<float> averaged(const LinearCodec& codec, const std::vector<float>& values,
                            CodecState& state) {
  auto run = codec.begin(values, state);
  EXPECT_TRUE(run.ok());
  while (!(*run)->done()) EXPECT_TRUE((*run)->next().ok());
  std::vector<float> out(values.size());
  (*run)->finish(out);
  return out;
}

TEST(Linear, PowerSgdKnowsMatricesAmongTheValuesAndSendsTheRestAsItIs) {
  // Five values, a 40 x 30 matrix of rank 1, three values, a 3 x 2 matrix that is not worth it.
  const auto codec = make_codec("powersgd:rank=2").value();
  const std::size_t size = 5 + 1200 + 3 + 6;
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = 0.5F + static_cast<float>(i % 7);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t col = 0; col < 30; ++col) {
      values[5 + row * 30 + col] = (static_cast<float>(row) - 19) * (1 + static_cast<float>(col));
    }
  }
  Place place;
  place.matrices = {{5, 40, 30}, {1208, 3, 2}};
  CodecState state = codec->make_state(size, place);
  const std::vector<float> out = averaged(*codec->linear(), values, state);
  for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(out[i], values[i], 2e-3) << i;
  // It goes on from a saved state with the same matrices.
  CodecState again = restore(save(state)).value();
  EXPECT_EQ(averaged(*codec->linear(), values, again), averaged(*codec->linear(), values, state));
  // As one nearly square matrix it is of a higher rank.
  CodecState flat = codec->make_state(size, {});
  const std::vector<float> blurred = averaged(*codec->linear(), values, flat);
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i) {
    worst = std::max<double>(worst, std::abs(blurred[i] - values[i]));
  }
  EXPECT_GT(worst, 1);
}

TEST(Linear, PowerSgdRefusesStatesWhoseMatricesDoNotFit) {
  const auto codec = make_codec("powersgd:rank=2").value();
  Place place;
  place.matrices = {{5, 40, 30}};
  const CodecState good = codec->make_state(1300, place);
  const std::vector<float> values(1300, 1.0F);
  for (const std::vector<float>& named : {std::vector<float>{5, 40, 31},
                                          {200, 40, 30},
                                          {-1, 40, 30},
                                          {5, 1e30F, 30},
                                          {5, NAN, 30},
                                          {5, 40, 30, 0, 40, 30},
                                          {}}) {
    CodecState bad = good;
    bad.shared[1] = named;
    EXPECT_FALSE(codec->linear()->begin(values, bad).ok()) << named.size();
  }
}

// Rounds that end in numbers that cannot be, each in its turn: NaN, or a place out of range.
TEST(Linear, AFailedRoundLeavesTheStateAsItWas) {
  for (const auto& [name, rounds] : {std::pair{"randomk:rate=0.1", 1},
                                     {"scalecom:rate=0.1", 2},
                                     {"sketch:rate=0.1", 2},
                                     {"powersgd:rank=1", 2},
                                     {"powersgd:rank=64", 1},
                                     {"thc", 1}}) {
    const auto codec = must_make(name);
    const Gradients gradients = random_gradients(2, 1000, 9);
    for (int failing = 0; failing < rounds; ++failing) {
      SCOPED_TRACE(std::string(name) + ", round " + std::to_string(failing));
      CodecState state = codec->make_state(1000, {});
      averaged(*codec->linear(), gradients[0], state);
      codec->settle({}, state);
      const CodecState before = state;
      auto run = codec->linear()->begin(gradients[1], state);
      ASSERT_TRUE(run.ok());
      for (int round = 0; round < failing; ++round) ASSERT_TRUE((*run)->next().ok());
      const Exchange exchange = (*run)->exchange();
      const bool places = exchange.element == Element::kInt32;
      std::fill(exchange.data.begin(), exchange.data.end(),
                places ? std::byte{0x7F} : std::byte{0xFF});
      EXPECT_FALSE((*run)->next().ok());
      EXPECT_EQ(state.shared, before.shared);
      for (std::size_t i = 0; i < 1000; ++i) {
        ASSERT_NEAR(state.local[0][i], before.local[0][i], 2e-6F) << i;
      }
    }
  }
}

TEST(Linear, PowerSgdRefusesFactorsWhoseProductsAreNoFloats) {
  const auto codec = must_make("powersgd:rank=1");
  CodecState state = codec->make_state(100, {});
  const CodecState before = state;
  const std::vector<float> values(100, 1e30F);
  auto run = codec->linear()->begin(values, state);
  ASSERT_TRUE(run.ok());
  EXPECT_THAT((*run)->next().error().what, HasSubstr("powersgd sends magnitudes below"));
  EXPECT_TRUE(state == before);
}

TEST(Linear, PowerSgdSendsSmallTensorsWhole) {
  TestRanks ranks("powersgd:rank=4", 2, 30);
  const Gradients gradients = random_gradients(2, 30, 4);
  EXPECT_EQ(*ranks.sum(gradients), plain_sum(gradients));
}

TEST(Linear, BlockSparseIsExactAndLeavesOutCommonZeros) {
  const auto codec = must_make("blocksparse:block=4");
  TestRanks ranks("blocksparse:block=4", 2, 10);
  const Gradients gradients = {{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 2, 0, 0, 0, 0, 0, 0, 0, 1e-42F}};
  EXPECT_EQ(*ranks.sum(gradients), plain_sum(gradients));
  CodecState state = codec->make_state(10, {});
  auto run = codec->linear()->begin(gradients[0], state);
  EXPECT_EQ((*run)->exchange().count, 3u);
  ASSERT_TRUE((*run)->next().ok());
  EXPECT_EQ((*run)->exchange().count, 4u);  // one block of three
}

TEST(Linear, ThcSumsCodes) {
  for (const std::uint32_t ranks_count : {1U, 4U, 20U}) {
    TestRanks ranks("thc:bits=8,block=256", ranks_count, 1000);
    const Gradients gradients = random_gradients(ranks_count, 1000, 5);
    const auto sum = ranks.sum(gradients);
    const std::vector<float> want = plain_sum(gradients);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      error += std::pow(static_cast<double>((*sum)[i] - want[i]), 2);
      norm += std::pow(static_cast<double>(want[i]), 2);
    }
    // Steps are 2 · 4 σ / levels with levels = 255 / ranks; their squares over 12.
    const double step = 8.0 * ranks_count / 255;
    EXPECT_LT(error, norm * step * step / 12 * 2);
    EXPECT_GT(error, 0);
  }
  TestRanks many("thc", 128, 4);
  EXPECT_THAT(many.sum(Gradients(128, {1, 2, 3, 4})).error().what, HasSubstr("at most 127"));
}

class MatrixKernelsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};
};

// Every set of instructions gives the bits of plain loops.
TEST_P(MatrixKernelsTest, EqualPlainLoops) {
  for (const std::size_t rank : {1U, 3U, 4U, 7U}) {
    const MatrixShape shape{9, 37, 9 * 37 - 5, rank};
    Random random(rank);
    const auto draw = [&](std::size_t n) {
      std::vector<float> values(n);
      for (float& x : values) x = static_cast<float>(random.normal());
      return values;
    };
    const std::vector<float> values = draw(shape.count), q = draw(37 * rank), sum = draw(37 * rank);
    std::vector<float> residual = draw(shape.count), p(9 * rank);
    std::vector<float> v(shape.count), want_p(9 * rank), want_q(37 * rank);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = residual[i] + values[i];
    for (std::size_t k = 0; k < rank; ++k) {
      for (std::size_t i = 0; i < 9; ++i) {
        const std::size_t length = std::min<std::size_t>(37, shape.count - i * 37),
                          whole = length / 8 * 8;
        float columns[8] = {};
        for (std::size_t j = 0; j < whole; ++j) columns[j % 8] += v[i * 37 + j] * q[k * 37 + j];
        for (std::size_t half = 4; half > 0; half /= 2) {
          for (std::size_t j = 0; j < half; ++j) columns[j] += columns[j + half];
        }
        for (std::size_t j = whole; j < length; ++j) columns[0] += v[i * 37 + j] * q[k * 37 + j];
        want_p[k * 9 + i] = columns[0];
      }
    }
    ASSERT_TRUE(
        matrix_kernels().project(shape, values.data(), residual.data(), q.data(), p.data()));
    EXPECT_EQ(residual, v);
    EXPECT_EQ(p, want_p);
    std::vector<float> back(37 * rank, 9.0F), out(shape.count), want_out(shape.count);
    for (std::size_t i = 0; i < shape.count; ++i) {
      for (std::size_t k = 0; k < rank; ++k) {
        want_q[k * 37 + i % 37] += p[k * 9 + i / 37] * v[i];
      }
    }
    matrix_kernels().project_back(shape, residual.data(), p.data(), back.data());
    EXPECT_EQ(back, want_q);
    // Columns of the factors are taken by fours, then two, then one; each of these sums by itself.
    for (std::size_t i = 0; i < shape.count; ++i) {
      const std::size_t row = i / 37, col = i % 37;
      for (std::size_t k = 0; k < rank;) {
        const std::size_t together = rank - k >= 4 ? 4 : rank - k >= 2 ? 2 : 1, end = k + together;
        float own = p[k * 9 + row] * q[k * 37 + col], all = p[k * 9 + row] * sum[k * 37 + col];
        const bool first = k == 0;
        for (++k; k < end; ++k) {
          own += p[k * 9 + row] * q[k * 37 + col];
          all += p[k * 9 + row] * sum[k * 37 + col];
        }
        v[i] -= own;
        want_out[i] = first ? all : want_out[i] + all;
      }
    }
    matrix_kernels().expand(shape, p.data(), q.data(), sum.data(), residual.data(), out.data());
    EXPECT_EQ(out, want_out);
    EXPECT_EQ(residual, v);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, MatrixKernelsTest, ::testing::ValuesIn(vector_targets()),
                         vector_target_name);

TEST(Thresholds, AreExact) {
  Random random(12);
  std::vector<float> values(5000), residual(5000);
  for (float& x : values) x = static_cast<float>(random.normal());
  for (float& x : residual) x = static_cast<float>(std::round(random.normal()));
  std::vector<float> sizes;
  for (std::size_t i = 0; i < values.size(); ++i)
    sizes.push_back(std::abs(values[i] + residual[i]));
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  for (const std::size_t wanted : {1U, 2U, 77U, 2500U, 5000U}) {
    const Threshold threshold = exact_threshold(values, residual.data(), wanted);
    EXPECT_EQ(threshold.magnitude, sizes[wanted - 1]);
    const auto above =
        std::count_if(sizes.begin(), sizes.end(), [&](float x) { return x > threshold.magnitude; });
    EXPECT_EQ(static_cast<std::size_t>(above) + threshold.ties, wanted);
  }
}

}  // namespace
}  // namespace weft::codec

#include "codec/codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "codec/ranks_testing.h"

namespace weft::codec {
namespace {

using testing::HasSubstr;

TEST(Codecs, AFullTextMakesAnEqualCodec) {
  for (const CodecHelp& help : codec_list()) {
    SCOPED_TRACE(help.name);
    const auto codec = must_make(help.name);
    EXPECT_EQ(must_make(codec->text())->text(), codec->text());
    EXPECT_EQ(codec->family(), help.family);
    EXPECT_EQ(codec->family() == Family::kOpaque, codec->opaque() != nullptr);
    EXPECT_EQ(codec->family() == Family::kLinear, codec->linear() != nullptr);
    EXPECT_FALSE(help.summary.empty());
  }
  EXPECT_EQ(must_make("threshold:at=1e20")->text(), "threshold:at=1e20,ef=1");
  EXPECT_EQ(must_make("topk:rate=0.01+int8")->text(),
            "topk:rate=0.01,exact=0,ef=1+int8:block=256,ef=0,round=nearest");
}

TEST(Codecs, MistakesAreNamed) {
  struct Row {
    const char* why;
    const char* text;
    std::vector<std::string> says;
  };
  for (const Row& row : std::vector<Row>{
           {"a slip of the keyboard", "inta8", {"unknown codec 'inta8'", "did you mean 'int8'"}},
           {"an unknown parameter", "int8:blok=256", {"no parameter 'blok'", "'block'"}},
           {"no value", "int8:block", {"'block'", "key=value"}},
           {"twice", "int8:ef=0,ef=1", {"names ef twice"}},
           {"a word for a number", "int8:block=big", {"block is big", "128 to 1024"}},
           {"not a power of two", "int8:block=200", {"block is 200", "power of two"}},
           {"two mistakes at once", "topk:rate=2,ef=3", {"rate is 2", "ef is 3"}},
           {"NaN is no number", "topk:rate=nan", {"rate is nan"}},
           {"dense before plus", "int8+fp16", {"'int8' sends every value itself"}},
           {"sparse after plus", "topk+topk", {"'topk' cannot carry"}},
           {"linear after plus", "topk+powersgd", {"'powersgd' cannot carry"}},
           {"feedback twice", "topk+int8:ef=1", {"ef=1 after '+'"}},
           {"a rounding that never settles",
            "terngrad:ef=1,round=random",
            {"residuals grow without end"}},
           {"an even number of rows", "sketch:rows=4", {"rows must be odd"}}}) {
    SCOPED_TRACE(row.why);
    const auto codec = make_codec(row.text);
    ASSERT_FALSE(codec.ok());
    for (const std::string& part : row.says) {
      EXPECT_THAT(codec.error().text(), HasSubstr(part));
    }
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const CodecHelp& help : codec_list()) names.push_back(help.name);
  for (const char* more : {"topk:rate=0.1+int8", "topk:rate=0.1,exact=1", "dgc:rate=0.1+fp16",
                           "adacomp+efsign", "qsgd:bits=4", "fp8:format=e5m2"}) {
    names.emplace_back(more);
  }
  return names;
}

TEST(Codecs, NoValuesAndOneValueAreFine) {
  std::vector<std::string> names = all_names();
  names.emplace_back("onebit-adam:warmup=1");
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    for (const std::size_t size : {0, 1, 2}) {
      TestRanks ranks(name, 2, size);
      for (int step = 0; step < 3; ++step) {
        const std::vector<float> ones(size, 1.0F);
        const auto sum = ranks.sum({ones, ones});
        ASSERT_TRUE(sum.ok()) << sum.error().text();
        EXPECT_EQ(sum->size(), size);
      }
    }
  }
}

TEST(Codecs, WhatIsNotFiniteIsNamedAndTheStateStays) {
  const std::size_t size = 70000, at = 68123;
  Random random(3);
  std::vector<float> good(size);
  for (float& x : good) x = static_cast<float>(random.normal());
  for (const std::string& name : all_names()) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      SCOPED_TRACE(name);
      TestRanks ranks(name, 1, size);
      ASSERT_TRUE(ranks.sum({good}).ok());
      const CodecState before = widened(ranks.states()[0]);
      // Both the step and its undoing round to the residual's form.
      const auto& compact = ranks.states()[0].compact;
      const float rounding = compact ? 0x1p-6F : 0;
      std::vector<float> broken = good;
      broken[at] = bad;
      const auto sum = ranks.sum({broken});
      ASSERT_FALSE(sum.ok());
      EXPECT_THAT(sum.error().text(), HasSubstr("value 68123 is"));
      const CodecState after = widened(ranks.states()[0]);
      for (std::size_t v = 0; v < before.local.size(); ++v) {
        float most = 0;
        for (const float x : before.local[v]) most = std::max(most, std::abs(x));
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(after.local[v][i], before.local[v][i], 2e-6F + rounding * most)
              << v << " " << i;
        }
      }
    }
  }
}

// One threshold holds for all that is encoded at once, so layers whose gradients are larger send a
// larger share: at the same bytes more of the energy goes than with the same share of each.
TEST(Codecs, TopKSharesItsBudgetBetweenLayersByMagnitude) {
  const std::size_t layer = 5000, layers = 3;
  for (const char* name : {"topk:rate=0.03,exact=1", "topk:rate=0.03"}) {
    SCOPED_TRACE(name);
    const auto codec = must_make(name);
    Random random(6);
    std::vector<float> values(layers * layer);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double scale = std::pow(0.5, static_cast<double>(i / layer));
      values[i] = static_cast<float>(scale * random.normal());
    }
    const std::vector<float> together = through(*codec->opaque(), values);
    std::vector<std::size_t> sent(layers);
    double energy = 0, alone = 0;
    float least = std::numeric_limits<float>::max(), most_kept = 0;
    for (std::size_t l = 0; l < layers; ++l) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(l * layer);
      const std::vector<float> own(begin, begin + static_cast<std::ptrdiff_t>(layer));
      for (const float x : through(*codec->opaque(), own)) {
        alone += static_cast<double>(x) * static_cast<double>(x);
      }
      for (std::size_t i = l * layer; i < (l + 1) * layer; ++i) {
        const float size = std::abs(together[i]);
        energy += static_cast<double>(size) * static_cast<double>(size);
        if (size > 0) {
          ++sent[l];
          least = std::min(least, size);
        } else {
          most_kept = std::max(most_kept, std::abs(values[i]));
        }
      }
    }
    EXPECT_GE(least, most_kept) << "the smallest value sent is the same in every layer";
    EXPECT_NEAR(static_cast<double>(sent[0] + sent[1] + sent[2]), 450, 1);
    EXPECT_GT(sent[0], 20 * sent[1]);
    EXPECT_EQ(sent[2], 0U);
    EXPECT_GT(energy, 1.4 * alone);
  }
}

// The telescope of error feedback: all that was ever decoded and what is still kept make up all
// gradients, on several ranks.
TEST(Codecs, NothingIsLostWithErrorFeedback) {
  const std::size_t size = 3000;
  for (const std::string& name : {std::string("fp16:ef=1"),
                                  std::string("bf16:ef=1"),
                                  std::string("fp8"),
                                  std::string("int8"),
                                  std::string("int8:round=random"),
                                  std::string("int4"),
                                  std::string("qsgd:ef=1"),
                                  std::string("terngrad:ef=1"),
                                  std::string("natural:ef=1"),
                                  std::string("efsign"),
                                  std::string("onebit"),
                                  std::string("topk"),
                                  std::string("topk:exact=1"),
                                  std::string("topk:rate=0.05+int8"),
                                  std::string("budget"),
                                  std::string("threshold:at=1.5"),
                                  std::string("adacomp"),
                                  std::string("randomk"),
                                  std::string("scalecom"),
                                  std::string("sketch"),
                                  std::string("powersgd"),
                                  std::string("thc")}) {
    SCOPED_TRACE(name);
    TestRanks ranks(name, 3, size);
    Random random(5);
    std::vector<double> given(size), got(size);
    for (int step = 0; step < 8; ++step) {
      std::vector<std::vector<float>> gradients(3, std::vector<float>(size));
      for (auto& gradient : gradients) {
        for (std::size_t i = 0; i < size; ++i) {
          gradient[i] = static_cast<float>(random.normal());
          given[i] += static_cast<double>(gradient[i]);
        }
      }
      const auto sum = ranks.sum(gradients);
      ASSERT_TRUE(sum.ok()) << sum.error().text();
      for (std::size_t i = 0; i < size; ++i) got[i] += static_cast<double>((*sum)[i]);
    }
    // Each of 8 steps rounds the residuals of 3 ranks and of the owner.
    const auto& compact = ranks.states()[0].compact;
    const double rounding = compact ? 0x1p-5 : 0;
    double most = 0;
    for (std::size_t i = 0; i < size; ++i) most = std::max(most, std::abs(ranks.kept(i)));
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(got[i] + ranks.kept(i), given[i], 1e-3 + rounding * most) << i;
    }
  }
}

// Compact residuals over many steps. One value of a block is large; the others are steady and so
// small that adding them to a rounded residual would change nothing. They come out all the same.
TEST(Codecs, CompactResidualsLoseNothingThatIsSmall) {
  const std::size_t size = 1024;
  const int steps = 4000;
  struct Row {
    const char* name;
    float small;    // steady gradient, beside a largest of 1
    double within;  // of the sum of gradients
  };
  for (const Row& row :
       {Row{"fp16:ef=1", 0.1F + 1e-6F, 1e-5}, Row{"bf16:ef=1", 0.1F, 1e-4}, Row{"fp8", 3e-6F, 0.1},
        Row{"int8", 3e-6F, 0.15}, Row{"natural:ef=1", 1e-3F, 1e-2}}) {
    SCOPED_TRACE(row.name);
    const auto codec = must_make(row.name);
    CodecState state = codec->make_state(size, {});
    std::vector<float> values(size, row.small), out(size);
    values[5] = 1;
    std::vector<std::byte> bytes(codec->opaque()->most_bytes(size));
    double got = 0;
    for (int step = 0; step < steps; ++step) {
      const auto used = codec->opaque()->encode(values, 0, state, bytes);
      ASSERT_TRUE(used.ok());
      ASSERT_TRUE(codec->opaque()->decode(std::span(bytes).first(*used), out).ok());
      codec->settle(out, state);
      for (std::size_t i = 0; i < size; ++i) got += i == 5 ? 0.0 : static_cast<double>(out[i]);
    }
    ASSERT_TRUE(state.compact.has_value());
    EXPECT_TRUE(state.local.empty());
    for (std::size_t i = 0; i < size; ++i) {
      got += i == 5 ? 0.0 : static_cast<double>(state.residual(i, 1).at(0));
    }
    const double given = static_cast<double>(row.small) * steps * (size - 1);
    EXPECT_NEAR(got, given, row.within * given);
  }
}

// Four ranks, each with a quadratic of its own; the mean has a known minimum. Every codec with
// feedback must come close to it, and nearer than what one step moves.
TEST(Codecs, AConvexProblemConverges) {
  const std::size_t size = 400;
  for (const std::string& name : {std::string("fp16:ef=1"),
                                  std::string("fp8"),
                                  std::string("int8"),
                                  std::string("int4"),
                                  std::string("qsgd"),
                                  std::string("terngrad:ef=1"),
                                  std::string("natural"),
                                  std::string("efsign"),
                                  std::string("onebit"),
                                  std::string("topk:rate=0.1"),
                                  std::string("topk:rate=0.1+int8"),
                                  std::string("budget:rate=0.1"),
                                  std::string("dgc:rate=0.1,momentum=0.5"),
                                  std::string("adacomp:bin=64"),
                                  std::string("randomk:rate=0.1"),
                                  std::string("scalecom:rate=0.1"),
                                  std::string("sketch:rate=0.1"),
                                  std::string("powersgd:rank=2"),
                                  std::string("blocksparse"),
                                  std::string("thc")}) {
    SCOPED_TRACE(name);
    TestRanks ranks(name, 4, size);
    Random random(9);
    std::vector<std::vector<float>> targets(4, std::vector<float>(size));
    std::vector<double> optimum(size);
    for (auto& target : targets) {
      for (std::size_t i = 0; i < size; ++i) {
        target[i] = static_cast<float>(random.normal());
        optimum[i] += static_cast<double>(target[i]) / 4;
      }
    }
    std::vector<float> x(size, 0.0F);
    for (int step = 0; step < 1500; ++step) {
      const float rate = 0.05F / (1.0F + static_cast<float>(step) / 100);
      std::vector<std::vector<float>> gradients(4, std::vector<float>(size));
      for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t i = 0; i < size; ++i) gradients[r][i] = x[i] - targets[r][i];
      }
      const auto sum = ranks.sum(gradients);
      ASSERT_TRUE(sum.ok()) << sum.error().text();
      for (std::size_t i = 0; i < size; ++i) x[i] -= rate * (*sum)[i] / 4;
    }
    double error = 0, start = 0;
    for (std::size_t i = 0; i < size; ++i) {
      error += (static_cast<double>(x[i]) - optimum[i]) * (static_cast<double>(x[i]) - optimum[i]);
      start += optimum[i] * optimum[i];
    }
    EXPECT_LT(error, 0.02 * start);
  }
}

}  // namespace
}  // namespace weft::codec

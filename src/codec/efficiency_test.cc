#include "codec/efficiency.h"

#include <gtest/gtest.h>

#include "codec/codecs.h"

namespace weft::codec {
namespace {

std::optional<CodecEfficiency> of(const char* text, std::optional<bool> adaptive) {
  return codec_efficiency(*make_codec(text).value(), adaptive);
}

TEST(Efficiency, OfTheOptimizerAndTheLesserWhereThatIsNotKnown) {
  EXPECT_EQ(of("none", {})->value, 1);
  EXPECT_EQ(of("onebit", false)->value, 0.77);
  EXPECT_EQ(of("onebit", true)->value, 0.40);
  EXPECT_EQ(of("onebit", {})->value, 0.40);
  EXPECT_EQ(of("powersgd", {})->value, 0.76);  // rank 4 is its default
}

TEST(Efficiency, OfWhatNobodyMeasuredIsNotKnown) {
  EXPECT_FALSE(of("powersgd:rank=3", false).has_value());
  EXPECT_FALSE(of("int8:block=512", false).has_value());
  EXPECT_FALSE(of("dgc", {}).has_value());
}

}  // namespace
}  // namespace weft::codec

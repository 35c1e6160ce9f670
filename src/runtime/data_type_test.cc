#include "runtime/data_type.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

TEST(DataType, NamesAreReadBack) {
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    const auto parsed = parse_data_type(name_of(type));
    ASSERT_TRUE(parsed.ok()) << name_of(type);
    EXPECT_EQ(*parsed, type);
  }
  for (std::size_t i = 0; i < kReduceOps; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    const auto parsed = parse_reduce_op(name_of(op));
    ASSERT_TRUE(parsed.ok()) << name_of(op);
    EXPECT_EQ(*parsed, op);
  }
}

TEST(DataType, ASlipGetsAHint) {
  const auto type = parse_data_type("bfloat15");
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(
      type.error().what,
      "the element type is 'bfloat15'; it must be one of float32, float64, float16, bfloat16, "
      "int32, int64, uint8");
  EXPECT_EQ(type.error().hint, "did you mean bfloat16?");
  const auto op = parse_reduce_op("product");
  ASSERT_FALSE(op.ok());
  EXPECT_EQ(op.error().what,
            "the reduction is 'product'; it must be one of sum, min, max, average");
}

}  // namespace
}  // namespace weft::runtime

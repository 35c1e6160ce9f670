#include "codec/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "codec/codecs.h"

namespace weft::codec {
namespace {

TEST(Dense, RoundTrip) {
  for (const char* name : {"none", "fp16", "bf16", "int8", "int8:round=random", "int4", "int4:ef=0",
                           "fp8", "fp8:format=e5m2", "natural:ef=1", "topk:rate=0.5,exact=1",
                           "threshold:at=0.5", "topk:rate=0.9+int8"}) {
    SCOPED_TRACE(name);
    const auto codec = make_codec(name);
    ASSERT_TRUE(codec.ok()) << codec.error().text();
    const OpaqueCodec& opaque = *(*codec)->opaque();
    for (const std::size_t n : {0, 1, 31, 33, 256, 5000}) {
      Random random(n);
      std::vector<float> g(n), out(n);
      for (float& x : g) x = static_cast<float>(random.normal());
      auto state = opaque.make_state(n, {});
      std::vector<std::byte> bytes(opaque.most_bytes(n));
      const auto used = opaque.encode(g, 0, state, bytes);
      ASSERT_TRUE(used.ok());
      bytes.resize(*used);
      ASSERT_TRUE(opaque.decode(bytes, out).ok());
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(out[i], g[i], 1.0) << i;
      if (!state.local.empty()) {
        for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(out[i] + state.local[0][i], g[i], 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace weft::codec

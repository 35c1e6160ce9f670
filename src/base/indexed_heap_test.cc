#include "base/indexed_heap.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace weft {
namespace {

TEST(IndexedHeap, AgreesWithASortedMapUnderRandomChanges) {
  Random random(5);
  IndexedHeap<double> heap;
  std::map<std::uint32_t, double> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random.below(200));
    if (random.chance(0.6)) {
      const double key = random.uniform();
      heap.set(id, key);
      model[id] = key;
    } else if (random.chance(0.5)) {
      heap.erase(id);
      model.erase(id);
    } else if (!model.empty()) {
      double least = 2;
      for (const auto& [unused, key] : model) least = std::min(least, key);
      EXPECT_EQ(heap.top_key(), least);
      model.erase(heap.pop());
    }
    ASSERT_EQ(heap.size(), model.size());
    ASSERT_EQ(heap.contains(id), model.contains(id));
  }
}

}  // namespace
}  // namespace weft

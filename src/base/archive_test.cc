#include "base/archive.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

enum class Colour : std::uint8_t { kRed, kBlue };

struct Thing {
  int number = 0;
  Colour colour = Colour::kRed;
  bool good = false;
  std::string name;
  std::vector<double> list;
  std::map<int, std::string> names;
  std::set<int> set;
  std::deque<std::pair<int, int>> pairs;
  std::optional<int> perhaps;
  std::shared_ptr<const std::string> shared;
};

template <typename Archive>
void persist(Archive& io, Thing& t) {
  io(t.number);
  persist_enum(io, t.colour, Colour::kBlue);
  io(t.good, t.name, t.list, t.names, t.set, t.pairs, t.perhaps, t.shared);
}

Thing some_thing() {
  Thing thing;
  thing.number = -7;
  thing.colour = Colour::kBlue;
  thing.good = true;
  thing.name = "a name";
  thing.list = {1.5, -0.0, 1e300};
  thing.names = {{1, "one"}, {2, ""}};
  thing.set = {3, 4};
  thing.pairs = {{1, 2}, {3, 4}};
  thing.perhaps = 9;
  thing.shared = std::make_shared<const std::string>("shared");
  return thing;
}

TEST(Archive, WhatWasWrittenIsRead) {
  const std::string bytes = to_bytes(some_thing());
  const auto read = from_bytes<Thing>(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->number, -7);
  EXPECT_EQ(read->colour, Colour::kBlue);
  EXPECT_EQ(read->names.at(1), "one");
  EXPECT_EQ(read->pairs.back(), std::pair(3, 4));
  EXPECT_EQ(*read->shared, "shared");
  EXPECT_EQ(to_bytes(*read), bytes);
}

TEST(Archive, APartOrMoreThanAllIsNothing) {
  const std::string bytes = to_bytes(some_thing());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(from_bytes<Thing>(std::string_view(bytes).substr(0, n)).has_value()) << n;
  }
  EXPECT_FALSE(from_bytes<Thing>(bytes + "x").has_value());
}

TEST(Archive, WhatCannotBeIsRefused) {
  EXPECT_FALSE(from_bytes<bool>("\2").has_value());
  std::string bytes = to_bytes(some_thing());
  bytes[sizeof(int)] = 2;  // no such colour
  EXPECT_FALSE(from_bytes<Thing>(bytes).has_value());
  // A length that no input could hold.
  EXPECT_FALSE(from_bytes<std::vector<double>>(std::string(8, '\x7f')).has_value());
  EXPECT_FALSE(from_bytes<std::string>(to_bytes(std::uint64_t{5}) + "four").has_value());
}

}  // namespace
}  // namespace weft

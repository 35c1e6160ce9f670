#include <fmt/core.h>

#include "base/check.h"
#include "base/delimited.h"
#include "fabric/topology.h"

namespace weft {

void VertexNames::add_block(std::string prefix, std::uint32_t count) {
  if (count == 0) return;
  blocks_.push_back({std::move(prefix), next_, count});
  next_ += count;
}

void VertexNames::add(std::string name) {
  blocks_.push_back({std::move(name), next_, 0});
  ++next_;
}

std::string VertexNames::of(VertexId v) const {
  CHECK(v < next_);
  std::size_t low = 0, high = blocks_.size();  // the last block that begins at or before v
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (blocks_[middle].first <= v ? low : high) = middle;
  }
  const Block& block = blocks_[low];
  return block.count == 0 ? block.prefix : fmt::format("{}{}", block.prefix, v - block.first);
}

std::optional<VertexId> VertexNames::find(std::string_view name) const {
  for (const Block& block : blocks_) {
    if (!name.starts_with(block.prefix)) continue;
    const std::string_view rest = name.substr(block.prefix.size());
    if (block.count == 0) {
      if (rest.empty()) return block.first;
      continue;
    }
    const auto number = rest.empty() || rest.front() == '+' ? std::nullopt : parse_integer(rest);
    const bool plain = number && *number >= 0 && fmt::format("{}", *number) == rest;
    if (plain && *number < block.count) return block.first + static_cast<VertexId>(*number);
  }
  return std::nullopt;
}

std::string VertexNames::near(std::string_view name) const {
  std::vector<std::string> known;
  for (const Block& block : blocks_) {
    if (block.count == 0) {
      known.push_back(block.prefix);
    } else if (name.starts_with(block.prefix)) {
      return fmt::format("; there are {}0 to {}{}", block.prefix, block.prefix, block.count - 1);
    } else {
      known.push_back(block.prefix + "0");
    }
    if (known.size() >= 1000) break;
  }
  const std::string close = name.size() > 100 ? "" : near_miss(std::string(name), known);
  return close.empty() ? "" : fmt::format("; did you mean '{}'?", close);
}

}  // namespace weft

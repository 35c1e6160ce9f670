#include "policy/node_index.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

static_assert(BitTree::kNone == kNoNode);

BitTree::BitTree(std::uint32_t size) : size_(size) {
  std::uint32_t words = std::max(1u, (size + 63) / 64);
  levels_.emplace_back(words);
  while (words > 1) {
    words = (words + 63) / 64;
    levels_.emplace_back(words);
  }
}

void BitTree::insert(std::uint32_t i) {
  CHECK(i < size_);
  for (auto& level : levels_) {
    std::uint64_t& word = level[i >> 6];
    const bool was_empty = word == 0;
    word |= std::uint64_t{1} << (i & 63);
    if (!was_empty) return;
    i >>= 6;
  }
}

void BitTree::erase(std::uint32_t i) {
  CHECK(i < size_);
  for (auto& level : levels_) {
    std::uint64_t& word = level[i >> 6];
    word &= ~(std::uint64_t{1} << (i & 63));
    if (word != 0) return;
    i >>= 6;
  }
}

std::uint32_t BitTree::next(std::uint32_t from) const {
  if (from >= size_) return kNone;
  // Climb until a word has a member at or after the bound, then descend to its least one.
  size_t level = 0;
  std::uint32_t i = from;
  while (true) {
    const std::uint32_t word = i >> 6;
    if (word < levels_[level].size()) {
      const std::uint64_t rest = levels_[level][word] & (~std::uint64_t{0} << (i & 63));
      if (rest != 0) {
        i = word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
        break;
      }
    }
    if (++level == levels_.size()) return kNone;
    i = word + 1;
  }
  while (level-- > 0) {
    i = i * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[level][i]));
  }
  return i;
}

NodeIndex::NodeIndex(std::uint32_t nodes, std::uint32_t max_devices)
    : levels_(max_devices + 1, BitTree(nodes)) {}

NodeId NodeIndex::first_fit(std::uint32_t devices, NodeId from) const {
  NodeId best = kNoNode;
  for (size_t level = devices; level < levels_.size(); ++level) {
    if (!levels_[level].empty()) best = std::min(best, levels_[level].next(from));
  }
  return best;
}

NodeId NodeIndex::best_fit(std::uint32_t devices) const {
  for (size_t level = devices; level < levels_.size(); ++level) {
    if (!levels_[level].empty()) return levels_[level].first();
  }
  return kNoNode;
}

NodeId NodeIndex::worst_fit(std::uint32_t devices) const {
  for (size_t level = levels_.size(); level-- > devices;) {
    if (!levels_[level].empty()) return levels_[level].first();
  }
  return kNoNode;
}

NodeId NodeIndex::exact(std::uint32_t devices, NodeId from) const {
  return devices < levels_.size() ? levels_[devices].next(from) : kNoNode;
}

}  // namespace weft

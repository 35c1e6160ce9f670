// A priority queue of small integers whose keys may change while they are queued.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace weft {

// Least key first; equal keys leave in no promised but always the same order.
// Cost: O(log n) for set, erase and pop; ids should be dense, since memory grows with the largest.
template <typename Key>
class IndexedHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  bool contains(std::uint32_t id) const { return id < at_.size() && at_[id] != kAbsent; }
  // Requires: !empty().
  std::uint32_t top() const { return heap_[0].id; }
  const Key& top_key() const { return heap_[0].key; }

  // Queues `id`, or changes its key.
  void set(std::uint32_t id, const Key& key) {
    if (id >= at_.size()) at_.resize(std::max<std::size_t>(id + 1, 2 * at_.size()), kAbsent);
    std::uint32_t i = at_[id];
    if (i == kAbsent) {
      i = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({key, id});
      rise(i);
    } else if (key < heap_[i].key) {
      heap_[i].key = key;
      rise(i);
    } else {
      heap_[i].key = key;
      sink(i);
    }
  }

  void erase(std::uint32_t id) {
    if (contains(id)) erase_at(at_[id]);
  }
  // Requires: !empty().
  std::uint32_t pop() {
    CHECK(!heap_.empty());
    const std::uint32_t id = heap_[0].id;
    erase_at(0);
    return id;
  }

 private:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;
  static constexpr std::uint32_t kArity = 4;
  struct Item {
    Key key;
    std::uint32_t id;
  };

  void erase_at(std::uint32_t i) {
    at_[heap_[i].id] = kAbsent;
    const Item last = heap_.back();
    heap_.pop_back();
    if (i == heap_.size()) return;
    const bool up = last.key < heap_[i].key;
    heap_[i] = last;
    at_[last.id] = i;
    if (up) {
      rise(i);
    } else {
      sink(i);
    }
  }

  void rise(std::uint32_t i) {
    const Item item = heap_[i];
    while (i > 0) {
      const std::uint32_t parent = (i - 1) / kArity;
      if (!(item.key < heap_[parent].key)) break;
      heap_[i] = heap_[parent];
      at_[heap_[i].id] = i;
      i = parent;
    }
    heap_[i] = item;
    at_[item.id] = i;
  }

  void sink(std::uint32_t i) {
    const Item item = heap_[i];
    const auto n = static_cast<std::uint32_t>(heap_.size());
    while (true) {
      const std::uint32_t first = kArity * i + 1;
      if (first >= n) break;
      std::uint32_t least = first;
      for (std::uint32_t c = first + 1; c < std::min(first + kArity, n); ++c) {
        if (heap_[c].key < heap_[least].key) least = c;
      }
      if (!(heap_[least].key < item.key)) break;
      heap_[i] = heap_[least];
      at_[heap_[i].id] = i;
      i = least;
    }
    heap_[i] = item;
    at_[item.id] = i;
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> at_;  // by id: place in the heap
};

}  // namespace weft

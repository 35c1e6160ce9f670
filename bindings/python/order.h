// Which operation of one rank is which of another, for calls that carry no tag.
//
// A call is named by where it was made. Outside of callbacks: the order of the calls, which is the
// program's and so the same on every rank. Inside a callback of a future: the operation the future
// belongs to, and the place of the callback among those of that future; when it runs, and on which
// thread, differs from rank to rank and is not looked at. Inside `Named`: the stream it names.
// What none of the three tells apart is an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/group.h"

namespace weft::bindings {

// What led to an operation or a callback: the operation outside of callbacks that began it, and the
// steps from there.
struct Lineage {
  std::uint32_t root = 0;   // 15 bits: call or named stream
  std::uint64_t steps = 0;  // a hash

  Lineage after(std::uint64_t step) const;
  // Never that of another lineage whose operations can be under way at the same time: roots repeat
  // after 16384 calls, or 8 of one named stream. Below 2^31, where the group's own streams begin.
  std::uint32_t stream() const;
};

// A future's place. Callbacks are counted in the order they are attached.
class Node {
 public:
  explicit Node(Lineage lineage) : lineage_(lineage) {}
  Lineage next_callback() { return lineage_.after(callbacks_.fetch_add(1)); }

 private:
  const Lineage lineage_;
  std::atomic<std::uint64_t> callbacks_ = 0;
};
using NodePtr = std::shared_ptr<Node>;  // shared by a work and the futures made from it

inline constexpr std::uint32_t kMostNamed = 2047;      // streams 1 … kMostNamed
inline constexpr std::uint32_t kDeparture = 1u << 29;  // a stream that no call has

// The calling thread is inside a callback while this lives. Null: of a future whose place nobody
// knows, such as one that joins several.
class InCallback {
 public:
  explicit InCallback(const Lineage* lineage);
  ~InCallback();
  InCallback(const InCallback&) = delete;

 private:
  void* const before_;
};

// The calling thread names its operations while this lives.
class Named {
 public:
  // Requires: 1 ≤ stream ≤ kMostNamed.
  Named(std::uint32_t stream, double priority);
  ~Named();
  Named(const Named&) = delete;

 private:
  void* const before_;
};

struct Ticket {
  std::uint32_t stream = 0;
  double priority = 0;
  Lineage lineage;
};

// The calls of one group. Thread-safety: hold lock() from next() until the operation was begun, so
// that the order of tickets is that of the calls.
class Order {
 public:
  // `salt` tells groups apart, the same on every rank.
  explicit Order(std::uint64_t salt) : salt_(salt) {}

  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // The error says why nothing tells this call apart.
  Result<Ticket> next();
  // The operation of the last ticket.
  void begun(const std::shared_ptr<runtime::Work>& work);
  // A new membership counts from the beginning, since those who join it do.
  void restart();
  std::uint64_t calls() const { return calls_; }

 private:
  Result<Ticket> unnamed();

  const std::uint64_t salt_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> named_;  // stream and its calls
  std::thread::id thread_;                                      // of the calls outside of callbacks
  std::vector<std::shared_ptr<runtime::Work>> under_way_;
  bool last_unnamed_ = false;
};

}  // namespace weft::bindings

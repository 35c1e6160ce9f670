#include "bindings/python/order.h"

#include <algorithm>

#include "base/check.h"

namespace weft::bindings {
namespace {

// The finaliser of splitmix64: every bit of the result depends on every bit of `x`.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Where a thread stands. Operations are counted per group, since a rank need not be in all of them.
struct Standing {
  enum class Kind { kCallback, kUnknown, kNamed } kind = Kind::kUnknown;
  Lineage lineage;
  std::uint32_t stream = 0;
  double priority = 0;
  std::vector<std::pair<const Order*, std::uint64_t>> issued;
};

thread_local Standing* standing = nullptr;

void* enter(Standing* next) { return std::exchange(standing, next); }

void go_back(void* before) {
  delete standing;
  standing = static_cast<Standing*>(before);
}

template <typename Key>
std::uint64_t count_up(std::vector<std::pair<Key, std::uint64_t>>& counts, const Key& key) {
  const auto at = std::find_if(counts.begin(), counts.end(),
                               [&](const auto& entry) { return entry.first == key; });
  if (at != counts.end()) return at->second++;
  counts.emplace_back(key, 1);
  return 0;
}

constexpr std::uint64_t kOperation = std::uint64_t{1} << 32;  // callbacks count from 0
constexpr std::uint32_t kCallbackStream = 1u << 30, kNamedRoot = 1u << 14;

}  // namespace

Lineage Lineage::after(std::uint64_t step) const { return {root, mix(steps ^ mix(step))}; }

std::uint32_t Lineage::stream() const {
  return kCallbackStream | (root << 15) | static_cast<std::uint32_t>(steps & 0x7fff);
}

InCallback::InCallback(const Lineage* lineage)
    : before_(enter(new Standing{lineage ? Standing::Kind::kCallback : Standing::Kind::kUnknown,
                                 lineage ? *lineage : Lineage{},
                                 0,
                                 0,
                                 {}})) {}
InCallback::~InCallback() { go_back(before_); }

Named::Named(std::uint32_t stream, double priority)
    : before_(enter(new Standing{Standing::Kind::kNamed, {}, stream, priority, {}})) {
  CHECK(stream >= 1 && stream <= kMostNamed);
}
Named::~Named() { go_back(before_); }

Result<Ticket> Order::next() {
  last_unnamed_ = false;
  if (!standing) return unnamed();
  switch (standing->kind) {
    case Standing::Kind::kCallback: {
      const Order* self = this;
      const std::uint64_t place = count_up(standing->issued, self);
      return Ticket{standing->lineage.stream(), 0, standing->lineage.after(kOperation + place)};
    }
    case Standing::Kind::kNamed: {
      const std::uint64_t call = count_up(named_, standing->stream);
      const auto root = kNamedRoot | (standing->stream << 3) | static_cast<std::uint32_t>(call % 8);
      return Ticket{standing->stream, standing->priority, {root, salt_}};
    }
    case Standing::Kind::kUnknown:
      break;
  }
  return Error{ErrorKind::kUnsupported,
               "ambiguous order: an operation was called in a callback of a future that belongs to "
               "no single operation, so ranks may call it in different orders",
               "wait for the future before the call, or name it: with weft.torch.stream(n)"};
}

Result<Ticket> Order::unnamed() {
  std::erase_if(under_way_, [](const auto& work) { return work->done(); });
  if (thread_ != std::this_thread::get_id()) {
    if (!under_way_.empty()) {
      return Error{ErrorKind::kUnsupported,
                   "ambiguous order: two threads have operations under way in one group, so ranks "
                   "may call them in different orders",
                   "name them, with weft.torch.stream(n), or use one group for each thread"};
    }
    thread_ = std::this_thread::get_id();
  }
  last_unnamed_ = true;
  const auto root = static_cast<std::uint32_t>(calls_++ % kNamedRoot);
  return Ticket{0, 0, {root, salt_}};
}

void Order::begun(const std::shared_ptr<runtime::Work>& work) {
  if (last_unnamed_) under_way_.push_back(work);
}

void Order::restart() {
  calls_ = 0;
  named_.clear();
  under_way_.clear();
  thread_ = {};
}

}  // namespace weft::bindings

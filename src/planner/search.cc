#include "planner/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "planner/search_space.h"

namespace weft::planner {
namespace {

// Everything that step_parts() looks at, in one number. Sizes are below 2^20.
struct PartsKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const PartsKey&) const = default;
};
struct PartsHash {
  std::size_t operator()(const PartsKey& key) const {
    return (key.low * 0x9E3779B97F4A7C15ULL) ^ (key.high * 0xC2B2AE3D27D4EB4FULL);
  }
};

PartsKey key_of(const Layout& l) {
  PartsKey key;
  key.low =
      static_cast<std::uint64_t>(l.tensor) << 40 | static_cast<std::uint64_t>(l.micro_batch) << 16 |
      static_cast<std::uint64_t>(l.recompute) << 12 | static_cast<std::uint64_t>(l.exchange) << 8 |
      static_cast<std::uint64_t>(l.overlap) << 4 | (l.gather_again ? 2U : 0U) |
      (l.flash_attention ? 1U : 0U);
  key.high = static_cast<std::uint64_t>(l.context) << 40 |
             static_cast<std::uint64_t>(l.expert) << 20 |
             static_cast<std::uint64_t>(l.placement.tensor) << 8;
  // Expert ranks that share a node: no more than data ranks that do.
  key.high |= static_cast<std::uint64_t>(l.expert > 1 ? std::min(l.placement.data, 255) : 0);
  return key;
}

class Searcher {
 public:
  Searcher(const Workload& work, const SearchQuestion& question)
      : work_(work), question_(question), limit_(work.machines.device.memory_bytes) {
    front_.resize(kBuckets);
  }

  SearchAnswer run() {
    for_each_family(work_, question_, [this](const Family& family) { visit(family); });
    finish();
    return std::move(answer_);
  }

 private:
  static constexpr std::size_t kBuckets = 256;
  // A point of the front must be this much faster than one with less memory.
  static constexpr double kWorthMemory = 0.995;

  struct Slot {
    Seconds seconds = kNever;
    Layout layout;
  };

  void visit(const Family& family) {
    const auto count = static_cast<std::int64_t>(family.variants->size());
    answer_.configurations += count;
    const Layout& l = family.layout;
    if (l.chunks > 1 && l.micro_batches() % l.pipeline != 0) {
      return reject("interleaving without a multiple of the stages in micro-batches", count);
    }
    const std::int64_t placed = placeable(*family.variants);
    reject("more ranks inside a node than it has devices", count - placed);
    if (placed == 0) return;
    if (reject_memory(family.layout, placed)) return;
    answer_.feasible += placed;
    Layout layout = family.layout;
    for (const Variant& variant : *family.variants) {
      if (!fits_node(variant.placement)) continue;
      layout.overlap_gradients = variant.overlap_gradients;
      layout.overlap = variant.overlap;
      layout.placement = variant.placement;
      consider(layout, step_time(work_, layout, parts(layout)).total());
    }
  }

  bool fits_node(const Placement& p) const {
    return long{p.tensor} * p.data * p.pipeline <= work_.machines.device.node;
  }

  std::int64_t placeable(const std::vector<Variant>& variants) const {
    return std::count_if(variants.begin(), variants.end(),
                         [this](const Variant& one) { return fits_node(one.placement); });
  }

  void reject(const char* reason, std::int64_t count) {
    if (count > 0) answer_.rejected[reason] += count;
  }

  bool reject_memory(const Layout& layout, std::int64_t count) {
    memory_ = most_memory(work_.model, work_.framework, layout);
    if (memory_.total() > limit_) {
      reject("device memory", count);
      if (memory_.total() < least_memory_) {
        least_memory_ = memory_.total();
        answer_.nearest = Candidate{layout, {}, memory_, std::nullopt};
      }
      return true;
    }
    if (memory_.host > work_.machines.host_memory_bytes) {
      reject("host memory", count);
      return true;
    }
    return false;
  }

  const StepParts& parts(const Layout& layout) {
    const PartsKey key = key_of(layout);
    const auto found = parts_.find(key);
    if (found != parts_.end()) return found->second;
    return parts_.emplace(key, step_parts(work_, layout)).first->second;
  }

  // A batch that does not divide is cut a little: time is compared for equal samples.
  Seconds comparable(const Layout& layout, Seconds seconds) const {
    return seconds * question_.batch / layout.global_batch;
  }

  void consider(const Layout& layout, Seconds seconds) {
    seconds = comparable(layout, seconds);
    const std::uint64_t split = static_cast<std::uint64_t>(layout.tensor) << 42 |
                                static_cast<std::uint64_t>(layout.pipeline) << 21 |
                                static_cast<std::uint64_t>(layout.data);
    keep(splits_[split], layout, seconds);
    const auto bucket = static_cast<std::size_t>(memory_.total() / limit_ * (kBuckets - 1));
    keep(front_[bucket], layout, seconds);
  }

  static void keep(Slot& slot, const Layout& layout, Seconds seconds) {
    if (seconds >= slot.seconds) return;
    slot = {seconds, layout};
  }

  Candidate candidate(const Slot& slot) const {
    return {slot.layout, step_time(work_, slot.layout),
            most_memory(work_.model, work_.framework, slot.layout), std::nullopt};
  }

  void finish() {
    std::vector<Slot> slots;
    for (const auto& [split, slot] : splits_) slots.push_back(slot);
    std::stable_sort(slots.begin(), slots.end(),
                     [](const Slot& a, const Slot& b) { return a.seconds < b.seconds; });
    for (const Slot& slot : slots) {
      if (static_cast<int>(answer_.ranked.size()) == question_.keep) break;
      answer_.ranked.push_back(candidate(slot));
    }
    Seconds best = kNever;
    for (const Slot& slot : front_) {
      if (slot.seconds >= best * kWorthMemory) continue;
      best = slot.seconds;
      answer_.pareto.push_back(candidate(slot));
    }
    if (!answer_.ranked.empty()) answer_.nearest.reset();
  }

  const Workload& work_;
  const SearchQuestion& question_;
  const double limit_;
  SearchAnswer answer_;
  MemoryUse memory_;
  double least_memory_ = kNever;
  std::unordered_map<PartsKey, StepParts, PartsHash> parts_;
  std::map<std::uint64_t, Slot> splits_;
  std::vector<Slot> front_;
};

}  // namespace

Result<SearchAnswer> search(const Workload& work, const SearchQuestion& question) {
  if (const Status status = check(work.model); !status.ok()) return status.error();
  SearchAnswer answer = Searcher(work, question).run();
  if (answer.configurations == 0) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} devices cannot be divided: {} heads, {} layers and a batch of {} "
                             "leave no layout",
                             question.devices, work.model.heads, work.model.layers, question.batch),
                 "use a number of devices with more divisors, or a larger batch"};
  }
  return answer;
}

void solve_best(const Workload& work, SearchAnswer& answer) {
  for (std::vector<Candidate>* list : {&answer.ranked, &answer.pareto}) {
    for (Candidate& one : *list) {
      auto exact = exact_step(work, one.layout, kExactOperations);
      if (!exact.ok()) continue;
      one.time = exact->time;
      one.exact = std::move(*exact);
    }
  }
  std::stable_sort(answer.ranked.begin(), answer.ranked.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return seconds_per_sample(a) < seconds_per_sample(b);
                   });
}

}  // namespace weft::planner

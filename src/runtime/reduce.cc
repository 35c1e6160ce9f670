#include "runtime/reduce.h"

#include <cstring>

#include "base/check.h"
#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/reduce.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "runtime/reduce_lanes.h"

// The type of the table, once; what follows it is compiled for each set of instructions.
#ifndef WEFT_RUNTIME_REDUCE_KERNELS
#define WEFT_RUNTIME_REDUCE_KERNELS
namespace weft::runtime {

constexpr std::size_t kKernelOps = 3;  // an average is a sum

struct PairKernels {
  void (*combine)(std::byte* target, const std::byte* a, const std::byte* b, std::size_t bytes);
  void (*combine_twice)(std::byte* target1, std::byte* target2, const std::byte* a,
                        const std::byte* b, std::size_t bytes);
  void (*combine_many)(std::byte* target, std::span<const std::byte* const> sources,
                       std::size_t bytes);
};

struct Kernels {
  PairKernels pair[kDataTypes][kKernelOps];
  void (*scale_down[kDataTypes])(std::byte* target, std::size_t bytes, std::uint32_t divisor);
};

}  // namespace weft::runtime
#endif

HWY_BEFORE_NAMESPACE();
namespace weft::runtime {
namespace HWY_NAMESPACE {
namespace {

// Four runs at once, so that loads of the next do not wait for stores of the last. Prefetching by
// hand is left out because it costs: 1 KiB ahead, sums within L3 took 33 % longer and those in
// memory 30 to 70 % (three runs of bench/reduce_bench.cc on an EPYC of the fourth generation).
template <class L>
struct Four {
  struct Pack {
    typename L::Pack p0, p1, p2, p3;
  };
  static HWY_INLINE std::size_t bytes() { return 4 * L::bytes(); }
  static HWY_INLINE Pack load(const std::byte* from) {
    const std::size_t step = L::bytes();
    return {L::load(from), L::load(from + step), L::load(from + 2 * step),
            L::load(from + 3 * step)};
  }
  static HWY_INLINE void store(const Pack& value, std::byte* to) {
    const std::size_t step = L::bytes();
    L::store(value.p0, to);
    L::store(value.p1, to + step);
    L::store(value.p2, to + 2 * step);
    L::store(value.p3, to + 3 * step);
  }
  template <class Op>
  static HWY_INLINE Pack apply(const Pack& a, const Pack& b) {
    return {L::template apply<Op>(a.p0, b.p0), L::template apply<Op>(a.p1, b.p1),
            L::template apply<Op>(a.p2, b.p2), L::template apply<Op>(a.p3, b.p3)};
  }
  static HWY_INLINE Pack divide(const Pack& a, std::uint32_t divisor) {
    return {L::divide(a.p0, divisor), L::divide(a.p1, divisor), L::divide(a.p2, divisor),
            L::divide(a.p3, divisor)};
  }
};

// The end of a buffer that fills no run: goes through a run of zeros.
template <class L>
struct Part : L {
  std::size_t length;
  explicit Part(std::size_t bytes) : length(bytes) {}
  HWY_INLINE typename L::Pack load(const std::byte* from) const {
    std::byte run[HWY_MAX_BYTES] = {};
    std::memcpy(run, from, length);
    return L::load(run);
  }
  HWY_INLINE void store(typename L::Pack value, std::byte* to) const {
    std::byte run[HWY_MAX_BYTES];
    L::store(value, run);
    std::memcpy(to, run, length);
  }
};

// Runs `step` over all offsets of a buffer. A step reads everything at its offset before it writes
// anything, which is why targets may be sources.
template <class L, class Step>
HWY_INLINE void sweep(std::size_t bytes, const Step& step) {
  const std::size_t run = L::bytes();
  std::size_t at = 0;
  for (; at + 4 * run <= bytes; at += 4 * run) step(at, Four<L>());
  for (; at + run <= bytes; at += run) step(at, L());
  if (at < bytes) step(at, Part<L>(bytes - at));
}

template <class Op>
struct CombineStep {
  std::byte* target;
  const std::byte* a;
  const std::byte* b;
  template <class L>
  HWY_INLINE void operator()(std::size_t at, const L& lanes) const {
    lanes.store(lanes.template apply<Op>(lanes.load(a + at), lanes.load(b + at)), target + at);
  }
};

template <class Op>
struct CombineTwiceStep {
  std::byte* target1;
  std::byte* target2;
  const std::byte* a;
  const std::byte* b;
  template <class L>
  HWY_INLINE void operator()(std::size_t at, const L& lanes) const {
    const auto value = lanes.template apply<Op>(lanes.load(a + at), lanes.load(b + at));
    lanes.store(value, target1 + at);
    lanes.store(value, target2 + at);
  }
};

template <class Op>
struct CombineManyStep {
  std::byte* target;
  std::span<const std::byte* const> sources;
  template <class L>
  HWY_INLINE void operator()(std::size_t at, const L& lanes) const {
    auto value = lanes.load(sources[0] + at);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      value = lanes.template apply<Op>(value, lanes.load(sources[s] + at));
    }
    lanes.store(value, target + at);
  }
};

struct DivideStep {
  std::byte* target;
  std::uint32_t divisor;
  template <class L>
  HWY_INLINE void operator()(std::size_t at, const L& lanes) const {
    lanes.store(lanes.divide(lanes.load(target + at), divisor), target + at);
  }
};

template <class L, class Op>
void combine(std::byte* target, const std::byte* a, const std::byte* b, std::size_t bytes) {
  sweep<L>(bytes, CombineStep<Op>{target, a, b});
}

template <class L, class Op>
void combine_twice(std::byte* target1, std::byte* target2, const std::byte* a, const std::byte* b,
                   std::size_t bytes) {
  sweep<L>(bytes, CombineTwiceStep<Op>{target1, target2, a, b});
}

template <class L, class Op>
void combine_many(std::byte* target, std::span<const std::byte* const> sources, std::size_t bytes) {
  sweep<L>(bytes, CombineManyStep<Op>{target, sources});
}

template <class L>
void divide(std::byte* target, std::size_t bytes, std::uint32_t divisor) {
  sweep<L>(bytes, DivideStep{target, divisor});
}

// No vector unit divides integers.
template <typename T>
void divide_integers(std::byte* target, std::size_t bytes, std::uint32_t divisor) {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, target + at, sizeof value);
    value = static_cast<T>(static_cast<std::int64_t>(value) / static_cast<std::int64_t>(divisor));
    std::memcpy(target + at, &value, sizeof value);
  }
}

template <class L, class Op>
constexpr PairKernels kPair = {&combine<L, Op>, &combine_twice<L, Op>, &combine_many<L, Op>};

#define WEFT_PAIRS(L) \
  { kPair<L, Sum>, kPair<L, Min>, kPair<L, Max> }

constexpr Kernels kKernels = {{WEFT_PAIRS(Plain<float>), WEFT_PAIRS(Plain<double>),
                               WEFT_PAIRS(Half), WEFT_PAIRS(Brain), WEFT_PAIRS(Plain<std::int32_t>),
                               WEFT_PAIRS(Plain<std::int64_t>), WEFT_PAIRS(Plain<std::uint8_t>)},
                              {&divide<Plain<float>>, &divide<Plain<double>>, &divide<Half>,
                               &divide<Brain>, &divide_integers<std::int32_t>,
                               &divide_integers<std::int64_t>, &divide_integers<std::uint8_t>}};

#undef WEFT_PAIRS

}  // namespace

const Kernels* reduce_kernels() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace weft::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::runtime {
namespace {

HWY_EXPORT(reduce_kernels);

// The kernels for this processor. Cost: some nanoseconds.
const Kernels& best() { return *HWY_DYNAMIC_DISPATCH(reduce_kernels)(); }

const PairKernels& best(DataType type, ReduceOp op) {
  const ReduceOp row = op == ReduceOp::kAverage ? ReduceOp::kSum : op;
  return best().pair[static_cast<std::size_t>(type)][static_cast<std::size_t>(row)];
}

}  // namespace

void combine(std::byte* target, const std::byte* a, const std::byte* b, std::size_t count,
             DataType type, ReduceOp op) {
  best(type, op).combine(target, a, b, count * size_of(type));
}

void combine_twice(std::byte* target1, std::byte* target2, const std::byte* a, const std::byte* b,
                   std::size_t count, DataType type, ReduceOp op) {
  best(type, op).combine_twice(target1, target2, a, b, count * size_of(type));
}

void combine_many(std::byte* target, std::span<const std::byte* const> sources, std::size_t count,
                  DataType type, ReduceOp op) {
  CHECK(!sources.empty());
  best(type, op).combine_many(target, sources, count * size_of(type));
}

void scale_down(std::byte* target, std::size_t count, DataType type, std::uint32_t divisor) {
  CHECK(divisor > 0);
  if (divisor == 1) return;
  best().scale_down[static_cast<std::size_t>(type)](target, count * size_of(type), divisor);
}

}  // namespace weft::runtime
#endif

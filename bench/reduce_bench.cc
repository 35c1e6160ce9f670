// How fast buffers are reduced and copied, beside memcpy in the same run. Bytes are counted as read
// plus written, so the ratio says how much of what the caches or the memory can move was moved; it
// passes 1 where memcpy fetches its target only to overwrite it. CPU time of the thread; kernels
// and memcpy take turns, the median of the turns counts. Exits with 1 when the bar of small buffers
// is missed.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "base/table.h"
#include "runtime/copy.h"
#include "runtime/reduce.h"

namespace weft::runtime {
namespace {

constexpr int kTurns = 9;
constexpr double kTurnSeconds = 0.004;
constexpr double kMostNs = 150;  // to sum two buffers of 4 KiB, float32, in place

constexpr std::size_t kBuffers = 5;

struct Place {
  const char* name;
  std::size_t bytes;  // of each buffer; a kernel touches two to five
};
constexpr Place kPlaces[] = {
    {"L1", 4 << 10}, {"L2", 128 << 10}, {"L3", 4 << 20}, {"memory", 64 << 20}};

using Buffers = std::array<std::byte*, kBuffers>;

struct Kernel {
  std::string name;
  int moved;  // bytes read and written for each byte of a buffer
  std::function<void(const Buffers&, std::size_t bytes)> run;
};

Kernel combine_kernel(DataType type, ReduceOp op) {
  return {fmt::format("combine {} {}, in place", name_of(type), name_of(op)), 3,
          [=](const Buffers& b, std::size_t bytes) {
            combine(b[0], b[0], b[1], bytes / size_of(type), type, op);
          }};
}

std::vector<Kernel> kernels() {
  constexpr auto kType = DataType::kFloat32;
  constexpr auto kOp = ReduceOp::kSum;
  std::vector<Kernel> all = {
      combine_kernel(kType, kOp),
      {"combine float32 sum", 3,
       [](const Buffers& b, std::size_t bytes) {
         combine(b[2], b[0], b[1], bytes / 4, kType, kOp);
       }},
      {"combine_twice float32 sum, in place", 4,
       [](const Buffers& b, std::size_t bytes) {
         combine_twice(b[0], b[2], b[0], b[1], bytes / 4, kType, kOp);
       }},
      {"combine_many float32 sum of 4", 5,
       [](const Buffers& b, std::size_t bytes) {
         const std::array<const std::byte*, 4> sources = {b[0], b[1], b[2], b[3]};
         combine_many(b[4], sources, bytes / 4, kType, kOp);
       }},
      {"scale_down float32", 2,
       [](const Buffers& b, std::size_t bytes) { scale_down(b[0], bytes / 4, kType, 3); }},
      {"copy_twice", 3,
       [](const Buffers& b, std::size_t bytes) { copy_twice(b[1], b[2], b[0], bytes); }},
      {"copy_bytes, streaming", 2,
       [](const Buffers& b, std::size_t bytes) { copy_bytes(b[1], b[0], bytes, true); }}};
  all.push_back(combine_kernel(kType, ReduceOp::kMax));
  for (const auto type : {DataType::kFloat64, DataType::kFloat16, DataType::kBfloat16,
                          DataType::kInt32, DataType::kInt64, DataType::kUint8}) {
    all.push_back(combine_kernel(type, kOp));
  }
  return all;
}

// CPU seconds of one call, over at least one call and a few milliseconds.
double seconds_of(const Kernel& kernel, const Buffers& buffers, std::size_t bytes) {
  const auto calls =
      std::max<std::size_t>(1, static_cast<std::size_t>(kTurnSeconds * 30e9) / (bytes * 3));
  const double begin = thread_cpu_seconds();
  for (std::size_t i = 0; i < calls; ++i) kernel.run(buffers, bytes);
  return (thread_cpu_seconds() - begin) / static_cast<double>(calls);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Adds a row for each kernel; returns the nanoseconds of the first.
double measure(const Place& place, Table& table) {
  std::vector<std::byte> room(kBuffers * (place.bytes + 4096));  // zeros: sums stay zeros
  Buffers buffers;
  // On cache lines, as allocators of tensors do, and at unlike offsets within a page.
  const std::size_t first = -reinterpret_cast<std::uintptr_t>(room.data()) % 64;
  for (std::size_t i = 0; i < kBuffers; ++i) buffers[i] = &room[first + i * (place.bytes + 832)];
  const Kernel memcpy_kernel = {
      "memcpy", 2, [](const Buffers& b, std::size_t bytes) { std::memcpy(b[1], b[0], bytes); }};
  double first_ns = 0;
  for (const Kernel& kernel : kernels()) {
    std::vector<double> ours, theirs;
    for (int turn = 0; turn < kTurns; ++turn) {
      theirs.push_back(seconds_of(memcpy_kernel, buffers, place.bytes));
      ours.push_back(seconds_of(kernel, buffers, place.bytes));
    }
    const double bytes = static_cast<double>(place.bytes);
    const double seconds = median(ours);
    const double rate = kernel.moved * bytes / seconds;
    const double limit = memcpy_kernel.moved * bytes / median(theirs);
    table.row({place.name, fmt::format("{}", place.bytes >> 10), kernel.name,
               three_digits(seconds * 1e9), three_digits(rate / 1e9), three_digits(limit / 1e9),
               three_digits(rate / limit)});
    if (first_ns == 0) first_ns = seconds * 1e9;
  }
  return first_ns;
}

int run() {
  Table table({"<place", "KiB", "<kernel", "ns", "GB/s", "memcpy GB/s", "ratio"});
  std::vector<double> first_ns;
  for (const Place& place : kPlaces) first_ns.push_back(measure(place, table));
  fmt::print("{}", table.text());
  const bool kept = first_ns[0] < kMostNs;
  fmt::print("4 KiB float32 summed in place in {} ns; the bar is {} ns: {}\n",
             three_digits(first_ns[0]), kMostNs, kept ? "kept" : "missed");
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace weft::runtime

int main() { return weft::runtime::run(); }

#include "machine_state.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/stopwatch.h"

namespace weft {
namespace {

// Seconds until every thread has done its part.
double together_s(int threads, const std::function<void(std::size_t)>& part) {
  const std::int64_t begin = monotonic_ns();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(part, static_cast<std::size_t>(i));
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(monotonic_ns() - begin) * 1e-9;
}

}  // namespace

std::optional<ProcessorTicks> parse_processor_ticks(const std::string& stat) {
  std::istringstream in(stat);
  std::string name;
  if (!(in >> name) || name != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; guests' time is already in user (proc(5))
  constexpr int kFields = 8;
  ProcessorTicks ticks;
  for (int i = 0; i < kFields; ++i) {
    std::uint64_t value = 0;
    if (!(in >> value)) return std::nullopt;
    ticks.total += value;
    ticks.steal = value;
  }
  return ticks;
}

std::optional<ProcessorTicks> processor_ticks() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return parse_processor_ticks(line);
}

double steal_share(const ProcessorTicks& before, const ProcessorTicks& after) {
  if (after.total <= before.total || after.steal < before.steal) return 0;
  return static_cast<double>(after.steal - before.steal) /
         static_cast<double>(after.total - before.total);
}

std::optional<double> load_average() {
  std::ifstream file("/proc/loadavg");
  double load = 0;
  if (file >> load) return load;
  return std::nullopt;
}

MemorySpeed measure_memory(int threads) {
  CHECK(threads > 0);
  constexpr std::size_t kElements = std::size_t{32} << 20;
  constexpr double kBytes = kElements * sizeof(float);
  struct Buffers {
    std::vector<float> from, to;
  };
  std::vector<Buffers> of_thread(static_cast<std::size_t>(threads));
  together_s(threads, [&](std::size_t t) {
    of_thread[t] = {std::vector<float>(kElements, 1.0F), std::vector<float>(kElements, 1.0F)};
  });
  MemorySpeed best{threads, 0, 0};
  constexpr int kPasses = 3;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double copy_s = together_s(threads, [&](std::size_t t) {
      std::memcpy(of_thread[t].to.data(), of_thread[t].from.data(), kElements * sizeof(float));
    });
    const double update_s = together_s(threads, [&](std::size_t t) {
      float* data = of_thread[t].to.data();
      for (std::size_t i = 0; i < kElements; ++i) data[i] += 1.0F;
    });
    best.copied_bytes_per_s = std::max(best.copied_bytes_per_s, threads * kBytes / copy_s);
    best.updated_bytes_per_s = std::max(best.updated_bytes_per_s, threads * kBytes / update_s);
  }
  return best;
}

}  // namespace weft

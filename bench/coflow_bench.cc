// CPU seconds of every coflow policy on the public Facebook trace, beside coflowsim's, which were
// measured on such a machine. Exits with 1 when a policy takes longer than its bar, and with 2 when
// the trace is missing.

#include <fmt/core.h>

#include <string>

#include "base/stopwatch.h"
#include "fabric/coflow/coflowsim.h"
#include "fabric/coflow/engine.h"

namespace weft {
namespace {

constexpr const char* kTrace = WEFT_SHARED_DATA "/network/FB2010-1Hr-150-0.txt";
constexpr double kExactBar = 8, kCompatBar = 1;

struct Peer {
  const char* policy;
  double cpu_s;
};
constexpr Peer kCoflowsim[] = {{"fair", 775}, {"fifo", 542}, {"sebf", 480}, {"scf", 484},
                               {"lcf", 454},  {"ncf", 573},  {"aalo", 427}};

std::string peer_of(const std::string& policy) {
  for (const Peer& peer : kCoflowsim) {
    if (policy == peer.policy) return fmt::format("{:.0f}", peer.cpu_s);
  }
  return "-";
}

template <typename F>
double cpu_of(F&& run) {
  const double before = thread_cpu_seconds();
  run();
  return thread_cpu_seconds() - before;
}

int run() {
  const auto trace = read_coflow_trace(kTrace);
  if (!trace.ok()) {
    fmt::print(stderr, "coflow_bench: {}\n", trace.error().text());
    return 2;
  }
  bool missed = false;
  fmt::print("{:<16} {:>8} {:>9} {:>9} {:>12}\n", "policy", "events", "exact s", "compat s",
             "coflowsim s");
  for (const CoflowPolicy& policy : coflow_policies()) {
    CoflowRun result;
    const double exact = cpu_of([&] { result = run_coflows(*trace, policy, {}); });
    const bool has_rules = has_coflowsim_rules(policy.name);
    const double compat = has_rules ? cpu_of([&] { run_like_coflowsim(*trace, policy.name); }) : 0;
    const bool over = exact > kExactBar || compat > kCompatBar;
    missed |= over;
    fmt::print("{:<16} {:>8} {:>9.2f} {:>9} {:>12}{}\n", policy.name, result.events, exact,
               has_rules ? fmt::format("{:.2f}", compat) : "-", peer_of(policy.name),
               over ? "  above the bar" : "");
  }
  return missed ? 1 : 0;
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }

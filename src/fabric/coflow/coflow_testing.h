// Small random traces and a policy by name, for the tests of coflow scheduling.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "fabric/coflow/coflow_generator.h"
#include "fabric/coflow/engine.h"

namespace weft {

inline CoflowTrace random_coflows(std::uint64_t seed) {
  CoflowGeneratorSpec spec;
  spec.ports = 3 + static_cast<std::uint32_t>(seed % 9);
  spec.coflows = 5 + static_cast<std::uint32_t>(seed * 7 % 26);
  spec.load = 0.3 + 0.3 * static_cast<double>(seed % 5);
  spec.seed = seed;
  return generate_coflows(spec, CoflowOptions{}.bytes_per_s);
}

inline CoflowRun run_policy(const CoflowTrace& trace, const std::string& name,
                            const CoflowOptions& options = {}) {
  const auto policy = find_coflow_policy(name);
  EXPECT_TRUE(policy.ok()) << name;
  return run_coflows(trace, **policy, options);
}

inline double mean_time(const CoflowRun& run) {
  double sum = 0;
  for (const CoflowRecord& coflow : run.coflows) sum += coflow.time();
  return sum / static_cast<double>(run.coflows.size());
}

}  // namespace weft

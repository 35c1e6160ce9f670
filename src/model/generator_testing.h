// Generators named by their shorthand, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "model/generator.h"
#include "model/readers/reader_testing.h"

namespace weft {

inline constexpr const char* kLargeCluster = "512x8";

inline GeneratorSpec spec_of(const std::string& text) {
  Result<GeneratorSpec> spec = parse_generator(text);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().text());
  return *spec;
}

inline Trace trace_of(const std::string& text, const std::string& cluster = kLargeCluster,
                      GeneratorReport* report = nullptr) {
  const GeneratorSpec spec = spec_of(text);
  Result<Trace> trace = generate(spec, cluster_of(cluster), spec.seed, report);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().text());
  return *std::move(trace);
}

inline double devices_of(const TraceJob& job) {
  const Configuration& asked = job.submission->requested();
  return asked.devices * (asked.milli / double{kWhole});
}

}  // namespace weft

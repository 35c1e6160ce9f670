// The generators by name. Each turns a request into a schedule that verify() accepts; which
// requests it can serve is said by `refusal`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// What is asked for. A generator reads the fields that its row in docs/pipelines.md names.
struct Request {
  int stages = 1;  // devices in a row
  int micro_batches = 1;
  int chunks = 2;  // interleaved, hanayo: per device
  int slices = 2;  // seq1f1b, terapipe: per micro-batch
  int window = 0;  // pipedream-2bw: micro-batches per update; 0: as many as stages
};

inline constexpr int kAsAsked = 0;

struct Generator {
  std::string_view name;
  std::string_view rule;
  std::string_view source;
  int chunks;  // per device, or kAsAsked
  // Why this request cannot be served; empty when it can.
  std::string (*refusal)(const Request&);
  // Requires: refusal(request) is empty.
  Schedule (*make)(const Request&);
};

// In a fixed order: the order of docs/pipelines.md.
std::span<const Generator> generators();

// The schedule of the named generator, with the times of a unit (see builder.h); the error names
// near misses, or says why the request cannot be served.
Result<Schedule> generate(std::string_view name, const Request& request);

}  // namespace weft::pipeline

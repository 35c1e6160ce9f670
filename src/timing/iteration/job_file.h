// The file of training jobs that `weft net iteration` reads.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "flow/rate_class.h"
#include "model/readers/table_reader.h"
#include "timing/iteration/graph.h"

namespace weft {

inline constexpr std::size_t kMostIterationOps = 8192;

struct TrainingJob {
  std::string name;
  IterationGraph graph;
  Seconds start = 0;
  double devices = 1;                                // that compute
  double iterations_done = 0, iterations_total = 0;  // total 0: not stated
  BandwidthShare share;                              // of each wire
};

struct TrainingFile {
  std::vector<std::string> link_names;
  std::vector<double> link_bytes_per_s;
  std::vector<TrainingJob> jobs;
};

// docs/formats.md lists the keys. Ensures: at least one job; every graph has at most
// kMostIterationOps ops and takes time.
Result<TrainingFile> parse_training_file(const TextFile& file);
Result<TrainingFile> read_training_file(const std::string& path);

}  // namespace weft

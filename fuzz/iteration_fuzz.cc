// Whatever the bytes are, reading them as training jobs gives sound graphs or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "timing/iteration/bound.h"
#include "timing/iteration/job_file.h"

namespace {

void check_graph(const weft::IterationGraph& graph, std::size_t links) {
  CHECK(!graph.ops.empty() && graph.ops.size() <= weft::kMostIterationOps);
  for (const weft::IterationWire& wire : graph.wires) {
    CHECK(!wire.path.empty() && wire.factor > 0 && wire.bytes_per_s > 0);
    for (weft::LinkId link : wire.path) CHECK(link < links);
  }
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const weft::IterationOp& op = graph.ops[i];
    CHECK(op.place < (op.is_transfer ? graph.wires.size() : graph.devices.size()));
    CHECK(std::isfinite(op.amount) && (op.is_transfer ? op.amount > 0 : op.amount >= 0));
    for (std::uint32_t need : op.needs) CHECK(need < i);
    if (op.follows != weft::kNoOp) {
      CHECK(op.follows < i && op.needs.empty() && graph.ops[op.follows].amount == op.amount);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = weft::parse_training_file({"fuzz", text});
  if (!file.ok()) {
    CHECK(!file.error().what.empty());
    return 0;
  }
  CHECK(!file->jobs.empty());
  for (const weft::TrainingJob& job : file->jobs) {
    check_graph(job.graph, file->link_bytes_per_s.size());
    CHECK(job.share.limit >= job.share.guarantee && job.devices >= 1);
    if (job.graph.ops.size() > 500) continue;  // takes long and finds nothing
    const double ideal = weft::ideal_iteration(job.graph, file->link_bytes_per_s);
    CHECK(std::isfinite(ideal) && ideal > 0);
  }
  return 0;
}

#include "timing/choose_collective.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/quantity.h"
#include "timing/switch_above.h"
#include "timing/synthesis/synthesise.h"

namespace weft {
namespace {

using collective::Request;
using collective::Schedule;

// Numbers of pieces tried for pipelines.
constexpr int kChunks[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

bool is_pipeline(std::string_view algorithm) {
  return algorithm == "chain" || algorithm == "tree" || algorithm == "double-binary-tree";
}

// Switches that add, servers and lossy sums are only used when they are named.
bool by_name_only(std::string_view algorithm) {
  return algorithm == "in-network" || algorithm == "sparse" || algorithm == "parameter-server";
}

// What the topology says about shapes where the request is silent.
void fill_shape(const Topology& topology, bool in_network, Request& request) {
  const auto& facts = topology.facts;
  if (in_network && request.per_node == 0 && request.leaf_of.empty()) {
    request.leaf_of = leaves_of(topology, request.ranks);
  }
  if (request.per_node <= 1 && facts.endpoints_per_node > 1) {
    request.per_node = static_cast<int>(facts.endpoints_per_node);
  }
  if (request.dims.empty()) {
    for (std::uint32_t side : facts.grid) request.dims.push_back(static_cast<int>(side));
  }
}

// Something to try. `make` is called when there is no refusal, and something slower than
// `at_least` is all there is so far.
struct Candidate {
  Considered what;
  std::function<Schedule()> make;
  Seconds at_least = 0;
};

void add_generators(const Request& request, const std::string& wanted,
                    std::vector<Candidate>& out) {
  const auto add = [&](const collective::Algorithm& algorithm, int chunks) {
    Request with = request;
    with.chunks = chunks;
    Considered what{std::string(algorithm.name), chunks, kNever, 0, algorithm.refusal(with), 0};
    out.push_back({std::move(what), [&algorithm, with] { return algorithm.make(with); }, 0});
  };
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.operation != request.operation) continue;
    if (wanted == "auto" ? by_name_only(algorithm.name) : algorithm.name != wanted) continue;
    if (!is_pipeline(algorithm.name)) {
      add(algorithm, 1);
    } else if (request.chunks > 0) {
      add(algorithm, request.chunks);
    } else {
      for (int chunks : kChunks) add(algorithm, chunks);
    }
  }
}

void add_synthesised(const Request& request, const Topology& topology, double bytes,
                     const Synthesis& synthesis, std::vector<Candidate>& out) {
  for (std::size_t i = synthesis.packings.size(); i-- > 0;) {
    const Packing& packing = synthesis.packings[i];
    std::vector<int> pieces = {request.chunks};
    if (request.chunks == 0) {
      pieces = promising_chunks(packing, topology, request.operation, bytes);
    }
    for (const int chunks : pieces) {
      Considered what{std::string(kSynthesised), chunks, kNever, 0, "", packing.trees()};
      out.push_back({std::move(what),
                     [&synthesis, i, chunks] { return synthesised_schedule(synthesis, i, chunks); },
                     packing.s_per_byte * bytes});
    }
  }
}

// Times one candidate and keeps it if it is the best so far.
Status try_one(const CollectiveQuestion& question, const Candidate& candidate,
               std::int64_t max_messages, CollectiveAnswer& answer) {
  Considered tried = candidate.what;
  if (candidate.at_least > answer.best.time_s) {
    tried.refusal =
        fmt::format("not timed: its fullest link alone takes {}", seconds_text(candidate.at_least));
  }
  if (tried.refusal.empty()) {
    Schedule schedule = candidate.make();
    auto placement = place_schedule(schedule, *question.topology);
    if (!placement.ok()) return placement.error();
    const ScheduleTask task{&schedule,      question.topology, std::move(placement).value(),
                            question.bytes, question.late,     question.record,
                            max_messages,   question.paths};
    ScheduleTime run = run_schedule(task);
    tried.time_s = run.time_s;
    tried.steps = run.rounds;
    if (run.gave_up) {
      tried.time_s = kNever;
      tried.refusal = fmt::format("not timed: more than {} messages", max_messages);
    } else if (run.time_s < answer.best.time_s) {
      answer.best = tried;
      answer.run = std::move(run);
      answer.schedule = std::move(schedule);
    }
  }
  const bool pruned = !tried.refusal.empty() && candidate.at_least > 0;
  const bool told = pruned && !answer.considered.empty() &&
                    answer.considered.back().trees == tried.trees &&
                    answer.considered.back().refusal == tried.refusal;
  if (!told) answer.considered.push_back(std::move(tried));
  return {};
}

Error unknown_algorithm(const std::string& algorithm, const Request& request) {
  auto none = collective::generate(algorithm, request);  // knows the names and near misses
  if (none.ok()) return Error{ErrorKind::kNotFound, "no algorithm fits", ""};
  Error error = none.error();
  const std::string own(kSynthesised);
  if (!near_miss(algorithm, {own}).empty()) error.hint = fmt::format("did you mean '{}'?", own);
  return error;
}

}  // namespace

Result<CollectiveAnswer> choose_collective(const CollectiveQuestion& question,
                                           const std::string& algorithm,
                                           std::int64_t max_messages) {
  Request request = question.request;
  const Topology& topology = *question.topology;
  if (request.ranks > static_cast<int>(topology.endpoints)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} has {} endpoints; {} ranks are asked for", topology.text,
                             topology.endpoints, request.ranks),
                 "give the topology more hosts, or ask for fewer ranks"};
  }
  fill_shape(topology, algorithm == "in-network", request);
  CollectiveAnswer answer;
  std::vector<Candidate> candidates;
  add_generators(request, algorithm, candidates);
  std::optional<Synthesis> synthesis;
  const std::string refusal = synthesis_refusal(request, topology);
  if (algorithm == "auto" || algorithm == kSynthesised) {
    if (refusal.empty()) {
      synthesis = synthesise(request, topology);
      add_synthesised(request, topology, question.bytes, *synthesis, candidates);
      answer.bound_s = synthesis->least_s_per_byte * question.bytes;
    } else if (algorithm == kSynthesised) {
      candidates.push_back({{std::string(kSynthesised), 1, kNever, 0, refusal, 0}, nullptr, 0});
    }
  }
  if (candidates.empty()) return unknown_algorithm(algorithm, request);
  for (const Candidate& candidate : candidates) {
    const Status tried = try_one(question, candidate, max_messages, answer);
    if (!tried.ok()) return tried.error();
  }
  if (answer.best.time_s == kNever) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: {}", answer.considered.front().algorithm,
                             answer.considered.front().refusal),
                 ""};
  }
  return answer;
}

Result<CollectiveAnswer> time_collective(const CollectiveQuestion& question, Schedule schedule) {
  CollectiveAnswer answer;
  Candidate only{{schedule.algorithm, 1, kNever, 0, "", 0}, [&] { return std::move(schedule); }, 0};
  const Status timed = try_one(question, only, 0, answer);
  if (!timed.ok()) return timed.error();
  return answer;
}

}  // namespace weft

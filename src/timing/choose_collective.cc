#include "timing/choose_collective.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/verify.h"

namespace weft {
namespace {

using collective::HelperKind;
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
void fill_shape(const Topology& topology, Request& request) {
  const auto& facts = topology.facts;
  if (request.per_node <= 1 && facts.endpoints_per_node > 1) {
    request.per_node = static_cast<int>(facts.endpoints_per_node);
  }
  if (request.dims.empty()) {
    for (std::uint32_t side : facts.grid) request.dims.push_back(static_cast<int>(side));
  }
}

// The first switch that a message from the endpoint meets.
VertexId switch_above(const Topology& topology, VertexId vertex) {
  for (int hops = 0; hops < 4; ++hops) {
    VertexId next = kNoVertex;
    for (const DirectedLink& link : topology.links) {
      if (link.from != vertex || link.to < topology.endpoints) continue;
      if (topology.vertices[link.to].kind == VertexKind::kSwitch) return link.to;
      if (next == kNoVertex) next = link.to;
    }
    if (next == kNoVertex) return kNoVertex;
    vertex = next;
  }
  return kNoVertex;
}

Error too_few(const Topology& topology, int needed, const char* what) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{} has {} endpoints; {} {} are asked for", topology.text,
                           topology.endpoints, needed, what),
               "give the topology more hosts, or ask for fewer ranks"};
}

struct Candidate {
  const collective::Algorithm* algorithm;
  int chunks;
};

std::vector<Candidate> candidates_of(const Request& request, const std::string& wanted) {
  std::vector<Candidate> out;
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.operation != request.operation) continue;
    if (wanted == "auto" ? by_name_only(algorithm.name) : algorithm.name != wanted) continue;
    if (!is_pipeline(algorithm.name)) {
      out.push_back({&algorithm, 1});
    } else if (request.chunks > 0) {
      out.push_back({&algorithm, request.chunks});
    } else {
      for (int chunks : kChunks) out.push_back({&algorithm, chunks});
    }
  }
  return out;
}

}  // namespace

Result<Placement> place_schedule(const Schedule& schedule, const Request& request,
                                 const Topology& topology) {
  const int servers = static_cast<int>(
      std::count(schedule.helpers.begin(), schedule.helpers.end(), HelperKind::kServer));
  if (schedule.ranks + servers > static_cast<int>(topology.endpoints)) {
    return too_few(topology, schedule.ranks + servers, servers > 0 ? "ranks and servers" : "ranks");
  }
  Placement placement;
  for (int r = 0; r < schedule.ranks + servers; ++r) {
    placement.vertex.push_back(static_cast<VertexId>(r));
  }
  const int switches = static_cast<int>(schedule.helpers.size()) - servers;
  const int per_leaf = request.per_node == 0 ? schedule.ranks : request.per_node;
  for (int s = 0; s < switches; ++s) {
    const bool top = switches > 1 && s == switches - 1;
    const VertexId below = top ? placement.vertex[static_cast<std::size_t>(schedule.ranks)]
                               : static_cast<VertexId>(std::min(s * per_leaf, schedule.ranks - 1));
    const VertexId above = switch_above(topology, below);
    if (above == kNoVertex) {
      return Error{
          ErrorKind::kInvalidInput,
          fmt::format("{} has no switch above {}", topology.text, topology.names.of(below)),
          "in-network sums need a topology with switches, such as switch or clos"};
    }
    placement.vertex.push_back(above);
  }
  return placement;
}

Result<CollectiveAnswer> choose_collective(const CollectiveQuestion& question,
                                           const std::string& algorithm,
                                           std::int64_t max_messages) {
  Request request = question.request;
  const Topology& topology = *question.topology;
  fill_shape(topology, request);
  if (request.ranks > static_cast<int>(topology.endpoints)) {
    return too_few(topology, request.ranks, "ranks");
  }
  const std::vector<Candidate> candidates = candidates_of(request, algorithm);
  if (candidates.empty()) {
    auto error = collective::generate(algorithm, request);  // knows the names and near misses
    return error.ok() ? Error{ErrorKind::kNotFound, "no algorithm fits", ""} : error.error();
  }
  CollectiveAnswer answer;
  for (const Candidate& candidate : candidates) {
    Considered tried{std::string(candidate.algorithm->name), candidate.chunks, kNever, 0, ""};
    request.chunks = candidate.chunks;
    tried.refusal = candidate.algorithm->refusal(request);
    if (tried.refusal.empty()) {
      const Schedule schedule = candidate.algorithm->make(request);
      auto placement = place_schedule(schedule, request, topology);
      if (!placement.ok()) return placement.error();
      ScheduleTask task{&schedule,      &topology,     std::move(placement).value(),
                        question.bytes, question.late, question.record,
                        max_messages};
      ScheduleTime run = run_schedule(task);
      tried.time_s = run.time_s;
      tried.steps = run.rounds;
      if (run.gave_up) {
        tried.time_s = kNever;
        tried.refusal = fmt::format("not timed: more than {} messages", max_messages);
      } else if (run.time_s < answer.best.time_s) {
        answer.best = tried;
        answer.run = std::move(run);
      }
    }
    answer.considered.push_back(std::move(tried));
  }
  if (answer.best.time_s == kNever) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: {}", answer.considered.front().algorithm,
                             answer.considered.front().refusal),
                 ""};
  }
  return answer;
}

}  // namespace weft

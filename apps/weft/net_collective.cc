// `weft net collective`: how long a collective takes on a topology, and which algorithm is best.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/quantity.h"
#include "base/table.h"
#include "net_command.h"
#include "option_checks.h"
#include "timing/choose_collective.h"

namespace weft {
namespace {

using collective::Operation;
using nlohmann::ordered_json;

constexpr const char* kModel =
    "rank r on endpoint r; a message waits for its receiver, then the latency of each hop and the "
    "overhead of the topology, then its bytes share links by max-min; adding and copying are free";

struct Arguments {
  std::string topology, operation = "all-reduce", algorithm = "auto", bytes = "100MB", stragglers;
  std::string trace_out;
  int ranks = 0, per_node = 0, rings = 2, chunks = 0, root = 0, servers = 0;
  double density = 0.01;
  std::vector<int> dims;
  bool json = false;
};

Result<Operation> operation_of(const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < collective::kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    known.emplace_back(name_of(operation));
    if (known.back() == name) return operation;
  }
  const std::string close = near_miss(name, known);
  return Error{ErrorKind::kInvalidInput,
               fmt::format("unknown operation '{}'; known: {}", name, fmt::join(known, ", ")),
               close.empty() ? "" : fmt::format("did you mean '{}'?", close)};
}

// "3:2ms,7:500us": rank 3 starts 2 ms after the others.
Result<std::vector<Seconds>> late_of(const std::string& text, int ranks) {
  std::vector<Seconds> late(static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::size_t colon = item.find(':');
    const auto delay =
        colon == std::string::npos ? std::nullopt : parse_seconds(item.substr(colon + 1));
    char* stop = nullptr;
    const long rank = std::strtol(item.c_str(), &stop, 10);
    if (!delay || stop != item.c_str() + colon || rank < 0 || rank >= ranks) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("--stragglers has '{}'; it must be RANK:TIME with a rank in 0 .. {}",
                               item, ranks - 1),
                   "for instance --stragglers 3:2ms,7:500us"};
    }
    late[static_cast<std::size_t>(rank)] = *delay;
    at = end + 1;
  }
  return late;
}

// What the operation moves out of each rank at least, as nccl-tests define their bus bandwidth.
double bus_factor(Operation operation, double ranks) {
  switch (operation) {
    case Operation::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
      return (ranks - 1) / ranks;
    default:
      return 1;
  }
}

std::string perfetto(const ScheduleTime& run) {
  ordered_json events = ordered_json::array();
  for (const TimedMessage& m : run.recorded) {
    events.push_back({{"name", fmt::format("to {}", m.to)},
                      {"cat", "message"},
                      {"ph", "X"},
                      {"pid", m.from},
                      {"tid", m.stream},
                      {"ts", m.start * 1e6},
                      {"dur", (m.end - m.start) * 1e6},
                      {"args", {{"round", m.round}, {"bytes", m.bytes}}}});
  }
  return ordered_json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump() + "\n";
}

ordered_json json_of(const Arguments& a, const CollectiveQuestion& question,
                     const CollectiveAnswer& answer) {
  const double factor = bus_factor(question.request.operation, question.request.ranks);
  ordered_json j{{"schema", 1},
                 {"topology", a.topology},
                 {"operation", a.operation},
                 {"ranks", question.request.ranks},
                 {"bytes", question.bytes},
                 {"algorithm", answer.best.algorithm},
                 {"chunks", answer.best.chunks},
                 {"time_s", answer.best.time_s},
                 {"steps", answer.best.steps},
                 {"messages", answer.run.messages},
                 {"bytes_sent", answer.run.bytes}};
  if (question.bytes > 0 && answer.best.time_s > 0) {
    j["algorithm_bytes_per_s"] = question.bytes / answer.best.time_s;
    j["bus_bytes_per_s"] = factor * question.bytes / answer.best.time_s;
  }
  j["model"] = kModel;
  j["considered"] = ordered_json::array();
  for (const Considered& c : answer.considered) {
    ordered_json row{{"algorithm", c.algorithm}, {"chunks", c.chunks}};
    if (c.refusal.empty()) {
      row["time_s"] = c.time_s;
      row["steps"] = c.steps;
    } else {
      row["refusal"] = c.refusal;
    }
    j["considered"].push_back(std::move(row));
  }
  return j;
}

void print(const Arguments& a, const CollectiveQuestion& question, const CollectiveAnswer& answer) {
  Table table({"<algorithm", "chunks", "steps", "time", "<", "<note"});
  for (const Considered& c : answer.considered) {
    const bool timed = c.refusal.empty();
    const bool best = timed && c.algorithm == answer.best.algorithm &&
                      c.chunks == answer.best.chunks && c.time_s == answer.best.time_s;
    table.row({c.algorithm, fmt::format("{}", c.chunks), timed ? fmt::format("{}", c.steps) : "-",
               timed ? seconds_text(c.time_s) : "-", best ? "<- best" : "", c.refusal});
  }
  std::fputs(table.text().c_str(), stdout);
  const double time = answer.best.time_s;
  const double ranks = question.request.ranks;
  fmt::print("model: {}\n", kModel);
  if (question.bytes > 0 && time > 0) {
    const double factor = bus_factor(question.request.operation, ranks);
    fmt::print(
        "algorithm bandwidth (bytes / time) {}; bus bandwidth (x {:.4g}, what each rank must move) "
        "{}\n",
        bytes_per_s_text(question.bytes / time), factor,
        bytes_per_s_text(factor * question.bytes / time));
  }
  fmt::print("{} of {} among {} ranks on {}: {} takes {:.6g} ms in {} steps\n", a.operation,
             bytes_text(question.bytes), question.request.ranks, a.topology, answer.best.algorithm,
             time * 1e3, answer.best.steps);
}

Result<CollectiveQuestion> question_of(const Arguments& a, const Topology& topology) {
  CollectiveQuestion question;
  question.topology = &topology;
  auto operation = operation_of(a.operation);
  if (!operation.ok()) return operation.error();
  const auto bytes = parse_bytes(a.bytes);
  if (!bytes) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--bytes is '{}'; it must be {}", a.bytes, kBytesWanted), ""};
  }
  question.bytes = *bytes;
  question.request.operation = *operation;
  question.request.ranks = a.ranks > 0 ? a.ranks : static_cast<int>(topology.endpoints);
  question.request.per_node = a.per_node;
  question.request.rings = a.rings;
  question.request.chunks = a.chunks;
  question.request.root = a.root;
  question.request.servers = a.servers;
  question.request.density = a.density;
  question.request.dims = a.dims;
  auto late = late_of(a.stragglers, question.request.ranks);
  if (!late.ok()) return late.error();
  if (!a.stragglers.empty()) question.late = *late;
  question.record = !a.trace_out.empty();
  return question;
}

int run(const Arguments& a) {
  auto topology = read_topology(a.topology, a.ranks > 1 ? static_cast<std::uint32_t>(a.ranks) : 64);
  if (!topology.ok()) return net_fail("collective", topology.error());
  auto question = question_of(a, *topology);
  if (!question.ok()) return net_fail("collective", question.error());
  auto answer = choose_collective(*question, a.algorithm);
  if (!answer.ok()) return net_fail("collective", answer.error());
  if (!a.trace_out.empty()) {
    const Status written = write_file_atomically(a.trace_out, perfetto(answer->run));
    if (!written.ok()) return net_fail("collective", written.error());
  }
  if (a.json) {
    std::fputs((json_of(a, *question, *answer).dump(2) + "\n").c_str(), stdout);
  } else {
    print(a, *question, *answer);
  }
  return kNetDone;
}

}  // namespace

NetVerb add_net_collective(CLI::App& net) {
  CLI::App* app =
      net.add_subcommand("collective", "how long a collective takes, and which is best");
  auto a = std::make_shared<Arguments>();
  app->add_option("--topology", a->topology, "shorthand or file (docs/topologies.md)")->required();
  app->add_option("--operation", a->operation, "all-reduce, all-gather, ... (docs/collectives.md)");
  app->add_option("--algorithm", a->algorithm, "a name, or auto: try what is possible");
  app->add_option("--ranks", a->ranks, "on endpoints 0, 1, ...; default: all endpoints")
      ->check(CLI::Range(1, collective::kMaxEndpoints));
  app->add_option("--bytes", a->bytes, "of the whole vector, such as 100MB");
  app->add_option("--chunks", a->chunks, "pieces of a pipeline; default: as many as is fastest")
      ->check(CLI::Range(0, 1 << 20));
  app->add_option("--per-node", a->per_node, "ranks of a node or leaf (hierarchical, in-network)")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--rings", a->rings, "of multi-ring")->check(CLI::Range(1, 64));
  app->add_option("--dims", a->dims, "sides of the torus")->delimiter('x');
  app->add_option("--root", a->root, "of broadcast and reduce")->check(CLI::NonNegativeNumber);
  app->add_option("--servers", a->servers, "of parameter-server; 0: every rank serves")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--density", a->density, "of sparse")->check(number_from(1e-9, 1));
  app->add_option("--stragglers", a->stragglers, "RANK:TIME,...: ranks that start late");
  app->add_option("--trace-out", a->trace_out, "write every message as Perfetto JSON");
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run(*a); }};
}

}  // namespace weft

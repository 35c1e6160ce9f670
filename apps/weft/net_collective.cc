// `weft net collective`: how long a collective takes on a topology, and which algorithm is best.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/quantity.h"
#include "base/table.h"
#include "collective/schedule_json.h"
#include "net_command.h"
#include "net_in_network.h"
#include "option_checks.h"
#include "timing/choose_collective.h"

namespace weft {
namespace {

using collective::Operation;
using nlohmann::ordered_json;

constexpr const char* kCollectiveModel =
    "rank r on endpoint r; a message waits for its receiver, then the latency of each hop and the "
    "overhead of the topology, then its bytes share links by max-min; adding and copying are free";

struct CollectiveArguments {
  std::string topology, operation = "all-reduce", algorithm = "auto", bytes = "100MB", stragglers,
                        paths = "d-mod-k";
  std::string trace_out, schedule, schedule_out;
  int ranks = 0, per_node = 0, rings = 2, chunks = 0, root = 0, servers = 0;
  double density = 0.01;
  std::vector<int> dims;
  InNetworkOptions in_network;
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

using SwitchLimits = std::optional<InNetworkReport>;

ordered_json candidate_json(const Considered& c) {
  ordered_json row{{"algorithm", c.algorithm}, {"chunks", c.chunks}};
  if (c.trees > 0) row["trees"] = c.trees;
  if (c.refusal.empty()) {
    row["time_s"] = c.time_s;
    row["steps"] = c.steps;
  } else {
    row["refusal"] = c.refusal;
  }
  return row;
}

ordered_json answer_json(const CollectiveArguments& a, const CollectiveQuestion& question,
                         const CollectiveAnswer& answer, const SwitchLimits& limits) {
  const double factor = bus_factor(question.request.operation, question.request.ranks);
  ordered_json j{{"schema", 1},
                 {"topology", a.topology},
                 {"operation", name_of(question.request.operation)},
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
  if (answer.best.trees > 0) j["trees"] = answer.best.trees;
  if (answer.bound_s > 0) j["cut_bound_s"] = answer.bound_s;
  if (limits) j["in_network"] = json_of(*limits);
  j["model"] = kCollectiveModel;
  j["considered"] = ordered_json::array();
  for (const Considered& c : answer.considered) j["considered"].push_back(candidate_json(c));
  return j;
}

std::string note_of(const Considered& c) {
  if (c.trees == 0) return c.refusal;
  const std::string trees = fmt::format("{} {}", c.trees, c.trees == 1 ? "tree" : "trees");
  return c.refusal.empty() ? trees : fmt::format("{}; {}", trees, c.refusal);
}

void print_collective(const CollectiveArguments& a, const CollectiveQuestion& question,
                      const CollectiveAnswer& answer, const SwitchLimits& limits) {
  Table table({"<algorithm", "chunks", "steps", "time", "<", "<note"});
  for (const Considered& c : answer.considered) {
    const bool timed = c.refusal.empty();
    const bool best = timed && c.algorithm == answer.best.algorithm &&
                      c.chunks == answer.best.chunks && c.trees == answer.best.trees &&
                      c.time_s == answer.best.time_s;
    table.row({c.algorithm, fmt::format("{}", c.chunks), timed ? fmt::format("{}", c.steps) : "-",
               timed ? seconds_text(c.time_s) : "-", best ? "<- best" : "", note_of(c)});
  }
  std::fputs(table.text().c_str(), stdout);
  const double time = answer.best.time_s;
  const double ranks = question.request.ranks;
  if (limits) print(*limits);
  fmt::print("model: {}\n", kCollectiveModel);
  if (question.bytes > 0 && time > 0) {
    const double factor = bus_factor(question.request.operation, ranks);
    fmt::print(
        "algorithm bandwidth (bytes / time) {}; bus bandwidth (x {:.4g}, what each rank must move) "
        "{}\n",
        bytes_per_s_text(question.bytes / time), factor,
        bytes_per_s_text(factor * question.bytes / time));
  }
  if (answer.bound_s > 0) {
    fmt::print(
        "cut bound (no schedule of ranks alone is faster, latency apart) {:.6g} ms; {:.4g}x\n",
        answer.bound_s * 1e3, time / answer.bound_s);
  }
  fmt::print("{} of {} among {} ranks on {}: {} takes {:.6g} ms in {} steps\n",
             name_of(question.request.operation), bytes_text(question.bytes),
             question.request.ranks, a.topology, answer.best.algorithm, time * 1e3,
             answer.best.steps);
}

Result<CollectiveQuestion> question_of(const CollectiveArguments& a, const Topology& topology) {
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
  auto paths = parse_path_rule(a.paths);
  if (!paths.ok()) return paths.error();
  question.paths = *paths;
  question.paths.per_node = std::max(1u, topology.facts.endpoints_per_node);
  question.record = !a.trace_out.empty();
  return question;
}

// A schedule from a file brings its own operation and number of ranks.
Result<CollectiveAnswer> from_file(const CollectiveArguments& a, CollectiveQuestion& question) {
  auto text = read_file(a.schedule, collective::kMaxScheduleText);
  if (!text.ok()) return text.error();
  auto schedule = collective::parse_schedule(*text);
  if (!schedule.ok()) {
    Error error = schedule.error();
    error.what = fmt::format("{}: {}", a.schedule, error.what);
    return error;
  }
  question.request.operation = schedule->operation;
  question.request.ranks = schedule->ranks;
  const auto ranks = static_cast<std::size_t>(schedule->ranks);
  for (std::size_t r = ranks; r < question.late.size(); ++r) {
    if (question.late[r] > 0) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("--stragglers has rank {}; {} has {}", r, a.schedule, ranks), ""};
    }
  }
  return time_collective(question, std::move(schedule).value());
}

Status check_together(const CollectiveArguments& a) {
  const auto refuse = [](const char* what, const char* hint) {
    return Error{ErrorKind::kInvalidInput, what, hint};
  };
  if (a.in_network.given() && a.algorithm != "in-network") {
    return refuse("limits of a switch are given, but the algorithm is not in-network",
                  "add --algorithm in-network");
  }
  if (a.in_network.given() && !a.trace_out.empty()) {
    return refuse("--perfetto is given with limits of a switch, which no message shows",
                  "leave one of them out");
  }
  return {};
}

Status write_collective_files(const CollectiveArguments& a, const CollectiveAnswer& answer) {
  if (!a.trace_out.empty()) {
    const Status written = write_file_atomically(a.trace_out, perfetto(answer.run));
    if (!written.ok()) return written;
  }
  if (a.schedule_out.empty()) return {};
  return write_file_atomically(a.schedule_out, collective::write_schedule(answer.schedule));
}

int run_collective(const CollectiveArguments& a) {
  const Status together = check_together(a);
  if (!together.ok()) return report_error("net collective", together.error());
  auto topology = read_topology(a.topology, a.ranks > 1 ? static_cast<std::uint32_t>(a.ranks) : 64);
  if (!topology.ok()) return report_error("net collective", topology.error());
  auto question = question_of(a, *topology);
  if (!question.ok()) return report_error("net collective", question.error());
  auto answer =
      a.schedule.empty() ? choose_collective(*question, a.algorithm) : from_file(a, *question);
  if (!answer.ok()) return report_error("net collective", answer.error());
  SwitchLimits limits;
  if (a.in_network.given()) {
    auto limited = limit_in_network(a.in_network, *question, *answer);
    if (!limited.ok()) return report_error("net collective", limited.error());
    limits = std::move(limited).value();
  }
  const Status written = write_collective_files(a, *answer);
  if (!written.ok()) return report_error("net collective", written.error());
  if (a.json) {
    std::fputs((answer_json(a, *question, *answer, limits).dump(2) + "\n").c_str(), stdout);
  } else {
    print_collective(a, *question, *answer, limits);
  }
  return kExitDone;
}

}  // namespace

Verb add_net_collective(CLI::App& net) {
  CLI::App* app =
      net.add_subcommand("collective", "how long a collective takes, and which is best");
  auto a = std::make_shared<CollectiveArguments>();
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
  app->add_option("--servers", a->servers,
                  "of parameter-server (0: every rank serves), or of in-network's fall-back")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--density", a->density, "of sparse")->check(number_from(1e-9, 1));
  app->add_option("--paths", a->paths, "d-mod-k, ecmp, least-loaded, rail or spray:N");
  app->add_option("--stragglers", a->stragglers, "RANK:TIME,...: ranks that start late");
  app->add_option("--perfetto", a->trace_out, "write every message for ui.perfetto.dev (JSON)");
  add_old_option(*app, "--trace-out", a->trace_out);
  CLI::Option* schedule = app->add_option("--schedule", a->schedule,
                                          "time this schedule (docs/collectives.md) instead");
  for (const char* settled : {"--operation", "--algorithm", "--ranks", "--chunks", "--per-node",
                              "--rings", "--dims", "--root", "--servers", "--density"}) {
    schedule->excludes(settled);
  }
  app->add_option("--schedule-out", a->schedule_out, "write the best schedule as JSON");
  add_in_network_options(*app, a->in_network);
  app->add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run_collective(*a); }};
}

}  // namespace weft

#include "bench_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "base/table.h"
#include "runtime/choice.h"

namespace weft {
namespace {

using Operation = collective::Operation;

struct ExplainArguments {
  int ranks = 0, hosts = 1;
  std::string bytes, operation = "all-reduce";
  bool json = false;
};

std::map<std::string, Operation> operations() {
  std::map<std::string, Operation> names;
  for (int i = 0; i < collective::kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    names.emplace(name_of(operation), operation);
  }
  return names;
}

int complain(const std::string& what, const std::string& hint) {
  std::fputs(fmt::format("weft bench explain: {}\n  hint: {}\n", what, hint).c_str(), stderr);
  return kExitBadInput;
}

std::string microseconds(Seconds time) { return three_digits(1e6 * time); }

void print_json(const ExplainArguments& a, double bytes, const runtime::GroupShape& shape,
                const runtime::Choice& choice) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"operation", a.operation},
                                 {"ranks", a.ranks},
                                 {"hosts", a.hosts},
                                 {"bytes", bytes},
                                 {"algorithm", choice.algorithm},
                                 {"expected_s", choice.expected_s},
                                 {"slice_bytes", choice.slice_bytes}};
  json["model"] = {{"message_s", shape.costs.message_s},
                   {"bytes_per_s", shape.costs.bytes_per_s},
                   {"reduce_bytes_per_s", shape.costs.reduce_bytes_per_s}};
  json["considered"] = nlohmann::ordered_json::array();
  for (const runtime::Candidate& candidate : choice.considered) {
    json["considered"].push_back(
        {{"algorithm", candidate.algorithm}, {"expected_s", candidate.expected_s}});
  }
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
}

void print_table(const ExplainArguments& a, double bytes, const runtime::GroupShape& shape,
                 const runtime::Choice& choice) {
  Table table({"<", "<algorithm", "expected us", "times the best"});
  for (const runtime::Candidate& candidate : choice.considered) {
    table.row({candidate.algorithm == choice.algorithm ? "✓" : "", candidate.algorithm,
               microseconds(candidate.expected_s),
               fmt::format("{:.2f}x", candidate.expected_s / std::max(choice.expected_s, 1e-12))});
  }
  const std::string slices =
      choice.slice_bytes == 0
          ? "whole"
          : fmt::format("in slices of {} KiB",
                        three_digits(static_cast<double>(choice.slice_bytes) / 1024));
  std::fputs(
      fmt::format("{} of {} bytes between {} ranks on {} host{}\n\n{}\n"
                  "model ({}): a message {} us, a link {} GB/s, adding {} GB/s\n"
                  "{} it is, {}, expected to take {} us\n",
                  a.operation, bytes, a.ranks, a.hosts, a.hosts == 1 ? "" : "s", table.text(),
                  shape.one_host ? "shared memory" : "TCP", microseconds(shape.costs.message_s),
                  three_digits(1e-9 * shape.costs.bytes_per_s),
                  three_digits(1e-9 * shape.costs.reduce_bytes_per_s), choice.algorithm, slices,
                  microseconds(choice.expected_s))
          .c_str(),
      stdout);
}

int run(const ExplainArguments& a) {
  const auto bytes = parse_bytes(a.bytes);
  if (!bytes) return complain(fmt::format("--bytes is '{}'", a.bytes), "4096, 64KB or 1MB");
  if (a.ranks % a.hosts != 0) {
    return complain(fmt::format("{} ranks cannot be {} hosts' alike", a.ranks, a.hosts),
                    "--ranks must be a multiple of --hosts");
  }
  runtime::GroupShape shape;
  shape.ranks = a.ranks;
  shape.one_host = a.hosts == 1;
  shape.per_host = a.ranks / a.hosts;
  shape.costs = shape.one_host ? runtime::shared_memory_costs() : runtime::tcp_costs();
  const runtime::Choice choice = runtime::choose(operations().at(a.operation), *bytes, shape);
  a.json ? print_json(a, *bytes, shape, choice) : print_table(a, *bytes, shape, choice);
  return kExitDone;
}

}  // namespace

Verb add_bench_explain(CLI::App& bench) {
  const auto a = std::make_shared<ExplainArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("explain", "which algorithm an operation runs, and why");
  verb->add_option("--ranks", a->ranks, "of the group")->required()->check(CLI::Range(2, 4096));
  verb->add_option("--bytes", a->bytes, "of the whole data, such as 64KB")->required();
  std::vector<std::string> names;
  for (const auto& [name, operation] : operations()) names.push_back(name);
  verb->add_option("--operation", a->operation, "all-reduce and the like (all-reduce)")
      ->check(CLI::IsMember(names));
  verb->add_option("--hosts", a->hosts, "that the ranks are spread over (1)")
      ->check(CLI::Range(1, 4096));
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "example: weft bench explain --ranks 4 --bytes 1MB\n"
      "         weft bench explain --ranks 8 --hosts 2 --bytes 64MB --operation broadcast");
  return {verb, [a] { return run(*a); }};
}

}  // namespace weft

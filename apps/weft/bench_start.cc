#include "bench_start.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "allreduce_rows.h"
#include "base/progress.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "bench_allreduce.h"
#include "option_checks.h"
#include "rank_processes.h"

namespace weft {
namespace {

constexpr int kStreams = 2;  // TCP connections per pair, the group's default

struct StartArguments {
  std::vector<int> ranks = {8, 32, 64};
  std::string size = "1MB";
  int rounds = 5;
  double timeout_s = 120;
  bool json = false;
};

// The most that any rank holds.
struct Held {
  int control = 0, data = 0, segments = 0;
};
struct StartRun {
  double start_s = 0;
  Held after_start, after_all_reduce;
};
struct StartRow {
  int ranks = 0;
  bool tcp = false;
  std::vector<double> start_s;
  Held after_start, after_all_reduce;  // in any round
};

void take_most(Held& most, const Held& one) {
  most.control = std::max(most.control, one.control);
  most.data = std::max(most.data, one.data);
  most.segments = std::max(most.segments, one.segments);
}

Held held_in(const nlohmann::json& json) {
  return {json.at("control").get<int>(), json.at("data").get<int>(),
          json.at("segments").get<int>()};
}

// From the moment before the first process was started until the last rank was in the group.
Result<StartRun> start_once(int ranks, bool tcp, std::uint64_t size_bytes, double timeout_s) {
  const std::int64_t begin_ns = monotonic_ns();
  const auto lines = run_start(ranks, tcp, size_bytes, timeout_s);
  if (!lines.ok()) return lines.error();
  StartRun run;
  for (const nlohmann::json& json : *lines) {
    const auto in_group_ns = json.at("in_group_ns").get<std::int64_t>();
    run.start_s = std::max(run.start_s, static_cast<double>(in_group_ns - begin_ns) * 1e-9);
    take_most(run.after_start, held_in(json.at("after_start")));
    take_most(run.after_all_reduce, held_in(json.at("after_all_reduce")));
  }
  return run;
}

Result<StartRow> measure_row(const StartArguments& a, int ranks, bool tcp, std::uint64_t bytes,
                             ProgressLine& progress) {
  StartRow row;
  row.ranks = ranks;
  row.tcp = tcp;
  for (int round = 0; round < a.rounds; ++round) {
    progress.show(round, a.rounds,
                  fmt::format("starts of {} ranks by {}", ranks, tcp ? "TCP" : "shared memory"));
    const auto run = start_once(ranks, tcp, bytes, a.timeout_s);
    if (!run.ok()) {
      return Error{run.error().kind, fmt::format("{} ranks: {}", ranks, run.error().what),
                   run.error().hint};
    }
    row.start_s.push_back(run->start_s);
    take_most(row.after_start, run->after_start);
    take_most(row.after_all_reduce, run->after_all_reduce);
  }
  return row;
}

void print_starts_json(const StartArguments& a, std::uint64_t bytes,
                       const std::vector<StartRow>& rows) {
  nlohmann::ordered_json j = {{"schema", 1}, {"rounds", a.rounds}, {"size_bytes", bytes}};
  const auto as_json = [](const Held& held) {
    return nlohmann::ordered_json{
        {"control", held.control}, {"data", held.data}, {"segments", held.segments}};
  };
  j["rows"] = nlohmann::ordered_json::array();
  for (const StartRow& row : rows) {
    j["rows"].push_back({{"ranks", row.ranks},
                         {"transport", row.tcp ? "tcp" : "shared-memory"},
                         {"median_s", median_of(row.start_s)},
                         {"min_s", *std::min_element(row.start_s.begin(), row.start_s.end())},
                         {"after_start", as_json(row.after_start)},
                         {"after_all_reduce", as_json(row.after_all_reduce)},
                         {"all_to_all", (row.ranks - 1) * kStreams}});
  }
  std::fputs((j.dump(2) + "\n").c_str(), stdout);
}

void print_starts_table(const StartArguments& a, std::uint64_t bytes,
                        const std::vector<StartRow>& rows) {
  Table table({"ranks", "<transport", "start ms", "min ms", "control", "data", "segments",
               "control then", "data then", "all to all"});
  for (const StartRow& row : rows) {
    const auto number = [](int value) { return fmt::format("{}", value); };
    table.row({number(row.ranks), row.tcp ? "TCP" : "shared memory",
               three_digits(1e3 * median_of(row.start_s)),
               three_digits(1e3 * *std::min_element(row.start_s.begin(), row.start_s.end())),
               number(row.after_start.control), number(row.after_start.data),
               number(row.after_start.segments), number(row.after_all_reduce.control),
               number(row.after_all_reduce.data), number((row.ranks - 1) * kStreams)});
  }
  std::fputs(
      fmt::format("from the first process started to all ranks in the group, median of {}; "
                  "connections of the rank that has most, and \"then\": after an all-reduce of {}; "
                  "all to all: what it would have if every pair were connected\n\n{}",
                  a.rounds, message_size_text(bytes), table.text())
          .c_str(),
      stdout);
}

int run_starts(const StartArguments& a) {
  const auto bytes = parse_message_size(a.size);
  if (!bytes.ok()) return report_error("bench start", bytes.error(), kExitBadInput);
  std::vector<StartRow> rows;
  ProgressLine progress;
  for (const int ranks : a.ranks) {
    for (const bool tcp : {false, true}) {
      auto row = measure_row(a, ranks, tcp, *bytes, progress);
      if (!row.ok()) return report_error("bench start", row.error(), kExitNo);
      rows.push_back(std::move(*row));
    }
  }
  a.json ? print_starts_json(a, *bytes, rows) : print_starts_table(a, *bytes, rows);
  return kExitDone;
}

}  // namespace

Verb add_bench_start(CLI::App& bench) {
  const auto a = std::make_shared<StartArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("start", "how long ranks take to become a group");
  verb->add_option("--ranks", a->ranks, "processes, a list (8,32,64)")
      ->delimiter(',')
      ->check(whole_number_from(2, 64));
  verb->add_option("--rounds", a->rounds, "fresh groups of each (5)")
      ->check(whole_number_from(1, 1000));
  verb->add_option("--size", a->size, "of the all-reduce after the start (1MB)");
  verb->add_option("--timeout", a->timeout_s, "seconds that one group may take (120)")
      ->check(number_from(1, 3600));
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer("example: weft bench start --ranks 8,32,64 --json");
  return {verb, [a] { return run_starts(*a); }};
}

}  // namespace weft

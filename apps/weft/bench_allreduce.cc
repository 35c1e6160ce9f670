#include "bench_allreduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "allreduce_libraries.h"
#include "allreduce_report.h"
#include "base/progress.h"
#include "base/quantity.h"
#include "machine_state.h"
#include "option_checks.h"

namespace weft {
namespace {

struct AllReduceArguments {
  int ranks = 2, rounds = 5;
  std::vector<std::string> sizes = {"4KB", "64KB", "1MB", "4MB", "16MB", "64MB", "256MB"};
  std::vector<std::string> against;
  double timeout_s = 60;
  std::string arena, link;
  bool json = false;
};

// One library with one of its algorithms.
struct Contestant {
  const AllReduceLibrary* library;
  std::string algorithm;
};

Result<std::vector<std::uint64_t>> parse_sizes(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> sizes;
  Complaints complaints;
  for (const std::string& text : texts) {
    const auto size = parse_message_size(text);
    if (!size.ok()) {
      complaints.add(size.error().what);
    } else if (std::find(sizes.begin(), sizes.end(), *size) != sizes.end()) {
      complaints.add(fmt::format("--sizes names {} twice", text));
    } else {
      sizes.push_back(*size);
    }
  }
  if (!complaints.empty()) return complaints.error("sizes such as 4KB,1MB,256MB (KB: 1024 bytes)");
  return sizes;
}

Error unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const AllReduceLibrary& library : allreduce_libraries()) names.push_back(library.name);
  const std::string near = near_miss(name, names);
  return {ErrorKind::kInvalidInput,
          fmt::format("--against names '{}', a library that is not known", name),
          (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) +
              fmt::format("known: {}", fmt::join(names, ", "))};
}

Status check_usable(const AllReduceLibrary& library, const std::string& arena) {
  if (!arena.empty() && !library.between_hosts) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("{} is measured on one host only", library.name),
                 "leave it out of --against, or leave --hosts-in out"};
  }
  return check_present(library);
}

// Ours, and those named, which must be usable; when none is named, all that are. Why others are
// not goes to `absent`.
Result<std::vector<Contestant>> choose_contestants(const AllReduceArguments& a,
                                                   std::vector<std::string>& absent) {
  std::vector<std::string> wanted = a.against;
  const auto& known = allreduce_libraries();
  for (const std::string& name : wanted) {
    if (std::none_of(known.begin(), known.end(), [&](const auto& l) { return l.name == name; })) {
      return unknown(name);
    }
  }
  if (!wanted.empty()) wanted.push_back(known[0].name);  // whose verdict it is
  std::vector<Contestant> chosen;
  for (const AllReduceLibrary& library : known) {
    const bool named = std::find(wanted.begin(), wanted.end(), library.name) != wanted.end();
    if (!named && (!wanted.empty() || library.when_named)) continue;
    if (const Status usable = check_usable(library, a.arena); !usable.ok()) {
      if (named) return usable.error();
      absent.push_back(usable.error().what);
      continue;
    }
    for (const std::string& algorithm : library.algorithms) chosen.push_back({&library, algorithm});
  }
  if (chosen.empty()) {
    return Error{ErrorKind::kNotFound, "there is no library to measure",
                 "./dev bench comm installs and builds those that can be"};
  }
  return chosen;
}

// Every contestant once in each round, each round beginning with another, so that what disturbs the
// machine for a while disturbs all of them alike.
void measure_size(const std::vector<Contestant>& contestants, const AllReduceGroup& group,
                  int rounds, ProgressLine& progress, AllReduceReport& report) {
  std::vector<std::vector<GroupRun>> runs(contestants.size());
  std::vector<bool> failed(contestants.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < contestants.size(); ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(round)) % contestants.size();
      if (failed[i]) continue;
      const auto& [library, algorithm] = contestants[i];
      const auto done = static_cast<std::size_t>(round) * contestants.size() + k;
      progress.show(static_cast<double>(done), static_cast<double>(rounds) * contestants.size(),
                    fmt::format("groups at {}: {} {}", message_size_text(group.size_bytes),
                                library->name, algorithm));
      auto run = run_group(*library, algorithm, group);
      if (run.ok()) {
        runs[i].push_back(std::move(*run));
      } else {
        failed[i] = true;  // what hangs once must not hang once in every round
        report.failures.push_back(
            {library->name, algorithm, group.size_bytes, round, run.error().what});
      }
    }
  }
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (failed[i] || runs[i].empty()) continue;
    report.rows.push_back(fold_rounds(contestants[i].library->name, contestants[i].algorithm,
                                      group.size_bytes, runs[i]));
  }
}

MemorySpeed better(const MemorySpeed& a, const MemorySpeed& b) {
  return {a.threads, std::max(a.copied_bytes_per_s, b.copied_bytes_per_s),
          std::max(a.updated_bytes_per_s, b.updated_bytes_per_s)};
}

AllReduceReport measure_contestants(const AllReduceArguments& a,
                                    const std::vector<Contestant>& contestants,
                                    const std::vector<std::uint64_t>& sizes) {
  AllReduceReport report;
  report.ranks = a.ranks;
  report.rounds = a.rounds;
  report.arena = a.arena;
  if (!a.link.empty()) report.link_bytes_per_s = *parse_bytes_per_s(a.link);
  const auto ticks_before = processor_ticks();
  report.load_before = load_average();
  const int threads =
      std::min(a.ranks, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  report.memory = measure_memory(threads);
  ProgressLine progress;
  for (const std::uint64_t size : sizes) {
    measure_size(contestants, {a.ranks, size, a.timeout_s, a.arena}, a.rounds, progress, report);
  }
  report.rows = best_algorithms(report.rows);
  report.memory = better(report.memory, measure_memory(threads));
  report.load_after = load_average();
  const auto ticks_after = processor_ticks();
  if (ticks_before && ticks_after) report.steal = steal_share(*ticks_before, *ticks_after);
  for (const Contestant& contestant : contestants) {
    if (report.libraries.empty() || report.libraries.back() != contestant.library->name) {
      report.libraries.push_back(contestant.library->name);
    }
  }
  report.sizes_bytes = sizes;
  return report;
}

int run_allreduce(const AllReduceArguments& a) {
  const auto sizes = parse_sizes(a.sizes);
  if (!sizes.ok()) return report_error("bench allreduce", sizes.error());
  if (!a.link.empty() && parse_bytes_per_s(a.link).value_or(0) <= 0) {
    return report_error("bench allreduce",
                        {ErrorKind::kInvalidInput,
                         fmt::format("--link is {}, not {}", a.link, kBytesPerSecondWanted), ""});
  }
  std::vector<std::string> absent;
  const auto contestants = choose_contestants(a, absent);
  for (const std::string& what : absent) std::fputs((what + "\n").c_str(), stderr);
  if (!contestants.ok()) return report_error("bench allreduce", contestants.error());
  const AllReduceReport report = measure_contestants(a, *contestants, *sizes);
  std::fputs((a.json ? report_json(report) : report_text(report)).c_str(), stdout);
  return report.all_well() ? kExitDone : kExitNo;
}

}  // namespace

Result<std::uint64_t> parse_message_size(const std::string& text) {
  constexpr double kLargest = 0x1p32;
  std::string binary = text;
  if (text.size() > 2 && text.ends_with("B") && text[text.size() - 2] != 'i' &&
      std::isalpha(static_cast<unsigned char>(text[text.size() - 2])) != 0) {
    binary.insert(text.size() - 1, "i");
  }
  const auto bytes = parse_bytes(binary);
  const bool in_bits = text.ends_with("b");  // nobody counts messages in bits: a slip
  if (bytes && !in_bits && *bytes >= 4 && *bytes <= kLargest && std::fmod(*bytes, 4) == 0) {
    return static_cast<std::uint64_t>(*bytes);
  }
  return Error{ErrorKind::kInvalidInput,
               fmt::format("--sizes has '{}'; a size is a multiple of 4 bytes up to 4GB", text),
               "KB, MB and GB are powers of 1024 here"};
}

std::string message_size_text(std::uint64_t bytes) {
  for (const auto& [power, unit] : {std::pair{30, "GB"}, {20, "MB"}, {10, "KB"}}) {
    const std::uint64_t one = std::uint64_t{1} << power;
    if (bytes % one == 0) return fmt::format("{} {}", bytes / one, unit);
  }
  return fmt::format("{} B", bytes);
}

Verb add_bench_allreduce(CLI::App& bench) {
  const auto a = std::make_shared<AllReduceArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand(
      "allreduce", "fp32 sums over ranks, beside other libraries' on this machine");
  verb->add_option("--ranks", a->ranks, "processes (2)")->check(whole_number_from(2, 64));
  verb->add_option("--sizes", a->sizes,
                   "of the message; KB, MB, GB are powers of 1024 (4KB to 256MB)")
      ->delimiter(',');
  verb->add_option("--against", a->against,
                   "openmpi, mpich, gloo: beside weft (those that are installed); weft-tcp and "
                   "weft-ucx: ours without shared memory")
      ->delimiter(',');
  verb->add_option("--rounds", a->rounds, "fresh groups of each library for each size (5)")
      ->check(whole_number_from(1, 1000));
  verb->add_option("--timeout", a->timeout_s, "seconds that one group may take (60)")
      ->check(number_from(1, 3600));
  verb->add_option("--hosts-in", a->arena, "run rank r on host r of the arena with this tag");
  verb->add_option(
      "--link", a->link,
      "goodput of each host's link: prints the share of the ideal 2(N-1)/N x bytes / it");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "A time is that of the slowest rank; CPU seconds are a rank's user and system for 10^9 "
      "bytes.\n"
      "example: weft bench allreduce --ranks 2 --sizes 4KB,1MB,64MB --against gloo,openmpi,mpich");
  return {verb, [a] { return run_allreduce(*a); }};
}

}  // namespace weft

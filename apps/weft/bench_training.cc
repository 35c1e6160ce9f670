#include "bench_training.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/child.h"
#include "base/table.h"
#include "codec/codecs.h"
#include "machine_state.h"
#include "option_checks.h"
#include "runtime/training/synchroniser.h"
#include "sync/mode.h"
#include "training_rows.h"

namespace weft {
namespace {

struct TrainingArguments {
  int ranks = 4, steps = 16, rounds = 1, width = 2500;
  double timeout_s = 600, lr = 1;
  std::string arena;
  std::vector<std::string> modes = {
      "none/bsp", "fp16/bsp", "int8/bsp", "int4/bsp", "int8/local:period=8", "auto/bsp", "auto"};
  bool alone = false, json = false;
};

struct Contender {
  std::string library, mode;
  std::vector<TrainingRun> runs;  // one for each round
  std::string failure;            // of the first round that failed
};

std::vector<std::string> rank_command(const TrainingArguments& a, const Contender& entry, int rank,
                                      const std::string& folder) {
  std::vector<std::string> command;
  if (!a.arena.empty()) command = {"ip", "netns", "exec", fmt::format("{}-h{}", a.arena, rank)};
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  for (const std::string& word : {std::string("env"),
                                  "PYTHONPATH=" + (self.parent_path() / "python").string(),
                                  std::string("/usr/bin/python3"),
                                  std::string("-W"),
                                  std::string("ignore"),
                                  std::string("-m"),
                                  std::string("weft.training_bench"),
                                  std::string("--library"),
                                  entry.library,
                                  std::string("--mode"),
                                  entry.mode,
                                  std::string("--ranks"),
                                  fmt::format("{}", a.ranks),
                                  std::string("--rank"),
                                  fmt::format("{}", rank),
                                  std::string("--rendezvous"),
                                  folder,
                                  std::string("--width"),
                                  fmt::format("{}", a.width),
                                  std::string("--steps"),
                                  fmt::format("{}", a.steps),
                                  std::string("--lr"),
                                  fmt::format("{}", a.lr),
                                  std::string("--timeout"),
                                  fmt::format("{}", a.timeout_s)}) {
    command.push_back(word);
  }
  if (!a.arena.empty()) {
    for (const char* word : {"--interface", "net0", "--address", "10.77.0.1"}) {
      command.emplace_back(word);
    }
  }
  return command;
}

Result<TrainingRun> run_once(const TrainingArguments& a, const Contender& entry) {
  std::string folder = (std::filesystem::temp_directory_path() / "weft-train-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Error{ErrorKind::kIo, "no temporary folder could be made", ""};
  }
  std::vector<std::vector<std::string>> commands;
  for (int rank = 0; rank < a.ranks; ++rank) {
    commands.push_back(rank_command(a, entry, rank, folder));
  }
  const auto ends = run_children(commands, a.timeout_s);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!ends.ok()) return ends.error();
  std::string lines;
  for (const ChildEnd& end : *ends) {
    if (end.timed_out) {
      return Error{ErrorKind::kUnsupported,
                   fmt::format("it did not end within {:.0f} s", a.timeout_s), ""};
    }
    if (end.code != 0) {
      return Error{ErrorKind::kUnsupported, fmt::format("a rank ended with code {}", end.code), ""};
    }
    lines += end.out;
  }
  return read_training(lines, a.ranks);
}

// Names and parameters are checked before minutes are spent.
Status check(const TrainingArguments& a) {
  for (const std::string& mode : a.modes) {
    if (mode == "auto" || mode == "auto/bsp" || mode == "auto/auto") continue;
    const std::size_t slash = mode.find('/');
    if (slash == std::string::npos) {
      return Error{
          ErrorKind::kInvalidInput,
          fmt::format("--modes has '{}'; a mode is CODEC/SYNC, as in int8/bsp, or auto", mode), ""};
    }
    const auto codec = codec::make_codec(mode.substr(0, slash));
    if (!codec.ok()) return codec.error();
    const auto sync = sync::parse_mode(mode.substr(slash + 1));
    if (!sync.ok()) return sync.error();
    if (Status status = runtime::Synchroniser::check(*sync, **codec); !status.ok()) return status;
    if (sync->backup >= static_cast<std::uint32_t>(a.ranks)) {
      return Error{
          ErrorKind::kInvalidInput,
          fmt::format("--modes has '{}', of {} ranks; backup must be below that", mode, a.ranks),
          ""};
    }
  }
  for (int rank = 0; rank < a.ranks && !a.arena.empty(); ++rank) {
    const std::string host = fmt::format("{}-h{}", a.arena, rank);
    if (std::filesystem::exists("/run/netns/" + host)) continue;
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--hosts-in is '{}', but there is no host {}", a.arena, host),
                 fmt::format("bench/arena.sh up {} {} 200mbit", a.arena, a.ranks)};
  }
  return {};
}

struct TrainingRow {
  double step_s = 0, bytes_per_step = 0;
  std::optional<double> time_to_loss_s;
  std::string choice;  // of the automatic ones
};

// Of the median round by step time.
TrainingRow median_row(const Contender& entry, double loss) {
  std::vector<const TrainingRun*> runs;
  for (const TrainingRun& run : entry.runs) runs.push_back(&run);
  std::sort(runs.begin(), runs.end(),
            [](const auto* x, const auto* y) { return x->step_s < y->step_s; });
  const TrainingRun& median = *runs[runs.size() / 2];
  return {median.step_s, median.bytes_per_step, time_to_loss(median, loss), median.choice};
}

void print_training_json(const TrainingArguments& a, const std::vector<Contender>& entries,
                         double loss) {
  nlohmann::ordered_json j = {
      {"schema", 1},         {"ranks", a.ranks}, {"steps", a.steps},
      {"rounds", a.rounds},  {"width", a.width}, {"lr", a.lr},
      {"hosts_in", a.arena}, {"loss", loss},     {"rows", nlohmann::ordered_json::array()}};
  if (const auto load = load_average()) j["load_average"] = *load;
  for (const Contender& entry : entries) {
    nlohmann::ordered_json row = {{"library", entry.library}, {"mode", entry.mode}};
    if (entry.runs.empty()) {
      row["failed"] = entry.failure;
    } else {
      const TrainingRow measured = median_row(entry, loss);
      row["step_s"] = measured.step_s;
      row["bytes_per_step"] = measured.bytes_per_step;
      row["time_to_loss_s"] = measured.time_to_loss_s
                                  ? nlohmann::ordered_json(*measured.time_to_loss_s)
                                  : nlohmann::ordered_json(nullptr);
      if (!measured.choice.empty()) row["choice"] = measured.choice;
    }
    j["rows"].push_back(std::move(row));
  }
  std::fputs((j.dump(2) + "\n").c_str(), stdout);
}

void print_training_table(const TrainingArguments& a, const std::vector<Contender>& entries,
                          double loss) {
  Table table({"<library", "<mode", "step s", "MB/step", "s to loss", "times plain"});
  std::optional<double> plain;
  for (const Contender& entry : entries) {
    if (entry.library == "gloo" && entry.mode == "plain" && !entry.runs.empty()) {
      plain = median_row(entry, loss).time_to_loss_s;
    }
  }
  double parameters = 0;
  std::string choices;
  for (const Contender& entry : entries) {
    if (entry.runs.empty()) {
      table.row({entry.library, entry.mode, entry.failure, "-", "-", "-"});
      continue;
    }
    parameters = entry.runs.front().parameters;
    const TrainingRow row = median_row(entry, loss);
    if (!row.choice.empty()) choices += fmt::format("{} chose {}\n", entry.mode, row.choice);
    table.row(
        {entry.library, entry.mode, three_digits(row.step_s),
         three_digits(row.bytes_per_step * 1e-6),
         row.time_to_loss_s ? three_digits(*row.time_to_loss_s) : "-",
         row.time_to_loss_s && plain ? fmt::format("{:.2f}x", *plain / *row.time_to_loss_s) : "-"});
  }
  std::fputs(
      fmt::format("{:.3g} million parameters, {} ranks, {} steps, {}\n\n{}\n"
                  "step s: mean of a step of the slowest rank. MB/step: counted at a rank's "
                  "sockets.\ns to loss: until parameters that all ranks had gave a mean loss of "
                  "{:.4g}, which all modes reached.\n{}",
                  parameters * 1e-6, a.ranks, a.steps,
                  a.arena.empty() ? "on this host" : "on the hosts of " + a.arena, table.text(),
                  loss, choices)
          .c_str(),
      stdout);
}

int run_training(const TrainingArguments& a) {
  if (const Status status = check(a); !status.ok())
    return report_error("bench training", status.error());
  std::vector<Contender> entries;
  if (!a.alone) {
    for (const char* mode : {"plain", "fp16", "powersgd:rank=1,buckets=1"})
      entries.push_back({"gloo", mode, {}, ""});
  }
  for (const std::string& mode : a.modes) entries.push_back({"weft", mode, {}, ""});
  for (int round = 0; round < a.rounds; ++round) {
    for (Contender& entry : entries) {
      std::fputs(fmt::format("round {}: {} {}\n", round + 1, entry.library, entry.mode).c_str(),
                 stderr);
      auto result = run_once(a, entry);
      if (result.ok()) {
        entry.runs.push_back(std::move(*result));
      } else if (entry.failure.empty()) {
        entry.failure = result.error().what;
      }
    }
  }
  std::vector<TrainingRun> all;
  for (const Contender& entry : entries)
    all.insert(all.end(), entry.runs.begin(), entry.runs.end());
  if (all.empty())
    return report_error(
        "bench training",
        {ErrorKind::kIo, "nothing could be measured: " + entries.front().failure, ""});
  const double loss = loss_reached_by_all(all);
  a.json ? print_training_json(a, entries, loss) : print_training_table(a, entries, loss);
  const bool failed = std::any_of(entries.begin(), entries.end(),
                                  [](const Contender& entry) { return entry.runs.empty(); });
  return failed ? kExitNo : kExitDone;
}

}  // namespace

Verb add_bench_training(CLI::App& bench) {
  const auto a = std::make_shared<TrainingArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand(
      "training", "a model trained with codecs and sync modes, beside torch's own hooks on gloo");
  verb->add_option("--modes", a->modes,
                   "CODEC/SYNC, auto/bsp or auto, several (none, fp16, int8, int4 with bsp; "
                   "int8/local:period=8, auto/bsp, auto)");
  verb->add_option("--ranks", a->ranks, "processes (4)")->check(whole_number_from(2, 64));
  verb->add_option("--width", a->width, "of the 4 layers; 2500 is 25 million parameters (2500)")
      ->check(whole_number_from(8, 20000));
  verb->add_option("--steps", a->steps, "that count, after 2 that do not (16)")
      ->check(whole_number_from(1, 100000));
  verb->add_option("--rounds", a->rounds, "of all modes, one after the other (1)")
      ->check(whole_number_from(1, 1000));
  verb->add_option("--lr", a->lr, "of SGD (1)")->check(number_from(1e-9, 1e3));
  verb->add_option("--timeout", a->timeout_s, "seconds that one mode may take (600)")
      ->check(number_from(1, 36000));
  verb->add_option("--hosts-in", a->arena, "run rank r on host r of the arena with this tag");
  verb->add_flag("--alone", a->alone, "without gloo");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer("example: weft bench training --width 500 --modes int8/bsp none/local:period=8");
  return {verb, [a] { return run_training(*a); }};
}

}  // namespace weft

// `weft net sync`: what synchronisation modes cost on given links, and what slow ranks cost in
// each.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/delimited.h"
#include "base/quantity.h"
#include "base/table.h"
#include "codec/codecs.h"
#include "net_command.h"
#include "option_checks.h"
#include "runtime/training/synchroniser.h"
#include "timing/sync_run.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSyncModel =
    "the ranks' machines, shard server and ballot are those of live ranks; links meet at one ideal "
    "switch; an average begins when its last rank has come and takes its all-reduce's time, "
    "nothing "
    "of it behind the same step's computing; ways and answers share the links; applying takes no "
    "time; a step of one mode is not worth one of another (docs/sync.md)";

struct SyncArguments {
  int ranks = 4;
  std::string step = "60ms", slow, link = "10Gbit/s,10us", codec, coding = "0", seconds;
  std::vector<std::string> rank_links, modes;
  double parameters = 25e6, jitter = 0, loss_half = 0;
  std::int64_t steps = 0, seed = 1;
  bool json = false, csv = false, markdown = false;
};

struct ModeRow {
  std::string mode;
  SyncComparison found;
};

std::optional<RankLink> parse_link(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto speed = parse_bytes_per_s(text.substr(0, comma));
  const auto latency = parse_seconds(text.substr(comma + 1));
  if (!speed || !latency || !(*speed > 0)) return std::nullopt;
  return RankLink{*speed, *latency};
}

// "3:4" as 3 and "4".
std::optional<std::pair<std::size_t, std::string>> parse_of_rank(const std::string& text,
                                                                 int ranks) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto rank = parse_integer(text.substr(0, colon));
  if (!rank || *rank < 0 || *rank >= ranks) return std::nullopt;
  return std::pair(static_cast<std::size_t>(*rank), text.substr(colon + 1));
}

void read_slow(const SyncArguments& a, SyncTask& task, Complaints& complaints) {
  if (a.slow.empty()) return;
  task.slow.assign(task.ranks, 1);
  for (std::size_t at = 0; at <= a.slow.size();) {
    const std::size_t end = std::min(a.slow.find(',', at), a.slow.size());
    const std::string item = a.slow.substr(at, end - at);
    const auto one = parse_of_rank(item, a.ranks);
    const auto factor = one ? parse_number(one->second) : std::nullopt;
    if (factor && *factor >= 1 && *factor <= 1e6) {
      task.slow[one->first] = *factor;
    } else {
      complaints.add(fmt::format(
          "--slow has {}; it must be RANK:FACTOR with a rank from 0 to {} and a factor from 1 to "
          "1e6",
          shown(item), a.ranks - 1));
    }
    at = end + 1;
  }
}

void read_links(const SyncArguments& a, SyncTask& task, Complaints& complaints) {
  const auto link = parse_link(a.link);
  if (!link) {
    complaints.add(fmt::format("--link is {}; it must be BANDWIDTH,LATENCY such as 200Mbit/s,100us",
                               shown(a.link)));
  }
  task.links.assign(task.ranks, link.value_or(RankLink{}));
  for (const std::string& text : a.rank_links) {
    const auto one = parse_of_rank(text, a.ranks);
    const auto own = one ? parse_link(one->second) : std::nullopt;
    if (own) {
      task.links[one->first] = *own;
    } else {
      complaints.add(fmt::format(
          "--rank-link is {}; it must be RANK:BANDWIDTH,LATENCY with a rank from 0 to {}",
          shown(text), a.ranks - 1));
    }
  }
}

Result<SyncTask> task_of(const SyncArguments& a) {
  SyncTask task;
  Complaints complaints;
  task.ranks = static_cast<std::uint32_t>(a.ranks);
  task.parameters = a.parameters;
  task.jitter = a.jitter;
  task.seed = static_cast<std::uint64_t>(a.seed);
  task.loss_half_steps = a.loss_half;
  task.steps = static_cast<std::uint64_t>(a.steps);
  const auto time = [&](const char* option, const std::string& text, bool above_0) {
    const auto value = parse_seconds(text);
    if (value && (*value > 0 || !above_0)) return *value;
    complaints.add(fmt::format("{} is {}; it must be {}{}", option, shown(text), kSecondsWanted,
                               above_0 ? ", above 0" : ""));
    return 0.0;
  };
  task.step_s = time("--step", a.step, true);
  task.coding_s_per_value = time("--coding", a.coding, false);
  if (!a.seconds.empty()) task.seconds = time("--seconds", a.seconds, true);
  constexpr std::uint64_t kUsualSteps = 200;
  if (task.steps == 0 && a.seconds.empty()) task.steps = kUsualSteps;
  read_slow(a, task, complaints);
  read_links(a, task, complaints);
  if (!complaints.empty()) return complaints.error("weft net sync --help has an example");
  return task;
}

// The codec that was asked for, else the mode's own.
Status set_codec(const SyncArguments& a, SyncTask& task) {
  const std::string& name = a.codec.empty() ? task.mode.codec : a.codec;
  task.bytes_per_value = kPlainValueBytes;
  if (name.empty() || name == "none" || task.parameters < 1) return {};
  const auto codec = codec::make_codec(name);
  if (!codec.ok()) return codec.error();
  if (Status status = runtime::Synchroniser::check(task.mode, **codec); !status.ok()) {
    return status;
  }
  const auto values = static_cast<std::size_t>(task.parameters);
  task.bytes_per_value = (*codec)->wire_bytes(values) / static_cast<double>(values);
  return {};
}

Result<std::vector<ModeRow>> run_modes(const SyncArguments& a, SyncTask task) {
  Complaints complaints;
  std::vector<sync::Mode> modes;
  for (const std::string& text : a.modes) {
    auto mode = sync::parse_mode(text);
    if (mode.ok()) {
      modes.push_back(std::move(*mode));
    } else {
      complaints.add(mode.error().what);
    }
  }
  if (!complaints.empty()) return complaints.error("docs/sync.md lists every mode");
  std::vector<ModeRow> rows;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    task.mode = modes[i];
    if (const Status status = set_codec(a, task); !status.ok()) return status.error();
    auto found = compare_sync(task);
    if (!found.ok()) return found.error();
    rows.push_back({a.modes[i], std::move(*found)});
  }
  return rows;
}

Table sync_table(const std::vector<ModeRow>& rows) {
  Table table(
      {"<mode", "even steps/s", "slowed steps/s", "kept %", "clocks", "MB/step", "waiting %"});
  for (const ModeRow& row : rows) {
    const SyncComparison& found = row.found;
    table.row({row.mode, three_digits(found.even_steps_per_s),
               three_digits(found.slowed_steps_per_s), fmt::format("{:.1f}", 100 * found.kept()),
               fmt::format("{}", found.slowed.widest),
               three_digits(found.slowed.bytes_per_step * 1e-6),
               fmt::format("{:.1f}", 100 * found.waiting)});
  }
  return table;
}

ordered_json outcome_json(const SyncOutcome& outcome) {
  ordered_json out{{"seconds", outcome.time_s},
                   {"clock_difference", outcome.widest},
                   {"bytes_per_rank_step", outcome.bytes_per_step},
                   {"algorithm", outcome.algorithm},
                   {"events", outcome.events},
                   {"ranks", ordered_json::array()}};
  for (const SyncRank& rank : outcome.ranks) {
    out["ranks"].push_back({{"steps", rank.steps},
                            {"steps_per_s", rank.steps_per_s},
                            {"waiting_s", rank.waiting_s},
                            {"bytes_per_step", rank.bytes_per_step}});
  }
  return out;
}

std::string sync_json(const SyncTask& task, const std::vector<ModeRow>& rows) {
  ordered_json out{{"schema", 1},
                   {"model", kSyncModel},
                   {"ranks", task.ranks},
                   {"parameters", task.parameters},
                   {"step_s", task.step_s},
                   {"slow", ordered_json::array()},
                   {"steps", task.steps},
                   {"seconds", task.seconds},
                   {"jitter", task.jitter},
                   {"seed", task.seed},
                   {"synthetic_loss_half_steps", task.loss_half_steps},
                   {"runs", ordered_json::array()}};
  for (std::size_t rank = 0; rank < task.slow.size(); ++rank) {
    if (task.slow[rank] == 1) continue;
    out["slow"].push_back({{"rank", rank}, {"factor", task.slow[rank]}});
  }
  for (const ModeRow& row : rows) {
    out["runs"].push_back({{"mode", row.mode},
                           {"others_steps_per_s", row.found.even_steps_per_s},
                           {"others_steps_per_s_slowed", row.found.slowed_steps_per_s},
                           {"kept", row.found.kept()},
                           {"others_waiting", row.found.waiting},
                           {"even", outcome_json(row.found.even)},
                           {"slowed", outcome_json(row.found.slowed)}});
  }
  return out.dump(2) + "\n";
}

std::string sync_verdict(const SyncTask& task, const std::vector<ModeRow>& rows) {
  const auto fastest =
      std::max_element(rows.begin(), rows.end(), [](const ModeRow& x, const ModeRow& y) {
        return x.found.slowed_steps_per_s < y.found.slowed_steps_per_s;
      });
  const bool any_slow =
      std::any_of(task.slow.begin(), task.slow.end(), [](double f) { return f > 1; });
  std::string text = fmt::format(
      "{} takes the most steps{}: {} a second, {:.2f}x those of {}", fastest->mode,
      any_slow ? " beside slow ranks" : "", three_digits(fastest->found.slowed_steps_per_s),
      fastest->found.slowed_steps_per_s / rows.front().found.slowed_steps_per_s, rows.front().mode);
  if (any_slow) text += fmt::format("; the others keep {:.0f} %", 100 * fastest->found.kept());
  return text + "\n";
}

void print_sync(const SyncArguments& a, const SyncTask& task, const std::vector<ModeRow>& rows) {
  if (a.json) {
    std::fputs(sync_json(task, rows).c_str(), stdout);
    return;
  }
  const Table table = sync_table(rows);
  if (a.csv || a.markdown) {
    std::fputs((a.csv ? table.csv() : table.markdown()).c_str(), stdout);
    return;
  }
  std::string text = table.text();
  if (a.loss_half > 0) {
    text += fmt::format("the loss is synthetic: it halves every {:g} steps\n", a.loss_half);
  }
  std::fputs((text + "model: " + kSyncModel + "\n" + sync_verdict(task, rows)).c_str(), stdout);
}

int compare_modes(const SyncArguments& a) {
  const auto task = task_of(a);
  if (!task.ok()) return report_error("net sync", task.error());
  const auto rows = run_modes(a, *task);
  if (!rows.ok()) return report_error("net sync", rows.error());
  print_sync(a, *task, *rows);
  return kExitDone;
}

}  // namespace

Verb add_net_sync(CLI::App& net) {
  CLI::App* const app = net.add_subcommand(
      "sync", "steps, waiting and bytes under synchronisation modes, with and without slow ranks");
  auto a = std::make_shared<SyncArguments>();
  app->add_option("--modes", a->modes, "bsp, ssp:bound=3, local:period=8, ... (docs/sync.md)")
      ->required();
  app->add_option("--ranks", a->ranks, "of the job (4)")
      ->check(whole_number_from(1, kMostSyncRanks));
  app->add_option("--step", a->step, "computing time of a step (60ms)");
  app->add_option("--slow", a->slow, "RANK:FACTOR,...: ranks that take FACTOR times as long");
  app->add_option("--parameters", a->parameters, "values of the model (25e6)")
      ->check(number_from(0, 1e15));
  app->add_option("--link", a->link, "BANDWIDTH,LATENCY of every rank's link (10Gbit/s,10us)");
  app->add_option("--rank-link", a->rank_links, "RANK:BANDWIDTH,LATENCY: a link of its own")
      ->allow_extra_args(false);
  app->add_option("--codec", a->codec,
                  "of gradients and ways (docs/codecs.md); default: the mode's");
  app->add_option("--coding", a->coding, "time to encode and decode a value, such as 2ns (0)");
  app->add_option("--steps", a->steps, "until some rank has taken so many (200)")
      ->check(whole_number_from(1, 100'000'000));
  app->add_option("--seconds", a->seconds, "until so much time has passed, instead or as well");
  app->add_option("--jitter", a->jitter, "of steps, relative: sigma of a log-normal factor (0)")
      ->check(number_from(0, 2));
  app->add_option("--seed", a->seed, "of the jitter (1)")->check(whole_number_from(0, 4294967295));
  app->add_option("--loss-half", a->loss_half,
                  "a synthetic loss that halves in so many steps, for adaptive periods")
      ->check(number_from(1e-6, 1e15));
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the table as CSV");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  app->footer(
      "example: weft net sync --step 60ms --slow 3:4 --link 200Mbit/s,100us --modes bsp "
      "ssp:bound=3 "
      "asp local:period=8");
  return {app, [a] { return compare_modes(*a); }};
}

}  // namespace weft

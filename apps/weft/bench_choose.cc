#include "bench_choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantity.h"
#include "base/table.h"
#include "choose_training.h"
#include "option_checks.h"
#include "rank_processes.h"
#include "runtime/chooser.h"

namespace weft {
namespace {

using collective::Operation;

constexpr int kMostMeasured = 64;  // processes on this machine

struct ChooseArguments {
  int ranks = 0, hosts = 1;
  std::string bytes, operation = "all-reduce", links, arena;
  bool json = false;
  // With --training the question is what a model would be trained with.
  bool training = false;
  double parameters = 0, compute_s = 0;
  std::string optimizer;
};

std::map<std::string, Operation> operations() {
  std::map<std::string, Operation> names;
  for (int i = 0; i < collective::kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    names.emplace(name_of(operation), operation);
  }
  return names;
}

std::string microseconds(Seconds time) { return three_digits(1e6 * time); }

nlohmann::ordered_json link_json(const runtime::LinkSpeed& link) {
  return {{"message_s", link.message_s}, {"bytes_per_s", link.bytes_per_s}};
}

void print_choice_json(const ChooseArguments& a, double bytes, const runtime::GroupShape& shape,
                       const runtime::Choice& choice) {
  const auto or_null = [](Seconds time) {
    return time == kNever ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(time);
  };
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"operation", a.operation},
                                 {"ranks", a.ranks},
                                 {"hosts", a.hosts},
                                 {"bytes", bytes},
                                 {"algorithm", choice.algorithm},
                                 {"expected_s", or_null(choice.expected_s)},
                                 {"slice_bytes", choice.slice_bytes}};
  json["links"] = {{"measured", a.links.empty()},
                   {"text", to_text(shape.links)},
                   {"same_host", link_json(shape.links.same_host)},
                   {"other_host", link_json(shape.links.other_host)},
                   {"add_bytes_per_s", shape.links.add_bytes_per_s}};
  json["considered"] = nlohmann::ordered_json::array();
  for (const runtime::Candidate& candidate : choice.considered) {
    json["considered"].push_back(
        {{"algorithm", candidate.algorithm}, {"expected_s", or_null(candidate.expected_s)}});
  }
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
}

std::string link_in_words(const runtime::LinkSpeed& link) {
  return fmt::format("a message {}, {}", seconds_text(link.message_s),
                     bytes_per_s_text(link.bytes_per_s));
}

std::string links_in_words(const ChooseArguments& a, const runtime::LinkSpeeds& links) {
  std::string text = a.links.empty() ? "links as measured" : "links as given";
  if (a.hosts < a.ranks) text += "; inside a host: " + link_in_words(links.same_host);
  if (a.hosts > 1) text += "; between hosts: " + link_in_words(links.other_host);
  return text + fmt::format("; adding {}\n", bytes_per_s_text(links.add_bytes_per_s)) +
         fmt::format("as text: {}\n", to_text(links));
}

void print_choice_table(const ChooseArguments& a, double bytes, const runtime::GroupShape& shape,
                        const runtime::Choice& choice) {
  Seconds least = kNever;
  for (const runtime::Candidate& one : choice.considered) least = std::min(least, one.expected_s);
  Table table({"<", "<algorithm", "expected us", "times the best"});
  for (const runtime::Candidate& candidate : choice.considered) {
    const bool timed = candidate.expected_s != kNever;
    table.row(
        {candidate.algorithm == choice.algorithm ? "✓" : "", candidate.algorithm,
         timed ? microseconds(candidate.expected_s) : "too many messages",
         timed ? fmt::format("{:.2f}x", candidate.expected_s / std::max(least, 1e-12)) : "-"});
  }
  const std::string slices =
      choice.slice_bytes == 0
          ? "whole"
          : fmt::format("in slices of {} KiB",
                        three_digits(static_cast<double>(choice.slice_bytes) / 1024));
  std::fputs(fmt::format("{} of {} bytes between {} ranks on {} host{}\n\n{}\n{}{} it is, {}, "
                         "expected to take {}\n",
                         a.operation, bytes, a.ranks, a.hosts, a.hosts == 1 ? "" : "s",
                         table.text(), links_in_words(a, shape.links), choice.algorithm, slices,
                         choice.expected_s == kNever ? "what was not timed"
                                                     : microseconds(choice.expected_s) + " us")
                 .c_str(),
             stdout);
}

// Starts ranks that measure, and takes what they agreed on.
Result<runtime::LinkSpeeds> measure_links(int ranks, bool tcp, const std::string& arena) {
  constexpr double kTimeout_s = 60;
  const auto lines = run_start(ranks, tcp, 1 << 10, kTimeout_s, arena);
  if (!lines.ok()) return lines.error();
  return runtime::parse_links((*lines)[0].at("links").get<std::string>());
}

// Inside a host by as many ranks as one has, between hosts by one rank of each: over the loopback,
// unless there is an arena.
Result<runtime::LinkSpeeds> measured_links(const ChooseArguments& a) {
  runtime::LinkSpeeds links;
  if (a.hosts < a.ranks) {
    const auto inside = measure_links(a.ranks / a.hosts, false, "");
    if (!inside.ok()) return inside.error();
    links = *inside;
  }
  if (a.hosts > 1) {
    const auto between = measure_links(a.hosts, true, a.arena);
    if (!between.ok()) return between.error();
    links.other_host = between->other_host;
    links.add_bytes_per_s = between->add_bytes_per_s;
  }
  return links;
}

int explain_choice(const ChooseArguments& a) {
  const auto bytes = a.training ? std::optional(0.0) : parse_bytes(a.bytes);
  if (!bytes)
    return report_error(
        "bench choose",
        {ErrorKind::kInvalidInput, fmt::format("--bytes is '{}'", a.bytes), "4096, 64KB or 1MB"});
  if (a.training != (a.parameters > 0) || a.training != (a.compute_s > 0)) {
    return report_error(
        "bench choose",
        {ErrorKind::kInvalidInput, "--training, --parameters and --compute go together",
         "weft bench choose --training --ranks 4 --parameters 25e6 --compute 0.5"});
  }
  if (a.ranks % a.hosts != 0) {
    return report_error("bench choose",
                        {ErrorKind::kInvalidInput,
                         fmt::format("{} ranks cannot be {} hosts' alike", a.ranks, a.hosts),
                         "--ranks must be a multiple of --hosts"});
  }
  if (a.links.empty() && std::max(a.hosts, a.ranks / a.hosts) > kMostMeasured) {
    return report_error("bench choose",
                        {ErrorKind::kInvalidInput,
                         fmt::format("{} ranks of one kind are too many to be measured here",
                                     std::max(a.hosts, a.ranks / a.hosts)),
                         fmt::format("give --links, such as {}", to_text(runtime::LinkSpeeds{}))});
  }
  runtime::GroupShape shape;
  shape.ranks = a.ranks;
  shape.one_host = a.hosts == 1;
  shape.per_host = a.ranks / a.hosts;
  const auto links = a.links.empty() ? measured_links(a) : runtime::parse_links(a.links);
  if (!links.ok()) return report_error("bench choose", links.error());
  shape.links = *links;
  if (a.training) {
    return choose_training({a.parameters, a.compute_s, a.optimizer, a.links.empty(), a.json},
                           shape);
  }
  const runtime::Choice choice = runtime::timed_chooser().choose(
      operations().at(a.operation), *bytes, shape,
      {"", !collective::sums(operations().at(a.operation)) || a.ranks == 2});
  a.json ? print_choice_json(a, *bytes, shape, choice)
         : print_choice_table(a, *bytes, shape, choice);
  return kExitDone;
}

}  // namespace

Verb add_bench_choose(CLI::App& bench) {
  const auto a = std::make_shared<ChooseArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand(
      "choose",
      "which algorithm an operation would run, or with --training how a model would be trained");
  verb->alias("explain");  // its old name; to explain is to say why a job waits
  verb->add_option("--ranks", a->ranks, "of the group")->required()->check(CLI::Range(2, 4096));
  CLI::Option* bytes = verb->add_option("--bytes", a->bytes, "of the whole data, such as 64KB");
  CLI::Option* training =
      verb->add_flag("--training", a->training, "codec, sync mode and algorithm of training");
  bytes->excludes(training);
  verb->add_option("--parameters", a->parameters, "of the model, in float32, such as 25e6")
      ->check(number_from(1, 1e13));
  verb->add_option("--compute", a->compute_s, "seconds that a rank computes in a step")
      ->check(number_from(1e-9, 1e6));
  verb->add_option("--optimizer", a->optimizer, "sgd or adam; else the lesser progress counts")
      ->check(CLI::IsMember({"sgd", "adam"}));
  std::vector<std::string> names;
  for (const auto& [name, operation] : operations()) names.push_back(name);
  verb->add_option("--operation", a->operation, "all-reduce and the like (all-reduce)")
      ->check(CLI::IsMember(names));
  verb->add_option("--hosts", a->hosts, "that the ranks are spread over (1)")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--links", a->links, "speeds of the links, instead of measuring (WEFT_LINKS)");
  verb->add_option("--hosts-in", a->arena, "measure between the hosts of the arena with this tag");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "Ranks are started here to measure: with --hosts, over the loopback.\n"
      "example: weft bench choose --ranks 4 --bytes 1MB\n"
      "         weft bench choose --ranks 8 --hosts 2 --bytes 64MB --operation broadcast\n"
      "         weft bench choose --training --ranks 4 --hosts 4 --parameters 25e6 --compute 0.4");
  return {verb, [a] { return explain_choice(*a); }};
}

}  // namespace weft

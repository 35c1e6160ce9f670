// `weft net topology`: a network in figures, in words and as a picture.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/quantity.h"
#include "base/table.h"
#include "fabric/topology_summary.h"
#include "net_command.h"
#include "topology_svg.h"

namespace weft {
namespace {

struct TopologyArguments {
  std::string spec, svg;
  bool json = false;
};

using nlohmann::ordered_json;

std::string topology_json(const Topology& topology, const TopologySummary& s) {
  ordered_json j;
  j["schema"] = 1;
  j["topology"] = topology.text;
  j["description"] = topology.facts.words;
  j["model"] = model_in_words(topology);
  j["endpoints"] = s.endpoints;
  j["endpoints_per_node"] = topology.facts.endpoints_per_node;
  j["switches"] = s.switches;
  j["nics"] = s.nics;
  j["bridges"] = s.bridges;
  j["links"] = topology.links.size();
  j["link_speeds"] = ordered_json::array();
  for (const auto& speed : s.speeds) {
    j["link_speeds"].push_back({{"bytes_per_s", speed.bytes_per_s}, {"links", speed.links}});
  }
  j["paths"] = {{"pairs", s.pairs},
                {"all_pairs", s.all_pairs},
                {"longest_links", s.longest_links},
                {"mean_links", s.mean_links},
                {"mean_paths", s.mean_paths},
                {"longest_latency_s", s.longest_latency},
                {"mean_latency_s", s.mean_latency}};
  j["message_overhead_s"] = topology.message_overhead;
  j["bisection"] = {{"bytes_per_s", s.bisection.bytes_per_s},
                    {"exact", s.bisection.exact},
                    {"method", s.bisection.method}};
  j["oversubscription"] = ordered_json::array();
  for (const auto& tier : topology.facts.oversubscription) {
    j["oversubscription"].push_back({{"tier", tier.tier}, {"ratio", tier.ratio}});
  }
  j["price_per_gb"] = {{"mean", s.mean_price_per_gb}, {"highest", s.highest_price_per_gb}};
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string with_commas(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string vertices_text(const TopologySummary& s) {
  std::string text = with_commas(s.switches);
  if (s.nics > 0) text += fmt::format(", and {} NICs", with_commas(s.nics));
  if (s.bridges > 0) text += fmt::format(", {} PCIe switches and sockets", with_commas(s.bridges));
  return text;
}

std::string oversubscription_text(const TopologyFacts& facts) {
  std::string text;
  for (const auto& tier : facts.oversubscription) {
    text += fmt::format("{}{} {}:1", text.empty() ? "" : ", ", tier.tier, three_digits(tier.ratio));
  }
  return text;
}

std::string as_table(const Topology& topology, const TopologySummary& s) {
  Table table({"<figure", "<value"});
  table.row({"endpoints", with_commas(s.endpoints)});
  table.row({"switches", vertices_text(s)});
  constexpr std::size_t kMostSpeeds = 6;
  for (std::size_t i = 0; i < std::min(kMostSpeeds, s.speeds.size()); ++i) {
    table.row({i == 0 ? "links, each direction" : "",
               fmt::format("{} of {}", with_commas(s.speeds[i].links),
                           bytes_per_s_text(s.speeds[i].bytes_per_s))});
  }
  if (s.speeds.size() > kMostSpeeds) {
    table.row({"", fmt::format("and {} slower speeds", s.speeds.size() - kMostSpeeds)});
  }
  const std::string whence =
      s.all_pairs ? "all pairs" : fmt::format("a sample of {} pairs", with_commas(s.pairs));
  table.row({s.all_pairs ? "diameter" : "longest path seen",
             fmt::format("{} links ({})", s.longest_links, whence)});
  table.row({"mean path", fmt::format("{} links, {} alternatives", three_digits(s.mean_links),
                                      three_digits(s.mean_paths))});
  table.row({"latency", fmt::format("mean {}, longest {}", seconds_text(s.mean_latency),
                                    seconds_text(s.longest_latency))});
  table.row({"bisection", fmt::format("{}{} a direction", s.bisection.exact ? "" : "at most ",
                                      bytes_per_s_text(s.bisection.bytes_per_s))});
  table.row({"", s.bisection.method});
  if (!topology.facts.oversubscription.empty()) {
    table.row({"oversubscription", oversubscription_text(topology.facts)});
  }
  if (s.highest_price_per_gb > 0) {
    table.row({"price of a GB between endpoints",
               fmt::format("mean {}, highest {}", three_digits(s.mean_price_per_gb),
                           three_digits(s.highest_price_per_gb))});
  }
  return fmt::format("{}: {}\n\n{}\nmodel: {}\n", topology.text, topology.facts.words, table.text(),
                     model_in_words(topology));
}

int run_topology(const TopologyArguments& arguments) {
  const Result<Topology> topology = read_topology(arguments.spec);
  if (!topology.ok()) return report_error("net topology", topology.error());
  if (!arguments.svg.empty()) {
    const Status written = write_file_atomically(arguments.svg, topology_svg(*topology));
    if (!written.ok()) return report_error("net topology", written.error());
  }
  const TopologySummary summary = summarize_topology(*topology);
  const std::string text =
      arguments.json ? topology_json(*topology, summary) : as_table(*topology, summary);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace

Verb add_net_topology(CLI::App& net) {
  const auto arguments = std::make_shared<TopologyArguments>();  // shared by parser and runner
  CLI::App* verb = net.add_subcommand("topology", "a network in figures, words and a picture");
  verb->add_option("spec", arguments->spec, "builder with parameters, or a YAML or CSV file")
      ->required();
  verb->add_option("--svg", arguments->svg, "write a picture");
  verb->add_flag("--json", arguments->json, "print JSON");
  std::string builders = "builders (parameters: docs/topologies.md):\n";
  for (const BuilderName& builder : topology_builders()) {
    builders += fmt::format("  {:<12} {}\n", builder.name, builder.summary);
  }
  verb->footer(builders +
               "example: weft net topology torus:16x16x16,bandwidth=50GB/s --svg torus.svg");
  return {verb, [arguments] { return run_topology(*arguments); }};
}

}  // namespace weft

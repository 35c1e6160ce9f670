#include "fabric/coflow/coflow_generator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/delimited.h"
#include "base/random.h"

namespace weft {
namespace {

constexpr std::string_view kPrefix = "gen:";

// `count` different ports, ascending.
std::vector<PortId> draw_ports(Random& random, std::uint32_t ports, std::uint32_t count) {
  std::vector<PortId> all(ports);
  for (PortId p = 0; p < ports; ++p) all[p] = p;
  for (std::uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(ports - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

std::uint32_t draw_width(Random& random, std::uint32_t width) {
  const double drawn = std::exp(random.uniform(0, std::log(width + 1.0)));
  return std::clamp(static_cast<std::uint32_t>(drawn), 1u, width);
}

}  // namespace

bool names_coflow_generator(const std::string& text) { return text.starts_with(kPrefix); }

Result<CoflowGeneratorSpec> parse_coflow_generator(const std::string& text) {
  CoflowGeneratorSpec spec;
  double ports = spec.ports, coflows = spec.coflows, width = spec.width, seed = 1;
  struct Key {
    const char* name;
    double* value;
    double low, high;
    bool whole;
  };
  const std::vector<Key> keys = {{"ports", &ports, 1, kMaxCoflowPorts, true},
                                 {"coflows", &coflows, 1, kMaxCoflows, true},
                                 {"load", &spec.load, 1e-6, 100, false},
                                 {"width", &width, 0, kMaxCoflowPorts, true},
                                 {"median_mib", &spec.median_mib, 1e-3, 1e9, false},
                                 {"sigma", &spec.sigma, 0, 5, false},
                                 {"seed", &seed, 0, 1e15, true}};
  std::vector<std::string> names;
  for (const Key& key : keys) names.push_back(key.name);
  Complaints complaints;
  std::string_view rest = std::string_view(text).substr(kPrefix.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string name(item.substr(0, equals));
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
    if (key == keys.end()) {
      complaints.add(fmt::format("{} in {} is no key of the coflow generator (known: {})",
                                 shown(name), shown(text), fmt::join(names, ", ")));
      continue;
    }
    const auto value = parse_number(item.substr(std::min(equals + 1, item.size())));
    const bool fits = value && *value >= key->low && *value <= key->high &&
                      (!key->whole || *value == std::floor(*value));
    if (!fits) {
      complaints.add(fmt::format("{} in {} must be a {} from {} to {}", name, shown(text),
                                 key->whole ? "whole number" : "number", key->low, key->high));
      continue;
    }
    *key->value = *value;
  }
  if (!complaints.empty()) return complaints.error("gen:ports=50,coflows=200,load=0.7,seed=1");
  spec.ports = static_cast<std::uint32_t>(ports);
  spec.coflows = static_cast<std::uint32_t>(coflows);
  spec.width = static_cast<std::uint32_t>(width == 0 ? ports : std::min(width, ports));
  spec.seed = static_cast<std::uint64_t>(seed);
  return spec;
}

CoflowTrace generate_coflows(const CoflowGeneratorSpec& spec, double bytes_per_s) {
  CoflowTrace trace;
  trace.path = fmt::format("gen:ports={},coflows={},load={},seed={}", spec.ports, spec.coflows,
                           spec.load, spec.seed);
  trace.ports = spec.ports;
  Random random(spec.seed);
  const std::uint32_t width = spec.width == 0 ? spec.ports : spec.width;
  double total = 0, clock = 0;
  for (std::uint32_t k = 0; k < spec.coflows; ++k) {
    Coflow coflow;
    coflow.name = std::to_string(k + 1);
    coflow.arrival = clock;
    clock += random.exponential(1);
    coflow.sources = draw_ports(random, spec.ports, draw_width(random, width));
    coflow.targets = draw_ports(random, spec.ports, draw_width(random, width));
    std::vector<double> received;
    for (std::size_t j = 0; j < coflow.targets.size(); ++j) {
      received.push_back(std::max(1.0, random.log_normal(std::log(spec.median_mib), spec.sigma)) *
                         kMiB);
      total += received.back();
    }
    for (std::size_t i = 0; i < coflow.sources.size(); ++i) {
      for (double bytes : received) {
        coflow.bytes.push_back(bytes / static_cast<double>(coflow.sources.size()));
      }
    }
    trace.coflows.push_back(std::move(coflow));
  }
  const double span = total / (spec.load * bytes_per_s * spec.ports);
  stretch_arrivals(trace, span / std::max(clock, 1e-9));
  return trace;
}

void assign_deadlines(CoflowTrace& trace, double bytes_per_s, double slack, std::uint64_t seed) {
  Random random(seed);
  for (Coflow& coflow : trace.coflows) {
    coflow.deadline = isolated_time(coflow, bytes_per_s) * (1 + random.uniform(0, slack));
  }
}

}  // namespace weft

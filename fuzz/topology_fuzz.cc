// Whatever the bytes are, reading them as a topology gives a sound topology or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"
#include "fabric/topology.h"
#include "flow/path_choice.h"

namespace {

using weft::Topology;
using weft::VertexId;

void check_path(const Topology& topology, VertexId a, VertexId b) {
  const std::uint32_t count = topology.paths->count(a, b);
  CHECK(count > 0);
  for (const std::uint32_t k : {0U, count / 2, count - 1}) {
    std::vector<weft::LinkId> path;
    topology.paths->path(a, b, k, path);
    VertexId at = a;
    for (const weft::LinkId link : path) {
      CHECK(link < topology.links.size() && topology.links[link].from == at);
      at = topology.links[link].to;
    }
    CHECK(at == b);
  }
}

void check_sound(const weft::Result<Topology>& result) {
  if (!result.ok()) {
    CHECK(!result.error().what.empty());
    return;
  }
  const Topology& topology = *result;
  const std::uint32_t n = topology.endpoints;
  CHECK(n >= 2 || topology.facts.endpoints_per_node == n);
  CHECK(n <= weft::kMaxEndpoints && topology.links.size() <= weft::kMaxLinks);
  CHECK(topology.names.size() == topology.vertices.size());
  for (const weft::DirectedLink& link : topology.links) {
    CHECK(link.from < topology.vertices.size() && link.to < topology.vertices.size());
    CHECK(std::isfinite(link.bytes_per_s) && link.bytes_per_s > 0);
    CHECK(std::isfinite(link.latency) && link.latency >= 0 && link.price_per_byte >= 0);
  }
  for (const auto& [a, b] : std::vector<std::pair<VertexId, VertexId>>{
           {0, n - 1}, {n - 1, 0}, {n / 2, 0}, {n / 3, n / 2}, {1, n / 2}}) {
    if (a != b && a < n && b < n) check_path(topology, a, b);
  }
}

// A legal topology may have a million endpoints, which takes seconds and finds nothing.
bool names_large_numbers(const std::string& text) {
  size_t digits = 0;
  for (const char c : text) {
    const bool exponent = digits > 0 && (c == 'e' || c == 'E');
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3 || exponent) return true;
  }
  return false;
}

// Products of parameters grow fast even when each is small.
bool multiplies_much(const std::string& text) {
  double product = 1;
  for (size_t i = 0; i < text.size();) {
    double number = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      number = number * 10 + (text[i] - '0');
    }
    if (number > 1) product *= number;
    ++i;
  }
  return product > 1e7;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& quantity :
       {weft::parse_bytes(text), weft::parse_bytes_per_s(text), weft::parse_seconds(text)}) {
    CHECK(!quantity || (std::isfinite(*quantity) && *quantity >= 0));
  }
  const auto rule = weft::parse_path_rule(text);
  CHECK(!rule.ok() || rule->spray >= 1);
  if (names_large_numbers(text)) return 0;
  check_sound(weft::parse_topology_file("fuzz.csv", text));
  if (multiplies_much(text)) return 0;
  check_sound(weft::parse_topology_shorthand(text, 8));
  check_sound(weft::parse_topology_file("fuzz.yaml", text, 8));
  return 0;
}

// Networks in which servers pass traffic on: BCube, DCell, and optical rings of the TopoOpt type.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fabric/builders/builders.h"

namespace weft {
namespace {

double power(double base, std::uint32_t exponent) {
  return std::pow(base, static_cast<double>(exponent));
}

// Servers of a DCell of each level, 0 upwards (the paper's t_k = t_{k-1} (t_{k-1} + 1)).
std::vector<double> dcell_sizes(std::uint32_t ports, std::uint32_t levels) {
  std::vector<double> sizes{static_cast<double>(ports)};
  for (std::uint32_t level = 1; level <= levels; ++level) {
    sizes.push_back(sizes.back() * (sizes.back() + 1));
  }
  return sizes;
}

// Each two of the t + 1 cells below a cell of level > 0 are joined by one cable: number i and j > i
// by server j - 1 of the one and server i of the other.
void join_cells(Wiring& wiring, const std::vector<double>& sizes, std::uint32_t level,
                VertexId first, const LinkRate& rate) {
  const auto below = static_cast<std::uint32_t>(sizes[level - 1]);
  for (std::uint32_t i = 0; i <= below; ++i) {
    for (std::uint32_t j = i + 1; j <= below; ++j) {
      wiring.cable(first + i * below + j - 1, first + j * below + i, rate);
    }
  }
}

}  // namespace

// Guo et al., "BCube", SIGCOMM 2009: BCube_k has n^(k+1) servers; a switch of level l joins the n
// servers whose addresses differ in digit l only.
Wiring build_bcube(std::uint32_t ports, std::uint32_t levels, const LinkRate& rate) {
  const auto servers = static_cast<std::uint32_t>(power(ports, levels + 1));
  Wiring wiring;
  wiring.add("host", VertexKind::kEndpoint, 0, servers);
  std::uint32_t below = 1;
  for (std::uint32_t level = 0; level <= levels; ++level, below *= ports) {
    const VertexId first = wiring.add(fmt::format("level{}-", level), VertexKind::kSwitch,
                                      static_cast<int>(level) + 1, servers / ports);
    for (std::uint32_t v = 0; v < servers; ++v) {
      wiring.cable(v, first + v / (below * ports) * below + v % below, rate);
    }
  }
  wiring.topology.facts.words =
      fmt::format("BCube({}, {}): {} servers with {} ports each, which pass traffic on", ports,
                  levels, servers, levels + 1);
  wiring.endpoints_forward = true;
  return wiring;
}

Wiring read_bcube(Parameters& p, std::uint32_t) {
  const std::uint32_t ports = p.count("ports", 4, 2, 1024);
  const std::uint32_t levels = p.count("levels", 1, 0, 8);
  const LinkRate rate = p.link(50e9, 1e-6);
  const double servers = power(ports, levels + 1);
  p.fits(servers, servers * (levels + 1));
  return p.done() ? build_bcube(ports, levels, rate) : Wiring{};
}

// Guo et al., "DCell", SIGCOMM 2008.
Wiring build_dcell(std::uint32_t ports, std::uint32_t levels, const LinkRate& rate) {
  const std::vector<double> sizes = dcell_sizes(ports, levels);
  const auto servers = static_cast<std::uint32_t>(sizes.back());
  Wiring wiring;
  wiring.add("host", VertexKind::kEndpoint, 0, servers);
  const VertexId mini = wiring.add("switch", VertexKind::kSwitch, 1, servers / ports);
  for (std::uint32_t v = 0; v < servers; ++v) wiring.cable(v, mini + v / ports, rate);
  for (std::uint32_t level = 1; level <= levels; ++level) {
    const auto cell = static_cast<std::uint32_t>(sizes[level]);
    for (VertexId first = 0; first < servers; first += cell) {
      join_cells(wiring, sizes, level, first, rate);
    }
  }
  wiring.topology.facts.words = fmt::format(
      "DCell({}, {}): {} servers, which pass traffic on, and a switch for every {} of them", ports,
      levels, servers, ports);
  wiring.endpoints_forward = true;
  return wiring;
}

Wiring read_dcell(Parameters& p, std::uint32_t) {
  const std::uint32_t ports = p.count("ports", 4, 2, 1024);
  const std::uint32_t levels = p.count("levels", 1, 0, 3);
  const LinkRate rate = p.link(50e9, 1e-6);
  const double servers = dcell_sizes(ports, levels).back();
  p.fits(servers, servers * (1 + levels / 2.0));
  return p.done() ? build_dcell(ports, levels, rate) : Wiring{};
}

// Wang et al., "TopoOpt", NSDI 2023: every stride prime to the number of servers makes one ring
// through all of them (TotientPerms). Strides near a geometric sequence keep paths short, as in
// Chord; each is the nearest to n^(j/d) that is still free.
std::vector<std::uint32_t> totient_strides(std::uint32_t hosts, std::uint32_t degree) {
  std::vector<std::uint32_t> strides;
  for (std::uint32_t j = 0; j < degree; ++j) {
    const double target = std::pow(hosts, static_cast<double>(j) / degree);
    const auto middle = static_cast<std::int64_t>(std::llround(target));
    for (std::int64_t off = 0; off < hosts; ++off) {
      const auto free = [&](std::int64_t stride) {
        return stride >= 1 && stride < hosts && std::gcd<std::int64_t>(stride, hosts) == 1 &&
               std::find(strides.begin(), strides.end(), stride) == strides.end();
      };
      const std::int64_t stride = free(middle + off) ? middle + off : middle - off;
      if (!free(stride)) continue;
      strides.push_back(static_cast<std::uint32_t>(stride));
      break;
    }
  }
  std::sort(strides.begin(), strides.end());
  return strides;
}

Wiring build_topoopt(std::uint32_t hosts, std::uint32_t degree, const LinkRate& rate) {
  const std::vector<std::uint32_t> strides = totient_strides(hosts, degree);
  Wiring wiring;
  wiring.add("host", VertexKind::kEndpoint, 0, hosts);
  for (const std::uint32_t stride : strides) {
    for (std::uint32_t v = 0; v < hosts; ++v) wiring.one_way(v, (v + stride) % hosts, rate);
  }
  wiring.topology.facts.words = fmt::format(
      "{} servers joined by {} optical rings of stride {}, one direction each; they pass traffic "
      "on",
      hosts, strides.size(), fmt::join(strides, ", "));
  wiring.topology.facts.group_of.assign(hosts, 0);
  wiring.endpoints_forward = true;
  return wiring;
}

Wiring read_topoopt(Parameters& p, std::uint32_t hosts) {
  const std::uint32_t count = p.count("hosts", hosts, 2, kMaxEndpoints);
  const std::uint32_t degree = p.count("degree", 4, 1, 64);
  const LinkRate rate = p.link(12.5e9, 1e-6);
  p.fits(count, 1.0 * count * degree);
  if (totient_strides(count, degree).size() < degree) {
    p.complain(fmt::format("'degree' is {}; only {} numbers below {} are prime to it", degree,
                           totient_strides(count, degree).size(), count));
  }
  return p.done() ? build_topoopt(count, degree, rate) : Wiring{};
}

}  // namespace weft

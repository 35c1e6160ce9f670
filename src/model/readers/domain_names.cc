#include "model/readers/domain_names.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t at(Level level) { return static_cast<std::size_t>(level); }

}  // namespace

DomainPath DomainNames::counted_path() const {
  DomainPath path;
  if (counts_.nodes_per_leaf == 0) return path;
  const std::uint64_t leaf = counted_ / counts_.nodes_per_leaf;
  path.leaf = fmt::format("leaf-{}", leaf);
  if (counts_.leaves_per_rack == 0) return path;
  const std::uint64_t rack = leaf / counts_.leaves_per_rack;
  path.rack = fmt::format("rack-{}", rack);
  if (counts_.racks_per_pod == 0) return path;
  path.pod = fmt::format("pod-{}", rack / counts_.racks_per_pod);
  return path;
}

std::string DomainNames::find(const DomainPath& path, Indices& indices) {
  const std::string pod = path.pod.empty() ? "pod" : path.pod;
  const std::string rack = path.rack.empty() ? pod + "/rack" : path.rack;
  const std::string leaf = path.leaf.empty() ? rack + "/leaf" : path.leaf;
  std::uint32_t above = 0;
  for (const auto& [level, name] :
       {std::pair{Level::kPod, &pod}, {Level::kRack, &rack}, {Level::kLeaf, &leaf}}) {
    std::vector<std::string>& names = names_[at(level)];
    const auto [it, added] = domains_[at(level)].try_emplace(
        *name, Domain{static_cast<std::uint32_t>(names.size()), above});
    if (added) names.push_back(*name);
    if (it->second.above != above) {
      const std::vector<std::string>& wider = names_[at(level) + 1];
      return fmt::format("'{}' lies in '{}' here and in '{}' above; a domain has one place", *name,
                         wider[above], wider[it->second.above]);
    }
    above = indices[at(level)] = it->second.index;
  }
  return {};
}

std::string DomainNames::place(const DomainPath& path, Node* nodes, std::size_t count) {
  const bool counted = path.empty() && counts_.nodes_per_leaf > 0;
  any_ = any_ || counted || !path.empty();
  while (count > 0) {
    std::size_t run = count;
    if (counted) {
      const std::uint64_t left = counts_.nodes_per_leaf - counted_ % counts_.nodes_per_leaf;
      run = static_cast<std::size_t>(std::min<std::uint64_t>(count, left));
    }
    Indices indices{};
    std::string contradiction = find(counted ? counted_path() : path, indices);
    if (!contradiction.empty()) return contradiction;
    for (std::size_t i = 0; i < run; ++i) {
      for (const Level level : {Level::kLeaf, Level::kRack, Level::kPod}) {
        nodes[i].domain[at(level)] = indices[at(level)];
      }
    }
    if (counted) counted_ += run;
    nodes += run;
    count -= run;
  }
  return {};
}

std::array<std::vector<std::string>, kLevels> DomainNames::take_names() {
  if (!any_) return {};
  return std::move(names_);
}

}  // namespace weft

#include "timing/synthesis/tree_packing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "timing/synthesis/spanning.h"

namespace weft {
namespace {

using collective::Operation;

constexpr int kPasses = 6;
// How steeply a link's cost rises. Mild: the trees are cheap in total; steep: the fullest link
// decides. Each is tried.
constexpr double kSteep[] = {4, 12, 30};

class Packer {
 public:
  Packer(const PackingTask& task, double steep)
      : task_(task), graph_(*task.graph), steep_(steep), load_(graph_.topology().links.size()) {
    const bool scattered =
        task.operation == Operation::kAllGather || task.operation == Operation::kReduceScatter;
    const int ranks = graph_.ranks();
    const int count = scattered ? task.units * ranks : task.units;
    for (int t = 0; t < count; ++t) roots_.push_back(scattered ? t / task.units : task.root);
    whole_ = task.units * (scattered ? ranks : 1);
  }

  Packing run() {
    for (const int root : roots_) {
      trees_.push_back(cheapest(root));
      use(trees_.back(), 1);
    }
    Packing best = snapshot();
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        use(trees_[t], -1);
        trees_[t] = cheapest(roots_[t]);
        use(trees_[t], 1);
      }
      Packing now = snapshot();
      const bool better = now.s_per_byte < best.s_per_byte * (1 - 1e-9);
      if (better) best = std::move(now);
      if (!better && pass > 1) break;
    }
    return best;
  }

 private:
  bool goes_down() const {
    return task_.operation == Operation::kBroadcast || task_.operation == Operation::kAllGather;
  }

  double capacity(std::size_t link) const { return graph_.topology().links[link].bytes_per_s; }

  std::vector<double> lengths() const {
    const double full = task_.least_s_per_byte * whole_;
    std::vector<double> length(load_.size());
    for (std::size_t e = 0; e < load_.size(); ++e) {
      const double used = (load_[e] + 1) / capacity(e) / full;
      length[e] = std::exp(std::min(steep_ * used, 300.0)) / capacity(e);
    }
    return length;
  }

  std::vector<int> cheapest(int root) const {
    const PerPair one_way = graph_.distances(lengths());
    if (goes_down()) return cheapest_arborescence(one_way, root);
    PerPair cost(graph_.ranks());
    const bool both = task_.operation == Operation::kAllReduce;
    for (int a = 0; a < graph_.ranks(); ++a) {
      for (int b = 0; b < graph_.ranks(); ++b) {
        cost.at(a, b) = one_way.at(b, a) + (both ? one_way.at(a, b) : 0);
      }
    }
    return both ? cheapest_tree(cost) : cheapest_arborescence(cost, root);
  }

  void use(const std::vector<int>& parents, double times) {
    for (int v = 0; v < graph_.ranks(); ++v) {
      const int parent = parents[static_cast<std::size_t>(v)];
      if (parent < 0) continue;
      if (task_.operation == Operation::kAllReduce || goes_down()) {
        for (const LinkId link : graph_.path(parent, v)) load_[link] += times;
      }
      if (!goes_down()) {
        for (const LinkId link : graph_.path(v, parent)) load_[link] += times;
      }
    }
  }

  Packing snapshot() const {
    Packing out;
    for (std::size_t e = 0; e < load_.size(); ++e) {
      out.s_per_byte = std::max(out.s_per_byte, load_[e] / capacity(e) / whole_);
    }
    out.parents = trees_;
    out.weight.assign(trees_.size(), 1);
    out.length = lengths();
    return out;
  }

  const PackingTask& task_;
  const RankGraph& graph_;
  double steep_;
  double whole_ = 1;
  std::vector<double> load_;  // by link: trees that use it
  std::vector<int> roots_;
  std::vector<std::vector<int>> trees_;
};

void join_equal(Packing& packing) {
  std::map<std::vector<int>, std::uint64_t> weight;
  for (const auto& parents : packing.parents) ++weight[parents];
  packing.parents.clear();
  packing.weight.clear();
  for (const auto& [parents, times] : weight) {
    packing.parents.push_back(parents);
    packing.weight.push_back(times);
  }
}

}  // namespace

Packing pack_trees(const PackingTask& task) {
  Packing best;
  for (const double steep : kSteep) {
    Packing packing = Packer(task, steep).run();
    if (best.parents.empty() || packing.s_per_byte < best.s_per_byte * (1 - 1e-9)) {
      best = std::move(packing);
    }
  }
  const bool scattered =
      task.operation == Operation::kAllGather || task.operation == Operation::kReduceScatter;
  if (!scattered) join_equal(best);
  return best;
}

}  // namespace weft

#include "fabric/coflow/lower_bound.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Steps of the ascent, on a scale on which a coflow takes 1: first large, then ever smaller.
constexpr double kFirstStep = 3, kRoundsToHalve = 20;
constexpr double kLeastWeight = 1e-12;  // so that a weight can come back

// What one coflow moves over one link, with its weight there. A coflow's first item has no link:
// there nobody is in the way.
struct Item {
  std::uint32_t coflow = 0;
  Seconds release = 0, work = 0;
  double weight = 0;
  Seconds end = 0;  // what the relaxation makes of it: mean busy time plus half the work
};

class Relaxation {
 public:
  Relaxation(const CoflowTrace& trace, double bytes_per_s) : trace_(trace) {
    on_link_.resize(2 * std::size_t{trace.ports});
    for (std::uint32_t k = 0; k < trace.coflows.size(); ++k) {
      const Coflow& coflow = trace.coflows[k];
      first_.push_back(items_.size());
      const std::vector<double> bytes = port_bytes(coflow);
      const double most = *std::max_element(bytes.begin(), bytes.end());
      items_.push_back({k, coflow.arrival, most / bytes_per_s, 0, 0});
      items_.back().end = coflow.arrival + most / bytes_per_s;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] <= 0) continue;
        const bool up = i < coflow.sources.size();
        const std::size_t link =
            up ? coflow.sources[i] : trace.ports + coflow.targets[i - coflow.sources.size()];
        on_link_[link].push_back(items_.size());
        items_.push_back({k, coflow.arrival, bytes[i] / bytes_per_s, 0, 0});
      }
    }
    first_.push_back(items_.size());
  }

  // Most of the weight on a coflow's busiest links.
  void start() {
    for (std::size_t k = 0; k + 1 < first_.size(); ++k) {
      for (std::size_t i = first_[k]; i < first_[k + 1]; ++i) {
        items_[i].weight = std::pow(items_[i].work / items_[first_[k]].work, 4);
      }
      normalise(first_[k], first_[k + 1]);
    }
  }

  // Sum over coflows of end - arrival in the relaxation, with the present weights.
  double value() {
    for (std::vector<std::size_t>& link : on_link_) schedule(link);
    double sum = 0;
    for (const Item& item : items_) sum += item.weight * item.end;
    for (const Coflow& coflow : trace_.coflows) sum -= coflow.arrival;
    return sum;
  }

  // Moves weight to where a coflow ends late, by factors (exponentiated gradient), which suits
  // coflows that differ in size by orders of magnitude.
  void ascend(double step) {
    for (std::size_t k = 0; k + 1 < first_.size(); ++k) {
      const std::size_t begin = first_[k], end = first_[k + 1];
      Seconds latest = 0;
      for (std::size_t i = begin; i < end; ++i) latest = std::max(latest, items_[i].end);
      const Seconds taken = latest - items_[begin].release;
      for (std::size_t i = begin; i < end; ++i) {
        double& weight = items_[i].weight;
        weight = std::max(kLeastWeight, weight) * std::exp(step * (items_[i].end - latest) / taken);
      }
      normalise(begin, end);
    }
  }

 private:
  // The preemptive schedule by weight / work on one link: greatest first among those released.
  void schedule(const std::vector<std::size_t>& link) {
    ready_.clear();
    Seconds now = 0;
    std::size_t next = 0;
    const auto worse = [&](std::size_t a, std::size_t b) {
      const double x = items_[a].weight * items_[b].work, y = items_[b].weight * items_[a].work;
      return x != y ? x < y : a > b;
    };
    left_.resize(items_.size());
    while (next < link.size() || !ready_.empty()) {
      if (ready_.empty()) now = std::max(now, items_[link[next]].release);
      for (; next < link.size() && items_[link[next]].release <= now; ++next) {
        left_[link[next]] = items_[link[next]].work;
        items_[link[next]].end = items_[link[next]].work / 2;
        ready_.push_back(link[next]);
        std::push_heap(ready_.begin(), ready_.end(), worse);
      }
      Item& item = items_[ready_.front()];
      double& left = left_[ready_.front()];
      const Seconds until = next < link.size() ? items_[link[next]].release : kNever;
      const bool ends = now + left <= until;
      const Seconds time = ends ? left : until - now;
      item.end += (now + time / 2) * (time / item.work);
      left -= time;
      now = ends ? now + time : until;
      if (!ends) continue;
      std::pop_heap(ready_.begin(), ready_.end(), worse);
      ready_.pop_back();
    }
  }

  void normalise(std::size_t begin, std::size_t end) {
    double total = 0;
    for (std::size_t i = begin; i < end; ++i) total += items_[i].weight;
    for (std::size_t i = begin; i < end; ++i) items_[i].weight /= total;
  }

  const CoflowTrace& trace_;
  std::vector<Item> items_;
  std::vector<std::size_t> first_;                 // by coflow
  std::vector<std::vector<std::size_t>> on_link_;  // ascending by release
  std::vector<std::size_t> ready_;
  std::vector<Seconds> left_;
};

}  // namespace

Seconds mean_time_bound(const CoflowTrace& trace, double bytes_per_s, int rounds) {
  Relaxation relaxation(trace, bytes_per_s);
  relaxation.start();
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    best = std::max(best, relaxation.value());
    relaxation.ascend(kFirstStep / (1 + round / kRoundsToHalve));
  }
  return best / static_cast<double>(trace.coflows.size());
}

}  // namespace weft

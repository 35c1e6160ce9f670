#include "fabric/max_min_testing.h"

#include <algorithm>
#include <set>

#include "fabric/max_min.h"

namespace weft {
namespace {

// Fills one rank into what is left and takes what it uses away.
void fill_rank(std::vector<double>& left, const std::vector<PlainStream>& streams,
               std::vector<std::size_t> open, std::vector<double>& rate) {
  std::vector<double> room = left;
  while (!open.empty()) {
    std::vector<double> weight(left.size());
    for (std::size_t i : open) {
      for (LinkId link : streams[i].path) weight[link] += streams[i].weight * streams[i].flows;
    }
    double level = kUnlimited;
    for (std::size_t link = 0; link < left.size(); ++link) {
      if (weight[link] > 0) level = std::min(level, std::max(0.0, room[link]) / weight[link]);
    }
    for (std::size_t i : open) level = std::min(level, streams[i].cap / streams[i].weight);
    std::set<std::size_t> stopped;
    for (std::size_t i : open) {
      bool full = streams[i].cap / streams[i].weight <= level * (1 + 1e-15);
      for (LinkId link : streams[i].path) {
        full |= std::max(0.0, room[link]) / weight[link] <= level * (1 + 1e-15);
      }
      if (full || level == kUnlimited) stopped.insert(i);
    }
    for (std::size_t i : stopped) {
      rate[i] = streams[i].weight * level;
      for (LinkId link : streams[i].path) room[link] -= rate[i] * streams[i].flows;
    }
    std::erase_if(open, [&](std::size_t i) { return stopped.contains(i); });
  }
  left = room;
}

}  // namespace

std::vector<double> plain_max_min(const std::vector<double>& capacity,
                                  const std::vector<PlainStream>& streams) {
  std::vector<double> left = capacity, rate(streams.size());
  std::set<std::uint32_t> ranks;
  for (const PlainStream& stream : streams) ranks.insert(stream.rank);
  for (std::uint32_t rank : ranks) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].rank == rank) open.push_back(i);
    }
    fill_rank(left, streams, open, rate);
  }
  return rate;
}

}  // namespace weft

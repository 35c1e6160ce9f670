#include "report_stays.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace weft {

std::vector<Stay> joined(const std::vector<Span>& spans) {
  std::vector<Stay> stays;
  stays.reserve(spans.size());
  for (const Span& s : spans) {
    if (!(s.to > s.from) || s.devices == 0) continue;
    stays.push_back({s.job, s.device, s.devices, s.milli, s.from, s.to});
  }
  const auto join = [&](const auto& key, const auto& try_join) {
    std::sort(stays.begin(), stays.end(),
              [&](const Stay& a, const Stay& b) { return key(a) < key(b); });
    size_t kept = 0;
    for (const Stay& stay : stays) {
      if (kept == 0 || !try_join(stays[kept - 1], stay)) stays[kept++] = stay;
    }
    stays.resize(kept);
  };
  join([](const Stay& s) { return std::tuple(s.job, s.from, s.to, s.milli, s.device); },
       [](Stay& a, const Stay& b) {
         const bool beside = std::tie(a.job, a.from, a.to) == std::tie(b.job, b.from, b.to) &&
                             a.milli == kWhole && b.milli == kWhole &&
                             a.device + a.devices == b.device;
         if (beside) a.devices += b.devices;
         return beside;
       });
  join([](const Stay& s) { return std::tuple(s.job, s.device, s.devices, s.milli, s.from); },
       [](Stay& a, const Stay& b) {
         const bool after = a.job == b.job && a.device == b.device && a.devices == b.devices &&
                            a.milli == b.milli && a.to == b.from;
         if (after) a.to = b.to;
         return after;
       });
  std::sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.from, a.device, a.job) < std::tie(b.from, b.device, b.job);
  });
  return stays;
}

std::vector<Stay> take_small(std::vector<Stay>& stays, size_t limit) {
  struct Size {
    JobId job = 0;
    size_t stays = 0;
    double device_s = 0;
    double each() const { return device_s / static_cast<double>(stays); }
  };
  std::vector<Size> sizes;
  for (const Stay& stay : stays) {
    if (stay.job >= sizes.size()) sizes.resize(stay.job + 1);
    sizes[stay.job].job = stay.job;
    sizes[stay.job].stays += 1;
    sizes[stay.job].device_s += stay.device_s();
  }
  std::vector<bool> drawn(sizes.size());
  std::erase_if(sizes, [](const Size& size) { return size.stays == 0; });
  std::sort(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) {
    return a.each() != b.each() ? a.each() > b.each() : a.job < b.job;
  });
  for (const Size& size : sizes) {
    if (size.stays > limit) continue;
    limit -= size.stays;
    drawn[size.job] = true;
  }
  const auto small = std::stable_partition(stays.begin(), stays.end(),
                                           [&](const Stay& stay) { return drawn[stay.job]; });
  std::vector<Stay> taken(small, stays.end());
  stays.erase(small, stays.end());
  return taken;
}

std::vector<Absence> absences(const Cluster& cluster, const std::vector<Gap>& gaps, Seconds from,
                              Seconds to, size_t limit) {
  std::vector<Absence> all;
  for (const Gap& gap : gaps) {
    const Node& node = cluster.nodes[gap.node];
    const bool whole = gap.device == kNoDevice;
    const Absence absence{whole ? node.first_device : gap.device, whole ? node.devices : 1u,
                          std::max(gap.from, from), std::min(gap.to, to)};
    if (absence.to > absence.from) all.push_back(absence);
  }
  if (all.size() > limit) {
    const auto size = [](const Absence& a) { return a.devices * (a.to - a.from); };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Absence& a, const Absence& b) { return size(a) > size(b); });
    all.resize(limit);
  }
  std::sort(all.begin(), all.end(), [](const Absence& a, const Absence& b) {
    return std::tie(a.from, a.device) < std::tie(b.from, b.device);
  });
  return all;
}

void Grid::add(const Stay& stay, std::vector<double>& device_s) const {
  const auto bin_of = [&](Seconds at) {
    return std::min(static_cast<size_t>(std::max(0.0, (at - origin) / bin_s)), bins - 1);
  };
  const size_t end_device = size_t{stay.device} + stay.devices;
  const size_t last_bin = bin_of(stay.to);
  for (size_t row = stay.device / group; row < rows && row * group < end_device; ++row) {
    const size_t first = std::max<size_t>(stay.device, row * group);
    const size_t end = std::min(end_device, (row + 1) * group);
    const double busy = static_cast<double>(end - first) * stay.milli / kWhole;
    for (size_t bin = bin_of(stay.from); bin <= last_bin; ++bin) {
      const Seconds begin = origin + static_cast<double>(bin) * bin_s;
      const Seconds s = std::min(stay.to, begin + bin_s) - std::max(stay.from, begin);
      if (s > 0) device_s[row * bins + bin] += busy * s;
    }
  }
}

Grid grid_for(const Cluster& cluster, Seconds from, Seconds to, size_t cells) {
  const size_t devices = std::max<size_t>(cluster.device_count(), 1);
  const size_t most_rows = std::max<size_t>(cells / 500, 1);
  Grid grid;
  grid.devices = devices;
  if (devices > most_rows) {
    const size_t node =
        cluster.nodes.front().devices;  // rows of whole nodes, where nodes are alike
    grid.group = ((devices + most_rows - 1) / most_rows + node - 1) / node * node;
  }
  grid.rows = (devices + grid.group - 1) / grid.group;
  grid.bins = std::clamp<size_t>(cells / grid.rows, 1, 4000);
  grid.origin = from;
  grid.bin_s = std::max((to - from) / static_cast<double>(grid.bins), 1e-9);
  return grid;
}

std::string occupancy(const Grid& grid, const std::vector<Stay>& drawn,
                      const std::vector<Stay>& small) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::vector<double> above(grid.rows * grid.bins), below(above.size());
  for (const Stay& stay : drawn) grid.add(stay, above);
  for (const Stay& stay : small) grid.add(stay, below);
  std::string letters(above.size(), kLetters.front());
  for (size_t i = 0; i < letters.size(); ++i) {
    if (below[i] <= 0) continue;
    const size_t devices = std::min(grid.group, grid.devices - i / grid.bins * grid.group);
    const double whole = static_cast<double>(devices) * grid.bin_s;
    const double part = std::min(1.0, below[i] / std::max(whole - above[i], below[i]));
    letters[i] = kLetters[static_cast<size_t>(std::ceil(part * 63))];
  }
  return letters;
}

}  // namespace weft

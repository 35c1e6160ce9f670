#include "collective/phases.h"

#include <algorithm>

#include "base/check.h"

namespace weft::collective {

StreamPhases::StreamPhases(const Schedule& schedule, int stream)
    : schedule_(&schedule), stream_(stream) {
  CHECK(schedule.lockstep && stream >= 0 && stream < schedule.streams());
  std::vector<std::int64_t> cuts = {0};
  for (const Program& program : schedule.programs) {
    std::int64_t end = 0;
    auto& ends = ends_.emplace_back();
    for (const Round& round : program.streams[static_cast<std::size_t>(stream)]) {
      ends.push_back(end += std::max<std::int64_t>(round.repeat, 0));
    }
    cuts.insert(cuts.end(), ends.begin(), ends.end());
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    Phase phase{.first = cuts[i], .repeat = cuts[i + 1] - cuts[i]};
    phase.same_traffic = phase.repeat == 1 || same_traffic(phase);
    phases_.push_back(phase);
  }
}

StreamPhases::Place StreamPhases::find(int endpoint, std::int64_t number) const {
  const auto& ends = ends_[static_cast<std::size_t>(endpoint)];
  const auto entry = std::upper_bound(ends.begin(), ends.end(), number) - ends.begin();
  const auto& rounds = schedule_->programs[static_cast<std::size_t>(endpoint)]
                           .streams[static_cast<std::size_t>(stream_)];
  if (static_cast<std::size_t>(entry) == rounds.size()) return {};
  const Round& round = rounds[static_cast<std::size_t>(entry)];
  return {&round, number - (ends[static_cast<std::size_t>(entry)] - round.repeat)};
}

const Weights& StreamPhases::weights_behind(int endpoint, Buffer buffer) const {
  return buffer == Buffer::kScratch
             ? schedule_->programs[static_cast<std::size_t>(endpoint)].scratch
             : schedule_->chunks;
}

double StreamPhases::weight_of(int endpoint, const Cells& cells, std::int64_t i) const {
  const Weights& weights = weights_behind(endpoint, cells.buffer);
  if (weights.list.empty()) return cells.count * static_cast<double>(weights.each);
  double sum = 0;
  for (int j = 0; j < cells.count; ++j) {
    sum += static_cast<double>(weight_at(*schedule_, endpoint, cells.buffer, cells.at(i, j)));
  }
  return sum;
}

bool StreamPhases::same_traffic(const Phase& phase) const {
  for (int endpoint = 0; endpoint < schedule_->endpoints(); ++endpoint) {
    const Place place = find(endpoint, phase.first);
    if (place.round == nullptr) continue;
    for (const Op& op : place.round->ops) {
      if (op.kind != Kind::kSend) continue;
      if (op.peer.advance % op.peer.modulus != 0) return false;
      const bool even = weights_behind(endpoint, op.source.buffer).list.empty();
      if (!even && op.source.advance % op.source.modulus != 0) return false;
    }
  }
  return true;
}

void StreamPhases::add_flows(const Phase& phase, std::int64_t i, std::vector<Flow>& flows) const {
  CHECK(i >= 0 && i < phase.repeat);
  const auto whole = static_cast<double>(schedule_->whole);
  for (int endpoint = 0; endpoint < schedule_->endpoints(); ++endpoint) {
    const Place place = find(endpoint, phase.first + i);
    if (place.round == nullptr) continue;
    const std::size_t mine = flows.size();
    for (const Op& op : place.round->ops) {
      if (op.kind != Kind::kSend) continue;
      const double weight = weight_of(endpoint, op.source, place.iteration);
      const double fraction = weight / whole * place.round->density;
      const int to = op.peer.at(place.iteration);
      const auto same = [&](const Flow& f) { return f.to == to && f.streamed == op.streamed; };
      const auto found =
          std::find_if(flows.begin() + static_cast<std::ptrdiff_t>(mine), flows.end(), same);
      if (found != flows.end()) {
        found->fraction += fraction;
      } else {
        flows.push_back({endpoint, to, fraction, op.streamed});
      }
    }
  }
}

}  // namespace weft::collective

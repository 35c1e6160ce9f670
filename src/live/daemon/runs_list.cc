// The runs as others see them: a list of changes, and where a rank is.
#include <algorithm>
#include <iterator>
#include <set>

#include "live/daemon/runs.h"

namespace weft::live {

std::vector<EngineRun> Runs::list(std::uint64_t since) {
  using State = EngineRun::State;
  std::set<Key> frozen;
  for (const auto& [key, run] : runs_) {
    if (run.told && run.aim == Run::Aim::kFreeze) continue;  // below
    EngineRun& listed = listed_[key];
    const State state = run.aim != Run::Aim::kRun ? State::kStopping
                        : run.started             ? State::kRunning
                                                  : State::kStarting;
    if (listed.changed > 0 && listed.state == state) continue;
    listed = {key.first, key.second, state, ++last_change_};
  }
  for (const auto& [uuid, run] : frozen_.all()) {
    const Key key{uuid, run.epoch};
    frozen.insert(key);
    EngineRun& listed = listed_[key];
    const State state = run.state == FrozenRun::State::kEnding ? State::kStopping : State::kFrozen;
    if (listed.changed > 0 && listed.state == state) continue;
    listed = {uuid, run.epoch, state, ++last_change_};
  }
  for (auto at = listed_.begin(); at != listed_.end();) {
    EngineRun& listed = at->second;
    const bool known_to_be_gone = listed.state == State::kGone && listed.changed <= since;
    if (!runs_.contains(at->first) && !frozen.contains(at->first) && listed.state != State::kGone) {
      listed.state = State::kGone;
      listed.changed = ++last_change_;
    }
    at = known_to_be_gone ? listed_.erase(at) : std::next(at);
  }
  std::vector<EngineRun> changed;
  for (const auto& [key, listed] : listed_) {
    if (listed.changed > since) changed.push_back(listed);
  }
  std::sort(changed.begin(), changed.end(),
            [](const EngineRun& a, const EngineRun& b) { return a.changed < b.changed; });
  return changed;
}

RankPlace Runs::place_of(const std::string& uuid, int rank) const {
  RankPlace place;
  for (auto at = runs_.lower_bound({uuid, 0}); at != runs_.end() && at->first.first == uuid; ++at) {
    if (at->second.aim != Run::Aim::kRun) continue;
    place = {at->first.second, 0, kNoNode, uuid};
    for (const auto& [node, part] : at->second.parts) {
      const int last = part.first_rank + static_cast<int>(part.ranks.size());
      place.ranks = std::max(place.ranks, last);
      if (rank >= part.first_rank && rank < last) place.node = node;
    }
  }
  return place;
}

}  // namespace weft::live

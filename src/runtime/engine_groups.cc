// The part of Engine that knows which groups and epochs there are.
#include <algorithm>

#include "runtime/engine.h"

namespace weft::runtime {

Engine::GroupState& Engine::state_of(std::uint32_t group) {
  for (GroupState& state : groups_) {
    if (state.group == group) return state;
  }
  groups_.push_back({group, 0, false, ""});
  return groups_.back();
}

void Engine::break_group(std::uint32_t group, std::uint32_t epoch, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    GroupState& state = state_of(group);
    if (state.epoch != epoch || state.broken) return;
    state.broken = true;
    state.why = why;
    for (const auto& execution : active_) {
      if (execution->spec().key.group == group) execution->fail(why);
    }
    if (waiters_ > 0) ended_.notify_all();
  }
  bell_.ring();
}

void Engine::begin_epoch(std::uint32_t group, std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  GroupState& state = state_of(group);
  state = {group, epoch, false, ""};
  for (const auto& execution : active_) {
    if (execution->spec().key.group == group && execution->spec().key.epoch != epoch) {
      execution->fail("the group has changed; the operation belongs to an earlier membership");
    }
  }
  std::erase_if(stash_,
                [&](const Stashed& s) { return s.key.group == group && s.key.epoch < epoch; });
}

void Engine::replace(std::vector<Transport*> transports, const EngineOptions& options) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& execution : active_) {
      execution->fail("the group has changed; the operation belongs to an earlier membership");
      execution->clear();
    }
    // What others have begun in the membership to come has arrived by TCP and must not be lost.
    const std::uint32_t epoch = state_of(0).epoch;
    std::erase_if(stash_, [&](const Stashed& s) { return s.key.epoch <= epoch; });
    for (Stashed& early : stash_) {
      for (Parcel& parcel : early.parcels) parcel.keep();
    }
    transports_ = std::move(transports);
    options_ = options;
  }
  bell_.ring();
}

void Engine::break_all(std::uint32_t epoch, const std::string& why) {
  std::vector<std::uint32_t> groups;
  {
    const std::lock_guard lock(mutex_);
    for (const GroupState& state : groups_) groups.push_back(state.group);
  }
  for (const std::uint32_t group : groups) break_group(group, epoch, why);
}

std::string Engine::broken(std::uint32_t group) const {
  const std::lock_guard lock(mutex_);
  for (const GroupState& state : groups_) {
    if (state.group == group && state.broken) return state.why;
  }
  return "";
}

}  // namespace weft::runtime

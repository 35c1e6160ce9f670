// What people may ask of the board.
#include <algorithm>
#include <iterator>

#include "live/daemon/board.h"

namespace weft::live {

std::optional<JobView> Board::find(const std::string& uuid_or_name) const {
  const std::lock_guard lock(mutex_);
  if (const auto at = by_uuid_.find(uuid_or_name); at != by_uuid_.end()) return *views_[at->second];
  if (const auto at = by_name_.find(uuid_or_name); at != by_name_.end()) return *views_[at->second];
  // The beginning of one uuid, as people type it.
  const auto first = by_uuid_.lower_bound(uuid_or_name);
  if (uuid_or_name.size() < 4 || first == by_uuid_.end() ||
      !first->first.starts_with(uuid_or_name)) {
    return std::nullopt;
  }
  const auto second = std::next(first);
  if (second != by_uuid_.end() && second->first.starts_with(uuid_or_name)) return std::nullopt;
  return *views_[first->second];
}

std::optional<JobView> Board::at(JobId job) const {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size()) return std::nullopt;
  return *views_[job];
}

std::vector<JobView> Board::jobs(const std::function<bool(const JobView&)>& chosen) const {
  const std::lock_guard lock(mutex_);
  std::vector<JobView> out;
  for (const auto& view : views_) {
    if (chosen(*view)) out.push_back(*view);
  }
  return out;
}

std::vector<JobView> Board::jobs_on(NodeId node) const {
  return jobs([&](const JobView& job) {
    return std::any_of(
        job.held.devices.begin(), job.held.devices.end(),
        [&](const DeviceShare& share) { return cluster_.node_of(share.device) == node; });
  });
}

bool Board::any(const std::function<bool(const JobView&)>& holds) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(views_.begin(), views_.end(), [&](const auto& view) { return holds(*view); });
}

std::vector<Closure> Board::closures() const {
  const std::lock_guard lock(mutex_);
  return closures_;
}

void Board::each(const std::function<void(const JobView&)>& look) const {
  const std::lock_guard lock(mutex_);
  for (const auto& view : views_) look(*view);
}

NodeView Board::node(NodeId id) const {
  const std::lock_guard lock(mutex_);
  return nodes_[id];
}

std::vector<StoryLine> Board::story_after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto from =
      std::lower_bound(story_.begin(), story_.end(), number + 1,
                       [](const StoryLine& line, std::uint64_t n) { return line.number < n; });
  return {from, story_.end()};
}

std::size_t Board::size() const {
  const std::lock_guard lock(mutex_);
  return views_.size();
}

}  // namespace weft::live

// The board as bytes and back. Images only ever grow at their end.
#include <tuple>

#include "live/daemon/board.h"

namespace weft::live {

std::string Board::image() const {
  const std::lock_guard lock(mutex_);
  ArchiveWriter writer;
  writer(static_cast<std::uint64_t>(views_.size()));
  for (const auto& view : views_) writer(*view);
  writer(pending_, next_line_, nodes_, closures_);
  std::map<JobId, std::pair<std::uint32_t, Allocation>> frozen;
  for (const auto& view : views_) {
    if (view->frozen_epoch > 0) frozen[view->id] = {view->frozen_epoch, view->frozen};
  }
  writer(frozen, held_next_);
  std::map<JobId, Allocation> resized;
  for (const auto& view : views_) {
    if (!view->resized_from.empty()) resized[view->id] = view->resized_from;
  }
  std::map<JobId, std::uint32_t> failing;
  for (const auto& view : views_) {
    if (view->failed_in_row > 0) failing[view->id] = view->failed_in_row;
  }
  writer(resized, failing);
  return writer.take();
}

bool Board::restore(std::string_view image) {
  const std::lock_guard lock(mutex_);
  ArchiveReader reader(image);
  std::uint64_t count = 0;
  reader(count);
  for (; count > 0 && reader.ok(); --count) {
    auto view = std::make_unique<JobView>();
    reader(*view);
    if (view->id != views_.size()) reader.fail();
    by_uuid_[view->identity.uuid] = view->id;
    by_name_[view->name] = view->id;
    views_.push_back(std::move(view));
  }
  const std::size_t nodes = nodes_.size();
  reader(pending_, next_line_, nodes_);
  if (!reader.at_end()) reader(closures_);  // images before these ended here
  std::map<JobId, std::pair<std::uint32_t, Allocation>> frozen;
  if (!reader.at_end()) reader(frozen);      // or here
  if (!reader.at_end()) reader(held_next_);  // or here
  for (auto& [job, of] : frozen) {
    if (job >= views_.size()) return false;
    std::tie(view(job).frozen_epoch, view(job).frozen) = std::move(of);
  }
  std::map<JobId, Allocation> resized;
  if (!reader.at_end()) reader(resized);  // or here
  for (auto& [job, from] : resized) {
    if (job >= views_.size()) return false;
    view(job).resized_from = std::move(from);
  }
  std::map<JobId, std::uint32_t> failing;
  if (!reader.at_end()) reader(failing);  // or here
  for (const auto& [job, in_row] : failing) {
    if (job >= views_.size()) return false;
    view(job).failed_in_row = in_row;
  }
  return reader.at_end() && nodes_.size() == nodes;
}

}  // namespace weft::live

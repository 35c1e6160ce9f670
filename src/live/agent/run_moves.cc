// A run that is frozen here goes on as a later epoch of its job: the same processes and keepers
// under another name, each with a claim of the new epoch before its command runs in it.
#include <fmt/core.h>
#include <stdio.h>

#include "base/files.h"
#include "live/agent/run_table.h"

namespace weft::live {

std::string RunTable::refusal_to_go_on(const RunOrder& order, std::uint64_t from) const {
  const auto found = runs_.find({order.key.uuid, from});
  if (found == runs_.end()) return fmt::format("its frozen epoch {} is not here", from);
  const Run& run = found->second;
  if (run.stopping || run.op == "stop")
    return fmt::format("its frozen epoch {} is being stopped", from);
  if (order.ranks != run.order.ranks) {
    return fmt::format("its frozen epoch {} has other ranks or shares", from);
  }
  for (const auto& [number, rank] : run.ranks) {
    if (rank.end || rank.sweeping || !rank.executed) {
      return fmt::format("rank {} of its frozen epoch {} has ended", number, from);
    }
  }
  return "";
}

// The order under its new epoch is what counts: once it is on the disk, whoever comes after us goes
// on with it. Keepers hear of it afterwards.
Status RunTable::go_on(const Json& message, RunOrder order, std::uint64_t from) {
  const FolderPaths& paths = settings_.paths;
  const RunKey old{order.key.uuid, from}, key = order.key;
  Json kept = message;
  {
    const Run& run = *find(old);
    kept["lease_s"] = lease_s_;
    kept["marked"] = run.marked;
    kept["setups"] = run.message.value("setups", Json::object());
    Status moved = write_whole(paths.order(old), kept.dump());
    if (moved.ok()) moved = sync_order(old);
    if (moved.ok() && rename(paths.run(old).c_str(), paths.run(key).c_str()) != 0) {
      moved = Error{ErrorKind::kIo, "cannot rename the folder " + paths.run(old), ""};
    }
    if (!moved.ok()) {
      const Status back = write_whole(paths.order(old), run.message.dump());
      if (!back.ok()) settings_.log(back.error().what);
      return moved;
    }
  }
  if (Status synced = sync_folder(paths.runs()); !synced.ok()) settings_.log(synced.error().what);
  std::erase_if(over_, [&](const RunKey& before) {
    if (before.uuid != key.uuid) return false;
    drop_claims(paths, before);
    return true;
  });
  over_.insert(old);
  newest_[key.uuid] = key.epoch;
  auto entry = runs_.extract(old);
  entry.key() = key;
  Run& run = runs_.insert(std::move(entry)).position->second;
  run.number = order.number;
  run.order = std::move(order);
  run.message = std::move(kept);
  run.from = from;
  run.op = "start";
  run.result = run.why = "";
  run.active = true;
  run.measured_at_ns = 0;
  remember(run);
  for (auto& [number, rank] : run.ranks) {
    if (rank.link >= 0) links_[rank.link] = {key, number};
    if (rank.pidfd >= 0) reactor_.remove(rank.pidfd);
    await_keeper(run, rank);
    rank.behind = true;
    tell_to_go_on(run, rank);
  }
  conclude(run);
  return {};
}

void RunTable::tell_to_go_on(const Run& run, Rank& rank) {
  tell(rank, {{"do", "thaw"}, {"as", run.order.key.epoch}});
}

// Of this epoch, or, while its keeper has not heard of that, of the one it goes on from.
std::optional<ClaimFacts> RunTable::claim_of(const Run& run, Rank& rank) const {
  const RunKey& key = run.order.key;
  auto claim = look_at_claim(settings_.paths, key, rank.share.rank);
  if (claim || run.from == 0) return claim;
  rank.behind = true;
  return look_at_claim(settings_.paths, {key.uuid, run.from}, rank.share.rank);
}

// Keepers that have not heard of the new epoch introduce themselves with the one before.
RunTable::Run* RunTable::run_of_keeper(const RunKey& key) {
  if (Run* run = find(key)) return run;
  const auto newest = newest_.find(key.uuid);
  Run* run = newest == newest_.end() ? nullptr : find({key.uuid, newest->second});
  return run != nullptr && run->from == key.epoch ? run : nullptr;
}

}  // namespace weft::live

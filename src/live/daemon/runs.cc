#include "live/daemon/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/files.h"
#include "live/daemon/run_numbers.h"
#include "live/job/job_json.h"

namespace weft::live {

std::string port_of(const std::string& uuid, std::uint32_t epoch) {
  const std::size_t mixed = std::hash<std::string>{}(uuid + "/" + std::to_string(epoch));
  return std::to_string(20'000 + mixed % 12'000);
}

Runs::Run Runs::make(const JobView& job, const Allocation& held, std::uint32_t number) const {
  Run run;
  run.job = job.id;
  run.identity = job.identity;
  run.failures = job.failures;
  run.failed_in_row = job.failed_in_row;
  run.since = links_.now();
  // It was checked when it came.
  if (auto spec = spec_from_json(Json::parse(job.identity.spec, nullptr, false)); spec.ok()) {
    run.spec = std::move(*spec);
  }
  if (held.configuration < job.labels.size()) {
    std::tie(run.codec, run.sync) = job.labels[held.configuration];
  }
  run.number = number;
  const std::uint32_t workers = run.spec.workers_per_node;
  std::map<NodeId, std::vector<DeviceShare>> shares;
  for (const DeviceShare& share : held.devices) {
    shares[cluster_.node_of(share.device)].push_back(share);
  }
  int next = 0;
  for (const auto& [node, devices] : shares) {
    Part& part = run.parts[node];
    part.first_rank = next;
    const HostShare* host = nullptr;
    for (const HostShare& candidate : held.hosts) {
      if (candidate.node == node) host = &candidate;
    }
    const std::size_t ranks = workers == 0 ? devices.size() : workers;
    for (std::size_t local = 0; local < ranks; ++local, ++next) {
      Json mine = Json::array();
      for (std::size_t i = 0; i < devices.size(); ++i) {
        const bool shared = ranks > devices.size() && i == local % devices.size();
        if (shared || i * ranks / devices.size() == local) {
          mine.push_back(devices[i].device - cluster_.nodes[node].first_device);
        }
      }
      part.ranks.push_back(
          {{"rank", next},
           {"local", local},
           {"devices", mine},
           {"milli", devices.front().milli},
           {"memory", host != nullptr ? host->memory / static_cast<Bytes>(ranks) : 0},
           {"cpu_milli", host != nullptr ? host->cpu_milli / ranks : 0},
           {"cpu_more", run.spec.resources.cpus_or_more ? 1 : 0},
           {"memory_more", run.spec.resources.memory_or_more ? 1 : 0},
           {"network_limit",
            host != nullptr ? host->network_limit / static_cast<double>(ranks) : 0.0},
           {"network_guarantee",
            host != nullptr ? host->network_guarantee / static_cast<double>(ranks) : 0.0}});
    }
  }
  return run;
}

void Runs::adopt(const JobView& job) {
  if (has_ended(job.standing)) return;
  if (job.frozen_epoch > 0) adopt_frozen(job);
  if (job.held.empty()) return;
  const Key key{job.identity.uuid, job.epoch};
  Run& run = runs_[key] = make(job, job.held, 0);
  // Ranks are frozen until the start that came after them is done.
  run.started = job.standing != JobStanding::kStarting && job.frozen_epoch == 0;
  for (auto& [node, part] : run.parts) part.started = run.started;
  if (!run.started) meet_frozen(key, run);
}

void Runs::send_start(NodeId node, const Key& key, const Run& run) {
  if (run.waits) return;
  const Part& part = run.parts.at(node);
  int world = 0, group = 0, groups = static_cast<int>(run.parts.size());
  for (const auto& [other, its] : run.parts) {
    world += static_cast<int>(its.ranks.size());
    group += other < node;
  }
  const std::string address = links_.address ? links_.address(run.parts.begin()->first) : "";
  Json environment = {{"WORLD_SIZE", std::to_string(world)},
                      {"LOCAL_WORLD_SIZE", std::to_string(part.ranks.size())},
                      {"GROUP_RANK", std::to_string(group)},
                      {"NODE_RANK", std::to_string(group)},
                      {"GROUP_WORLD_SIZE", std::to_string(groups)},
                      {"ROLE_NAME", "default"},
                      {"ROLE_WORLD_SIZE", std::to_string(world)},
                      {"MASTER_ADDR", address.empty() ? "127.0.0.1" : address},
                      {"MASTER_PORT", port_of(key.first, key.second)},
                      {"TORCHELASTIC_RUN_ID", key.first},
                      {"TORCHELASTIC_RESTART_COUNT", std::to_string(key.second - 1)},
                      {"WEFT_JOB", key.first},
                      {"WEFT_JOB_EPOCH", std::to_string(key.second)}};
  if (!run.codec.empty()) environment["WEFT_CODEC"] = run.codec;
  if (!run.sync.empty()) environment["WEFT_SYNC"] = run.sync;
  const JobSpec& spec = run.spec;
  if (!spec.checkpoint.dir.empty()) environment["WEFT_CHECKPOINT_DIR"] = spec.checkpoint.dir;
  Json start = {
      {"op", "start"},
      {"term", term_},
      {"uuid", key.first},
      {"epoch", key.second},
      {"number", run.number},
      {"job",
       {{"name", spec.name},
        {"user", run.identity.user},
        {"uid", run.identity.uid},
        {"gid", run.identity.gid},
        {"setup", spec.setup},
        {"run", spec.run},
        {"workdir", spec.workdir},
        {"envs", spec.envs},
        {"log_dir", path_in(log_root_, key.first)},
        {"on_controller_loss", kControllerLossNames[static_cast<int>(spec.on_controller_loss)]},
        {"checkpoint_signal", spec.checkpoint.signal},
        {"grace_s", spec.checkpoint.grace}}},
      {"ranks", part.ranks},
      {"environment", environment}};
  if (run.thaws > 0) start["thaw"] = run.thaws;
  if (links_.dress) links_.dress(key.first, start);
  links_.send(node, start);
}

// What may be frozen may have been by the controller before us, which only the last number can
// undo.
std::uint32_t Runs::stop_number(const Run& run) {
  const bool plain = run.spec.checkpoint.preempt == Preemption::kCheckpoint;
  return run.aim == Run::Aim::kStop && plain ? run.number : kLastNumber;
}

void Runs::send_stop(NodeId node, const Key& key, const Run& run) {
  links_.send(node, {{"op", "stop"},
                     {"term", term_},
                     {"uuid", key.first},
                     {"epoch", key.second},
                     {"number", stop_number(run)},
                     {"signal", run.spec.checkpoint.signal},
                     {"grace_s", run.spec.checkpoint.grace}});
}

void Runs::send_forget(NodeId node, const Key& key) {
  links_.send(node,
              {{"op", "forget"}, {"term", term_}, {"uuid", key.first}, {"epoch", key.second}});
}

void Runs::carry_out(const KeptCommand& command, const JobView& job) {
  const Key key{job.identity.uuid, command.epoch};
  auto found = runs_.find(key);
  if (command.kind == CommandKind::kStart) {
    if (found == runs_.end()) {
      JobView started = job;
      started.epoch = command.epoch;
      found = runs_.emplace(key, make(started, command.allocation, command.number)).first;
      meet_frozen(key, found->second);
    }
    Run& run = found->second;
    run.number = command.number;
    if (run.aim != Run::Aim::kRun || run.told) return;
    if (run.started) {
      Event done;
      done.kind = EventKind::kOutcome;
      return tell(key, run, done, "", false);
    }
    for (const auto& [node, part] : run.parts) {
      if (!part.started) send_start(node, key, run);
    }
    return;
  }
  if (found == runs_.end()) {
    // Nobody knows of it any more: it is gone, or frozen.
    Event done;
    done.kind = EventKind::kOutcome;
    done.job = command.job;
    done.epoch = command.epoch;
    done.number = command.number;
    EventRecord record;
    record.event = done;
    const FrozenRun* held = frozen_.find(key.first);
    if (held != nullptr && held->epoch == key.second) record.why = frozen_where(held->shape);
    return links_.post(std::move(record), [] {});
  }
  Run& run = found->second;
  run.number = command.number;
  if (command.kind == CommandKind::kResize) {
    // Other shares of the same devices: nothing that agents can change while ranks run.
    Event refused;
    refused.kind = EventKind::kOutcome;
    refused.outcome = Outcome::kRefused;
    return tell(key, run, refused, "ranks of this executor cannot be resized in place", false);
  }
  if (run.told) return;
  run.was_stop_asked = true;
  if (may_freeze(key, run, job)) return freeze(key, run);
  if (run.aim == Run::Aim::kRun) leave_frozen(key, run);
  if (run.aim != Run::Aim::kAbandon) run.aim = Run::Aim::kStop;
  for (const auto& [node, part] : run.parts) {
    if (!part.gone) send_stop(node, key, run);
  }
  settle(key, run);
}

void Runs::tell(const Key& key, Run& run, Event event, std::string why, bool over) {
  event.job = run.job;
  event.epoch = key.second;
  if (event.kind == EventKind::kOutcome) event.number = run.number;
  if (over) run.told = true;
  EventRecord record;
  record.event = event;
  record.why = std::move(why);
  links_.post(std::move(record), [this, key, over] {
    if (!over) return;
    const auto found = runs_.find(key);
    if (found == runs_.end()) return;
    if (found->second.aim != Run::Aim::kFreeze) {
      for (const auto& [node, part] : found->second.parts) send_forget(node, key);
    }
    runs_.erase(found);
  });
}

void Runs::settle(const Key& key, Run& run) {
  if (run.told) return;
  const auto all = [&](const auto& holds) {
    return std::all_of(run.parts.begin(), run.parts.end(),
                       [&](const auto& entry) { return holds(entry.second); });
  };
  const bool gone = all([](const Part& part) { return part.gone; });
  Event event;
  switch (run.aim) {
    case Run::Aim::kRun:
      if (!run.started && all([](const Part& part) { return part.started; })) {
        run.started = true;
        if (run.thaws > 0) frozen_.drop(key.first);
        event.kind = EventKind::kOutcome;
        tell(key, run, event, "", false);
      }
      if (run.started && gone) {
        event = {};
        event.kind = EventKind::kFinished;
        tell(key, run, event, "", true);
      }
      return;
    case Run::Aim::kFreeze:
      if (all([](const Part& part) { return part.frozen; })) keep_frozen(key, run);
      return;
    case Run::Aim::kStop:
      if (!gone) return;
      event.kind = EventKind::kOutcome;
      return tell(key, run, event, "", true);
    case Run::Aim::kAbandon:
      if (!gone) return;
      event.kind = EventKind::kOutcome;  // perhaps of a stop: it was to be stopped, and it is
      if (!run.was_stop_asked && (run.started || run.own_failure)) return tell_crash(key, run);
      if (!run.was_stop_asked) event.outcome = Outcome::kRefused;
      return tell(key, run, event, run.why, true);
  }
}

void Runs::part_is_gone(const Key& key, Run& run, NodeId node) {
  run.parts.at(node).gone = true;
  settle(key, run);
}

// One part has failed: the others have no use any more.
void Runs::abandon(const Key& key, Run& run, NodeId node, const std::string& why, bool own) {
  if (run.aim == Run::Aim::kFreeze) return stop_instead(key, run);
  if (run.aim == Run::Aim::kRun) {
    run.aim = Run::Aim::kAbandon;
    leave_frozen(key, run);
    run.own_failure = own;
    run.why = why;
    run.failed_on = node;
    for (const auto& [other, part] : run.parts) {
      if (!part.gone) send_stop(other, key, run);
    }
  }
  settle(key, run);
}

void Runs::outcome(NodeId node, const std::string& uuid, std::uint32_t epoch, std::uint32_t number,
                   const std::string& result, const std::string& why) {
  const Key key{uuid, epoch};
  if (frozen_.outcome(node, uuid, epoch, number, result)) return;
  const auto found = runs_.find(key);
  if (found == runs_.end() || !found->second.parts.contains(node)) return;
  Run& run = found->second;
  Part& part = run.parts.at(node);
  if (run.aim == Run::Aim::kFreeze) {
    if (number != kFreezeNumber) return;
    part.frozen = result == "done";
    return part.frozen ? settle(key, run) : stop_instead(key, run);
  }
  if (run.aim == Run::Aim::kRun) {
    if (number != run.number || part.started) return;
    if (result == "done") {
      part.started = true;
      return settle(key, run);
    }
    if (result == "refused") part.gone = true;  // nothing was begun
    return abandon(key, run, node, fmt::format("{}: {}", cluster_.nodes[node].name, why));
  }
  if (number == stop_number(run) && result == "done") part_is_gone(key, run, node);
}

void Runs::ended(NodeId node, const std::string& uuid, std::uint32_t epoch, int rank, int code,
                 int signal, const std::string& why) {
  const Key key{uuid, epoch};
  std::string how;
  if (!why.empty()) {
    how = fmt::format("rank {}: {}", rank, why);
  } else if (signal != 0) {
    how = fmt::format("rank {} was ended by signal {}", rank, signal);
  } else if (code != 0) {
    how = fmt::format("rank {} exited with {}", rank, code);
  }
  if (frozen_.ended(node, uuid, epoch, how.empty() ? "a rank has ended" : how)) return;
  const auto found = runs_.find(key);
  if (found == runs_.end()) return send_forget(node, key);
  if (!found->second.parts.contains(node)) return;
  Run& run = found->second;
  Part& part = run.parts.at(node);
  part.ends[rank] = how;
  part.started = true;  // it has been
  const bool all = part.ends.size() >= part.ranks.size();
  if (all) part.gone = true;
  if (run.aim == Run::Aim::kRun && !how.empty()) {
    const bool own = why.empty() || why == "memory limit" || why == "setup failed";
    return abandon(key, run, node, how, own);
  }
  if (run.aim == Run::Aim::kFreeze) return stop_instead(key, run);
  settle(key, run);
}

bool Runs::signal(const std::string& uuid, int number) {
  bool any = false;
  for (const auto& [key, run] : runs_) {
    if (key.first != uuid || run.aim != Run::Aim::kRun) continue;
    for (const auto& [node, part] : run.parts) {
      links_.send(node, {{"op", "signal"},
                         {"term", term_},
                         {"uuid", uuid},
                         {"epoch", key.second},
                         {"signal", number}});
      any = true;
    }
  }
  return any;
}

}  // namespace weft::live

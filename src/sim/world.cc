#include "sim/world.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/power.h"

namespace weft {

World::World(const Cluster& cluster, const SimOptions& options, const PairTable* pairs,
             const Topology* network, EventQueue& queue, Metrics& metrics, Listener& listener)
    : cluster_(cluster),
      options_(options),
      pairs_(pairs),
      network_(network != nullptr ? std::make_unique<JobNetwork>(*network, options.bandwidth)
                                  : nullptr),
      queue_(queue),
      metrics_(metrics),
      listener_(listener),
      used_milli_(cluster.device_count()),
      owner_(cluster.device_count(), kNoJob),
      nodes_out_(cluster.nodes.size()) {}

void World::reserve(size_t jobs) {
  jobs_.reserve(jobs);
  records_.reserve(jobs);
  contention_at_submit_.reserve(jobs);
}

void World::add(JobId id, const TraceJob& trace, Seconds now) {
  CHECK(id == jobs_.size());
  TrueJob& job = jobs_.emplace_back();
  job.trace = &trace;
  records_.emplace_back().submit = now;
  if (trace.truth.goodput != nullptr) {
    job.agent = std::make_unique<ElasticAgent>(*trace.truth.goodput, cluster_);
    report_rate(id, now);
  }
  contention_at_submit_.push_back(metrics_.contention(now));
  ++active_;
}

void World::tell_outcome(const Command& command, Outcome outcome, double work_done, Seconds now) {
  Event event;
  event.at = now;
  event.kind = EventKind::kOutcome;
  event.outcome = outcome;
  event.job = command.job;
  event.epoch = command.epoch;
  event.number = command.number;
  event.value = work_done;
  listener_.tell(event);
}

void World::execute(const Command& command, bool refuse, Seconds now) {
  TrueJob& job = jobs_[command.job];
  if (command.number < job.number) return;
  const bool repeated = command.number == job.number;
  job.number = command.number;
  if (!repeated) {
    const bool dead =
        command.allocation != nullptr &&
        std::any_of(command.allocation->devices.begin(), command.allocation->devices.end(),
                    [&](const DeviceShare& share) { return out_of_service(share.device); });
    job.answer = refuse || dead ? Outcome::kRefused : Outcome::kDone;
  }
  if (!repeated && job.answer == Outcome::kDone && !job.over) {
    switch (command.kind) {
      case CommandKind::kStart:
        start(command.job, command, now);
        break;
      case CommandKind::kStop:
        stop(command.job, now);
        break;
      case CommandKind::kResize:
        resize(command.job, command, now);
        break;
      case CommandKind::kNone:
        break;
    }
  }
  tell_outcome(command, job.answer, job.work_done, now);
  if (job.run != nullptr && !repeated && command.kind != CommandKind::kStop) {
    const Configuration& c =
        job.trace->submission->menu->configurations[job.run->held.configuration];
    if (job.agent != nullptr || job.run->rate != c.rate) report_rate(command.job, now);
  }
  if (job.over && command.kind == CommandKind::kStart && job.answer == Outcome::kDone) {
    Event event;
    event.at = now;
    event.kind = EventKind::kFinished;
    event.job = command.job;
    event.epoch = command.epoch;
    listener_.tell(event);
  }
}

void World::occupy(JobId id, const Allocation& allocation, Seconds now) {
  if (network_ != nullptr) join_network(id, allocation, now);
  for (const DeviceShare& share : allocation.devices) {
    metrics_.draw(draw_of(id, share));
    std::uint16_t& used = used_milli_[share.device];
    CHECK_MSG(used + share.milli <= kWhole, "two jobs run on one device");
    used = static_cast<std::uint16_t>(used + share.milli);
    busy_milli_ += share.milli;
    if (share.milli < kWhole) {
      shared_[share.device].push_back(id);
    } else {
      owner_[share.device] = id;
    }
  }
}

void World::close_stay(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  JobRecord& record = records_[id];
  const Seconds stayed = now - job.run->stay_from;
  record.run_s += stayed;
  const Configuration& c = job.trace->submission->menu->configurations[job.run->held.configuration];
  for (size_t i = 0; i < job.run->held.devices.size();) {
    const DeviceShare& first = job.run->held.devices[i];
    const NodeId node = cluster_.node_of(first.device);
    size_t next = i + 1;
    while (next < job.run->held.devices.size() &&
           job.run->held.devices[next].milli == first.milli &&
           job.run->held.devices[next].device == first.device + (next - i) &&
           cluster_.node_of(job.run->held.devices[next].device) == node) {
      ++next;
    }
    const auto count = static_cast<std::uint16_t>(next - i);
    const double devices = static_cast<double>(count) * first.milli / kWhole;
    metrics_.used(node, devices, job.run->stay_from, now,
                  busy_watts(cluster_.types[cluster_.nodes[node].type], cap_of(c, job.run->held)));
    if (options_.record_timeline && stayed > 0) {
      timeline_.push_back({id, first.device, count, first.milli, job.run->stay_from, now});
    }
    i = next;
  }
  job.run->stay_from = now;
}

void World::vacate(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  close_stay(id, now);
  if (network_ != nullptr) network_->remove(id, now);
  for (const DeviceShare& share : job.run->held.devices) {
    metrics_.draw(-draw_of(id, share));
    used_milli_[share.device] = static_cast<std::uint16_t>(used_milli_[share.device] - share.milli);
    busy_milli_ -= share.milli;
    if (share.milli < kWhole) {
      std::vector<JobId>& users = shared_[share.device];
      std::erase(users, id);
      if (users.empty()) shared_.erase(share.device);
    } else {
      owner_[share.device] = kNoJob;
    }
  }
}

void World::settle(TrueJob& job, Seconds now) {
  Run& run = *job.run;
  if (now > run.since) {
    if (const Seconds interval = options_.checkpoint_interval; interval > 0) {
      const Seconds at =
          run.progress_from + std::floor((now - run.progress_from) / interval) * interval;
      if (at > run.saved_at) {
        run.saved_at = at;
        run.saved_work = job.work_done + std::max(0.0, at - run.since) * run.rate;
      }
    }
    job.work_done += (now - run.since) * run.rate;
    if (job.trace->submission->kind == WorkloadKind::kService) serve(job, now);
    run.since = now;
  }
  ++job.stamp;
}

double World::interference(JobId id, const TrueJob& job) const {
  // Two jobs that were measured together go as fast as measured; others get their part of the
  // device's time. Nobody goes faster for having company.
  double worst = 1;
  const Submission& spec = *job.trace->submission;
  const Configuration& c = spec.menu->configurations[job.run->held.configuration];
  for (const DeviceShare& share : job.run->held.devices) {
    if (share.milli == kWhole) continue;
    const auto users = shared_.find(share.device);
    if (users == shared_.end()) continue;
    for (JobId other : users->second) {
      const ModelId partner = jobs_[other].trace->submission->model;
      if (other == id) continue;
      double speed = 0;
      if (pairs_ != nullptr && !pairs_->empty() && spec.model != kNoModel && partner != kNoModel) {
        speed = pairs_->at(cluster_.type_of(share.device), spec.model, partner).first;
      }
      if (speed <= 0) speed = static_cast<double>(share.milli) / c.milli;
      worst = std::min(worst, speed);
    }
  }
  return worst;
}

double World::true_rate(JobId id) const {
  const TrueJob& job = jobs_[id];
  const Configuration& c = job.trace->submission->menu->configurations[job.run->held.configuration];
  const DeviceType& type = cluster_.types[cluster_.type_of(job.run->held.devices.front().device)];
  double rate = capped_speed(type, cap_of(c, job.run->held));
  rate *= job.agent != nullptr ? job.agent->rate()
                               : c.rate * c.efficiency * job.trace->truth.speed_at(job.work_done);
  if (c.type == kAnyType && job.agent == nullptr) rate *= type.speed;
  if (c.scattered_rate > 0 && job.run->held.devices.size() > 1) {
    NodeId nodes = 1;
    for (size_t i = 1; i < job.run->held.devices.size(); ++i) {
      nodes += cluster_.node_of(job.run->held.devices[i].device) !=
               cluster_.node_of(job.run->held.devices[i - 1].device);
    }
    const Node& node = cluster_.nodes[cluster_.node_of(job.run->held.devices.front().device)];
    const auto needed = (job.run->held.devices.size() + node.devices - 1) / node.devices;
    if (nodes > needed) rate *= c.scattered_rate / c.rate;
  }
  if (network_ != nullptr) rate /= network_->slowdown(id);
  return rate * interference(id, job);
}

void World::run_on(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  job.run->rate = true_rate(id);
  if (job.trace->submission->kind == WorkloadKind::kService) return;
  if (job.run->rate > 0) {
    job.run->until = job.agent != nullptr ? job.agent->epoch_end()
                                          : job.trace->truth.speed_changes_at(job.work_done);
    queue_.push(std::max(now, job.run->since) +
                    std::max(0.0, job.run->until - job.work_done) / job.run->rate,
                Happening::kFinish, id, job.stamp);
  }
}

void World::rerate_neighbours(JobId id, const Allocation& of, Seconds now) {
  std::vector<JobId> neighbours;
  for (const DeviceShare& share : of.devices) {
    if (share.milli == kWhole) continue;
    const auto users = shared_.find(share.device);
    if (users == shared_.end()) continue;
    for (JobId other : users->second) {
      if (other != id) neighbours.push_back(other);
    }
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  for (JobId other : neighbours) {
    if (true_rate(other) == jobs_[other].run->rate) continue;
    settle(jobs_[other], now);
    run_on(other, now);
    report_rate(other, now);
  }
  if (network_ != nullptr) rerate_network(now);
}

void World::start(JobId id, const Command& command, Seconds now) {
  TrueJob& job = jobs_[id];
  CHECK_MSG(job.run == nullptr, "a running job is started");
  const bool first = records_[id].first_start == kNever;
  job.epoch = command.epoch;
  job.run = std::make_unique<Run>();
  Run& run = *job.run;
  run.held = *command.allocation;
  run.stay_from = now;
  run.since =
      now + job.trace->truth.loading + (first ? options_.start_cost : options_.restart_cost);
  if (first) records_[id].first_start = now;
  if (job.agent != nullptr) start_elastic(id, now);
  run.progress_from = run.saved_at = run.since;
  run.work_before = run.saved_work = job.work_done;
  ++running_;
  occupy(id, run.held, now);
  run_on(id, now);
  rerate_neighbours(id, run.held, now);
}

std::unique_ptr<World::Run> World::leave(JobId id, Seconds now) {
  settle(jobs_[id], now);
  vacate(id, now);
  --running_;
  return std::move(jobs_[id].run);
}

void World::stop(JobId id, Seconds now) {
  if (jobs_[id].run == nullptr) return;
  const std::unique_ptr<Run> run = leave(id, now);  // a clean stop saves its state
  ++records_[id].restarts;
  rerate_neighbours(id, run->held, now);
}

void World::resize(JobId id, const Command& command, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.run == nullptr) return;
  settle(job, now);
  vacate(id, now);
  job.run->held = *command.allocation;
  occupy(id, job.run->held, now);
  run_on(id, now);
  rerate_neighbours(id, job.run->held, now);
}

void World::finish_due(JobId id, std::uint32_t stamp, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.run == nullptr || stamp != job.stamp) return;
  settle(job, now);
  job.work_done = job.run->until;  // free of rounding
  if (job.agent != nullptr ? next_epoch(id, now) : next_phase(id, now)) return;
  const std::unique_ptr<Run> run = leave(id, now);
  job.work_done = job.trace->truth.work;
  end(id, now);
  Event event;
  event.at = now;
  event.kind = EventKind::kFinished;
  event.job = id;
  event.epoch = job.epoch;
  listener_.tell(event);
  rerate_neighbours(id, run->held, now);
}

void World::end(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  JobRecord& record = records_[id];
  job.over = true;
  --active_;
  record.end = now;
  record.missed_deadline = now > job.trace->submission->deadline;
  // Themis (NSDI'20) §4: finish time over that on an equal share of the cluster, the number of
  // sharers being the mean over the job's lifetime.
  const double lifetime = now - record.submit;
  const Configuration& c = job.trace->submission->requested();
  const double alone = c.rate > 0 ? job.trace->truth.duration_at(c.rate) : 0;
  if (alone > 0 && lifetime > 0) {
    const double sharers = (metrics_.contention(now) - contention_at_submit_[id]) / lifetime;
    const double slower = static_cast<double>(c.devices) * sharers / cluster_.device_count();
    record.rho = static_cast<float>(lifetime / (alone * std::max(1.0, slower)));
  }
}

void World::serve(const TrueJob& job, Seconds now) {
  const double capacity = job.run->rate * job.run->held.replicas;
  served_ += std::min<double>(job.load, capacity) * (now - job.run->since);
}

void World::set_load(JobId id, double requests_per_s, std::uint32_t number, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.over) return;
  if (job.run != nullptr) settle(job, now);
  job.load = static_cast<float>(requests_per_s);
  Event event;
  event.at = now;
  event.kind = EventKind::kLoad;
  event.job = id;
  event.number = number;
  event.value = requests_per_s;
  listener_.tell(event);
}

void World::end_service(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.over) return;
  if (job.run != nullptr) {
    const std::unique_ptr<Run> run = leave(id, now);
    rerate_neighbours(id, run->held, now);
  }
  // What was asked for, served or not, is known from the load alone.
  const std::vector<LoadStep>& load = job.trace->truth.load;
  for (size_t i = 0; i < load.size(); ++i) {
    const Seconds from = std::max(load[i].at, records_[id].submit);
    const Seconds until = i + 1 < load.size() ? std::min(load[i + 1].at, now) : now;
    if (until > from) requests_ += load[i].requests_per_s * (until - from);
  }
  end(id, now);
  Event event;
  event.at = now;
  event.kind = EventKind::kWithdraw;
  event.job = id;
  listener_.tell(event);
}

void World::reject(JobId id, Seconds now) {
  records_[id].rejected = true;
  end(id, now);
}

}  // namespace weft

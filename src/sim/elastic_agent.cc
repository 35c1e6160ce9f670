#include "sim/elastic_agent.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

ElasticAgent::ElasticAgent(const Goodput& goodput, const Cluster& cluster)
    : goodput_(goodput), cluster_(cluster), seen_(goodput.on_types.size()) {
  CHECK(goodput.on_types.size() == cluster.types.size());
  report_.restart_s = goodput.restart_s;
  for (const Goodput::OnType& on_type : goodput.on_types) {
    GoodputReport::OnType& here = report_.on_types.emplace_back();
    here.limits = on_type.limits;
    here.one_replica_rate = on_type.one_replica_rate;
  }
  for (const Node& node : cluster.nodes) {
    int& devices = report_.on_types[node.type].node_devices;
    devices = std::max<int>(devices, node.devices);
  }
}

bool ElasticAgent::Seen::add(const Observation& o) {
  if (!keys.insert({o.gang.nodes, o.gang.replicas, static_cast<int>(o.local_batch)}).second) {
    return false;
  }
  observations.push_back(o);
  return true;
}

void ElasticAgent::begin(const Allocation& held, const Configuration& configuration,
                         double progress) {
  ++run_;
  placement_.clear();
  type_ = cluster_.type_of(held.devices.front().device);
  NodeId last = kNoNode;
  for (const DeviceShare& share : held.devices) {
    const NodeId node = cluster_.node_of(share.device);
    if (node != last) placement_.push_back(0);
    ++placement_.back();
    last = node;
  }
  const int devices = static_cast<int>(held.devices.size());
  gang_ = {static_cast<int>(placement_.size()),
           std::max(1, devices / goodput_.on_types[type_].devices_per_replica)};
  fixed_batch_ = configuration.batch;
  epoch_ = std::min(goodput_.noise.epoch_at(progress), goodput_.epochs - 1);
  batch_ = choose_batch();
  measuring_ = true;
}

double ElasticAgent::rate() const { return goodput_.rate(type_, placement_, batch_, epoch_); }

BatchChoice ElasticAgent::choose_batch() const {
  BatchLimits limits = goodput_.on_types[type_].limits;
  limits.local_max =
      std::max(1, std::min(limits.local_max, goodput_.on_types[type_].steps.local_max(placement_)));
  const GoodputReport::OnType& here = report_.on_types[type_];
  if (fixed_batch_ > 0) {
    return split_batch(static_cast<int>(fixed_batch_), gang_.replicas, limits);
  }
  if (here.model && report_.noise) {
    const BatchChoice best = best_batch(*here.model, *report_.noise, gang_, limits);
    if (best.local_batch > 0) return best;
  }
  return split_batch(std::max(limits.initial, limits.local_min * gang_.replicas), gang_.replicas,
                     limits);
}

bool ElasticAgent::tune() {
  const BatchChoice before = batch_;
  batch_ = choose_batch();
  const bool changed = batch_.local_batch != before.local_batch;
  if (!changed || measuring_) return false;
  measuring_ = true;
  return true;
}

bool ElasticAgent::enter_next_epoch() {
  CHECK(!in_last_epoch());
  ++epoch_;
  const int total = gang_.replicas * batch_.local_batch * (batch_.accumulation + 1);
  if (report_.noise) report_.noise = goodput_.noise.at(epoch_, total);
  return tune();
}

bool ElasticAgent::measure() {
  measuring_ = false;
  const Goodput::OnType& truth = goodput_.on_types[type_];
  const std::optional<StepTime> time = truth.steps.at(placement_, batch_.local_batch);
  if (!time) return false;
  const double slow = goodput_.slowdown;
  const Observation observation{gang_,
                                static_cast<double>(batch_.local_batch),
                                {time->compute_s * slow, time->step_s * slow}};
  const int total = gang_.replicas * batch_.local_batch * (batch_.accumulation + 1);
  report_.noise = goodput_.noise.at(epoch_, total);
  GoodputReport::OnType& here = report_.on_types[type_];
  here.most_replicas = std::max(here.most_replicas, gang_.replicas);
  if (seen_[type_].add(observation)) here.model = fit_step_time(seen_[type_].observations);
  if (seen_anywhere_.add(observation)) {
    report_.pooled = fit_step_time(seen_anywhere_.observations);
  }
  return tune();
}

std::shared_ptr<const GoodputReport> ElasticAgent::report() {
  ++report_.serial;
  return std::make_shared<const GoodputReport>(report_);
}

}  // namespace weft

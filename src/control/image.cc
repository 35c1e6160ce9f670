// The controller as bytes and back: what bounds how much of a journal has to be folded.
#include "control/persist.h"

#include "control/controller.h"

namespace weft {

template <typename Archive>
void persist(Archive& io, JobState& j) {
  io(j.spec, j.id);
  persist_enum(io, j.phase, Phase::kHeld);
  io(j.running, j.restarts, j.setbacks, j.submit, j.held_back_until, j.estimate);
  io(j.running_since, j.devices_running, j.closed_device_s, j.closed_run_s);
  io(j.reported_work, j.reported_at, j.observed_rate, j.report, j.load, j.held);
}

template <typename Archive>
void persist(Archive& io, FailureLog& f) {
  io(f.nodes, f.jobs);
}

template <typename Archive>
void persist(Archive& io, Pursuit& p) {
  persist_enum(io, p.standing, Standing::kStopping);
  io(p.epoch, p.number, p.blocked, p.refused, p.used);
  bool changes = p.change != nullptr;
  io(changes);
  if (!changes) return;
  if constexpr (Archive::kReads) p.change = std::make_unique<Pursuit::Change>();
  io(p.change->from, p.change->to);
}

template <typename Archive>
void History::persist_in(Archive& io) {
  io(like_, tenant_, all_);
}

template <typename Archive>
void Dispatch::persist_in(Archive& io) {
  io(pursuits_, blocked_, due_);
}

namespace {

// Version 1 knew of no job that was held back or wanted elsewhere, and no closure.
constexpr std::uint32_t kImageVersion = 2;

}  // namespace

template <typename Archive>
void Controller::persist_in(Archive& io) {
  std::uint32_t version = kImageVersion;
  io(version);
  if constexpr (Archive::kReads) {
    if (version < 1 || version > kImageVersion) return io.fail();
  }
  std::uint64_t nodes = state_.cluster().nodes.size(), devices = state_.cluster().device_count();
  io(nodes, devices);
  if (nodes != state_.cluster().nodes.size() || devices != state_.cluster().device_count()) {
    if constexpr (Archive::kReads) io.fail();
    return;
  }
  io(state_.now, state_.jobs, state_.ended_service_s, state_.failures, policy_wake_, load_notices_);
  io(decisions_);
  if (version >= 2) io(state_.failures.shunned, held_back_, state_.closures);
  history_.persist_in(io);
  dispatch_.persist_in(io);
}

std::string Controller::image() const {
  ArchiveWriter writer;
  const_cast<Controller*>(this)->persist_in(writer);
  std::vector<NodeId> nodes_out;
  std::vector<DeviceId> devices_out;
  const Cluster& cluster = state_.cluster();
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (!state_.ledger.available(node)) nodes_out.push_back(node);
  }
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    if (state_.ledger.device_is_out(device)) devices_out.push_back(device);
  }
  writer(nodes_out, devices_out);
  return writer.take();
}

bool Controller::fits_cluster(const Allocation& a) const {
  const Cluster& cluster = state_.cluster();
  for (const DeviceShare& share : a.devices) {
    if (share.device >= cluster.device_count() || share.milli == 0 || share.milli > kWhole) {
      return false;
    }
  }
  for (const HostShare& host : a.hosts) {
    if (host.node >= cluster.nodes.size()) return false;
  }
  return true;
}

// Fills what the image leaves out because it follows from the rest.
bool Controller::rebuild() {
  state_.active.clear();
  state_.waiting = state_.placed = 0;
  ended_in_active_ = 0;
  for (JobState& job : state_.jobs) {
    if (job.id != static_cast<JobId>(&job - state_.jobs.data())) return false;
    if (job.phase == Phase::kEnded) continue;
    if (job.spec == nullptr || (job.phase == Phase::kHeld && !job.held.empty())) return false;
    if (job.phase == Phase::kHeld) continue;
    state_.active.push_back(job.id);
    ++(job.phase == Phase::kWaiting ? state_.waiting : state_.placed);
    if ((job.phase == Phase::kPlaced) == job.held.empty() || !fits_cluster(job.held)) return false;
    if (job.held.empty()) continue;
    if (job.held.configuration >= job.spec->menu->configurations.size()) return false;
    for (const DeviceShare& share : job.held.devices) {
      if (state_.ledger.used_milli(share.device) + share.milli > kWhole) return false;
    }
    state_.ledger.take(job.id, job.held);
  }
  return dispatch_.rebuild([this](const Allocation& a) { return fits_cluster(a); });
}

Status Controller::restore(std::string_view image) {
  CHECK_MSG(state_.jobs.empty(), "only a new controller can be restored");
  const Error broken{ErrorKind::kInvalidInput,
                     "the image of the controller does not fit this program or this cluster", ""};
  ArchiveReader reader(image);
  persist_in(reader);
  std::vector<NodeId> nodes_out;
  std::vector<DeviceId> devices_out;
  reader(nodes_out, devices_out);
  if (!reader.at_end() || !rebuild()) return broken;
  for (NodeId node : nodes_out) {
    if (node >= state_.cluster().nodes.size()) return broken;
    state_.ledger.set_available(node, false);
  }
  for (DeviceId device : devices_out) {
    if (device >= state_.cluster().device_count()) return broken;
    state_.ledger.set_device_available(device, false);
  }
  return {};
}

bool Dispatch::rebuild(const std::function<bool(const Allocation&)>& fits) {
  if (pursuits_.size() != state_.jobs.size()) return false;
  for (const Pursuit& pursuit : pursuits_) {
    if (!fits(pursuit.used)) return false;
    if (pursuit.change != nullptr && !(fits(pursuit.change->from) && fits(pursuit.change->to))) {
      return false;
    }
    if (pursuit.standing == Standing::kResizing && pursuit.change == nullptr) return false;
    use(pursuit.used, +1);
  }
  for (JobId id : blocked_) {
    if (id >= pursuits_.size()) return false;
  }
  for (const Due& due : due_) {
    if (due.job >= pursuits_.size()) return false;
  }
  return true;
}

}  // namespace weft

// What the tests of the controller share: a policy that does what it is told, and an executor that
// only listens.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/controller.h"

namespace weft {

struct SentCommand {
  CommandKind kind = CommandKind::kNone;
  JobId job = kNoJob;
  std::uint32_t epoch = 0, number = 0;
  Seconds deadline = 0;
  std::vector<DeviceId> devices;
};

class ListeningExecutor : public Executor {
 public:
  void execute(const Command& command) override {
    SentCommand& sent_now = sent.emplace_back();
    sent_now = {command.kind, command.job, command.epoch, command.number, command.deadline, {}};
    if (command.allocation == nullptr) return;
    for (const DeviceShare& share : command.allocation->devices) {
      sent_now.devices.push_back(share.device);
    }
  }
  const SentCommand& last() const { return sent.back(); }
  std::vector<SentCommand> sent;
};

// Runs `next` once, at the next decision.
class ObedientPolicy : public Policy {
 public:
  void decide(Draft& draft, const Change& change, PolicyMemory&) const override {
    changes.push_back(change);
    if (!next) return;
    const auto act = std::move(next);
    next = nullptr;
    act(draft);
  }
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

  mutable std::function<void(Draft&)> next;
  mutable std::vector<Change> changes;

 private:
  std::string name_ = "obedient";
};

// An event about a run of a job, or about a node.
inline Event about_job(EventKind kind, JobId job, std::uint32_t epoch = 0) {
  Event event;
  event.kind = kind;
  event.job = job;
  event.epoch = epoch;
  return event;
}
inline Event about_node(EventKind kind, NodeId node) {
  Event event;
  event.kind = kind;
  event.node = node;
  return event;
}

inline Allocation whole_devices(std::vector<DeviceId> devices, std::uint32_t replicas = 1) {
  Allocation allocation;
  allocation.replicas = replicas;
  for (DeviceId device : devices) allocation.devices.push_back({device});
  return allocation;
}

// A controller of two nodes of two devices whose policy and executor are in the test's hands.
class ControlTest : public testing::Test {
 protected:
  ControlTest() : cluster_(*parse_cluster_shorthand("2x2")) {}

  JobId submit(std::uint32_t devices, WorkloadKind kind = WorkloadKind::kTraining) {
    auto submission = std::make_shared<Submission>();
    auto menu = std::make_shared<Menu>();
    menu->configurations.emplace_back().devices = devices;
    submission->menu = menu;
    submission->kind = kind;
    submission->max_replicas = 4;
    Event event;
    event.kind = EventKind::kSubmit;
    event.at = now_;
    event.submission = submission;
    return controller_.handle(event);
  }
  // Lets the policy do this at a decision now; word that node 1 is up, which it was, calls for one.
  void decide(std::function<void(Draft&)> act) {
    policy_.next = std::move(act);
    tell(about_node(EventKind::kNodeUp, 1));
    controller_.decide(now_);
  }
  void start(JobId job, std::vector<DeviceId> devices) {
    decide([=](Draft& draft) { draft.start(job, whole_devices(devices)); });
  }
  void stop(JobId job) {
    decide([=](Draft& draft) { draft.stop(job); });
  }
  void tell(Event event) {
    event.at = now_;
    controller_.handle(event);
  }
  // The outcome of a command that was sent.
  void answer(const SentCommand& command, Outcome outcome = Outcome::kDone) {
    Event event = about_job(EventKind::kOutcome, command.job, command.epoch);
    event.outcome = outcome;
    event.number = command.number;
    tell(event);
  }
  void finish(const SentCommand& start) {
    tell(about_job(EventKind::kFinished, start.job, start.epoch));
  }
  // Time passes until the controller asked to be woken.
  void wait() {
    ASSERT_LT(controller_.next_wake(), kNever);
    now_ = controller_.next_wake();
    tell(Event{});
  }
  const JobState& job(JobId id) const { return controller_.state().job(id); }
  Standing standing(JobId id) const { return controller_.dispatch().pursuit(id).standing; }
  size_t sent() const { return executor_.sent.size(); }

  Cluster cluster_;
  ObedientPolicy policy_;
  ListeningExecutor executor_;
  Controller controller_{cluster_, policy_, executor_, ControllerOptions{}};
  Seconds now_ = 0;
};

}  // namespace weft

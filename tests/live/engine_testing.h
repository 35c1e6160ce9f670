// What every executor must do, and the worlds in which the contract is tried.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live/daemon/board.h"
#include "live/daemon/engine.h"
#include "live/job/job_json.h"
#include "model/cluster.h"

namespace weft {

// What the ranks of a job do.
enum class Conduct { kStays, kEnds, kFails, kIgnoresTerm };

// Stands where the controller does: gives commands, hears events, keeps the board.
class ContractController : public live::EventSink {
 public:
  ContractController() : cluster(*parse_cluster_shorthand("2x2")), board(cluster) {}

  void post(live::EventRecord record, std::function<void(const Status&)> done,
            live::DurableJournal::Weight) override {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(record);
    }
    board.tell(record);
    if (done) done(Status());
  }
  void report(const Event&) override {}
  Seconds now() const override { return 1; }

  // A job on the board, as if it had been submitted.
  void submit(const std::string& uuid, const live::JobSpec& spec) {
    live::EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = uuid;
    auto menu = std::make_shared<Menu>();
    menu->configurations.resize(1);
    submission->menu = menu;
    record.event.submission = submission;
    record.job = live::JobIdentity{uuid, "", static_cast<std::uint32_t>(geteuid()),
                                   static_cast<std::uint32_t>(getegid()), to_json(spec).dump()};
    board.admit(record);
  }
  // The command, once it is on the board as the journal would have it.
  KeptCommand command(const std::string& uuid, CommandKind kind, std::uint32_t epoch,
                      std::uint32_t number, const std::vector<DeviceId>& devices = {}) {
    KeptCommand command;
    command.kind = kind;
    command.job = board.find(uuid)->id;
    command.epoch = epoch;
    command.number = number;
    for (const DeviceId device : devices)
      command.allocation.devices.push_back({device, 1000, 0, 0});
    Command plain;
    plain.kind = kind;
    plain.job = command.job;
    plain.epoch = epoch;
    plain.number = number;
    plain.allocation = &command.allocation;
    board.command(0, plain);
    return command;
  }

  // Events of a job, of one kind.
  std::vector<live::EventRecord> told(const std::string& uuid, EventKind kind) const {
    const JobId job = board.find(uuid)->id;
    const std::lock_guard lock(mutex_);
    std::vector<live::EventRecord> found;
    for (const live::EventRecord& record : events_) {
      if (record.event.kind == kind && record.event.job == job) found.push_back(record);
    }
    return found;
  }
  // How often the command was answered so.
  int answers(const std::string& uuid, std::uint32_t number, Outcome outcome) const {
    int count = 0;
    for (const auto& record : told(uuid, EventKind::kOutcome)) {
      count += record.event.number == number && record.event.outcome == outcome;
    }
    return count;
  }

  const Cluster cluster;
  live::Board board;

 private:
  mutable std::mutex mutex_;
  std::vector<live::EventRecord> events_;
};

// Two nodes of two devices, run by one engine.
class EngineWorld {
 public:
  virtual ~EngineWorld() = default;
  virtual live::Engine& engine() = 0;
  virtual live::JobSpec job(Conduct conduct) = 0;
  // Lets the world's time pass until it holds; false if it does not.
  virtual bool until(const std::function<bool()>& holds) = 0;
  // Ranks of the run that began, ever; that live now; that heard the signal USR1.
  virtual int begun(const std::string& uuid, int epoch) = 0;
  virtual int alive(const std::string& uuid, int epoch) = 0;
  virtual int signalled(const std::string& uuid, int epoch) = 0;
  // Indices of devices on their nodes, of all ranks in order, as the ranks were told.
  virtual std::string devices(const std::string& uuid, int epoch) = 0;
  // Carries it out, but what answers falls over before the answer is out.
  virtual void carry_out_unheard(const KeptCommand& command, const live::JobView& job) = 0;
  // What runs jobs falls over and is back: agents, or another system's controller.
  virtual void restart_engine() = 0;
  // Our own controller falls over; the next has only its board.
  virtual void restart_controller() = 0;
};

std::unique_ptr<EngineWorld> local_world(ContractController& controller);
std::unique_ptr<EngineWorld> queue_world(ContractController& controller);

}  // namespace weft

#include "tests/live/engine_queue_testing.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft {
namespace {

using live::EngineRun;

constexpr Seconds kPollEvery = 0.25;

// Drives such a queue: says what it wants, looks every quarter of a second what there is, and does
// what is missing. Numbers of the queue are used only on what was just listed.
class QueueEngine : public live::Engine {
 public:
  QueueEngine(PretendedQueue& queue, live::EventSink& sink) : queue_(queue), sink_(sink) { poll(); }

  const live::EngineStatement& statement() const override {
    static const live::EngineStatement statement{"queue", {.claim = true, .foreign_jobs = true}};
    return statement;
  }
  void adopt(const live::JobView& job) {
    Wish& wish = open(job, job.epoch, job.held.devices.size());
    wish.started = job.standing == live::JobStanding::kRunning;
  }
  void carry_out(const KeptCommand& command, const live::JobView& job) override {
    const std::string name = fmt::format("{}.{}", job.identity.uuid, command.epoch);
    if (command.kind == CommandKind::kResize) {
      return answer(command.job, command.epoch, command.number, Outcome::kRefused);
    }
    const bool known = wishes_.contains(name);
    Wish& wish =
        known ? wishes_[name] : open(job, command.epoch, command.allocation.devices.size());
    wish.number = command.number;
    if (command.kind == CommandKind::kStop) wish.stop = true;
    if (command.kind == CommandKind::kStart && wish.started) {
      answer(wish.job, wish.epoch, wish.number, Outcome::kDone);
    }
  }
  void signal(const std::string& uuid, int) override { signals_.insert(uuid); }
  std::vector<EngineRun> list(std::uint64_t since) override {
    std::vector<EngineRun> changed;
    for (const auto& [name, run] : listed_) {
      if (run.changed > since) changed.push_back(run);
    }
    std::sort(changed.begin(), changed.end(),
              [](const EngineRun& a, const EngineRun& b) { return a.changed < b.changed; });
    return changed;
  }

 private:
  struct Wish {
    JobId job = kNoJob;
    std::string uuid;
    std::uint32_t epoch = 0, number = 0;
    Conduct conduct = Conduct::kStays;
    int ranks = 0;
    bool stop = false, started = false, submitting = false, over = false;
  };

  Wish& open(const live::JobView& job, std::uint32_t epoch, std::size_t ranks) {
    Wish& wish = wishes_[fmt::format("{}.{}", job.identity.uuid, epoch)];
    wish.job = job.id;
    wish.uuid = job.identity.uuid;
    wish.epoch = epoch;
    wish.ranks = static_cast<int>(ranks);
    const auto spec = live::spec_from_json(nlohmann::json::parse(job.identity.spec));
    wish.conduct = static_cast<Conduct>(std::stoi(spec.ok() ? spec->run : "0"));
    return wish;
  }
  void answer(JobId job, std::uint32_t epoch, std::uint32_t number, Outcome outcome) {
    live::EventRecord record;
    record.event.kind = EventKind::kOutcome;
    record.event.job = job;
    record.event.epoch = epoch;
    record.event.number = number;
    record.event.outcome = outcome;
    sink_.post(std::move(record));
  }
  void poll() {
    queue_.list([this, life = std::weak_ptr<int>(life_)](const std::map<int, QueueJob>& jobs) {
      if (life.expired()) return;
      for (auto& [name, wish] : wishes_) {
        if (!wish.over) reconcile(name, wish, jobs);
        note(name, wish);
      }
      signals_.clear();
      queue_.after(kPollEvery, [this, life] {
        if (!life.expired()) poll();
      });
    });
  }
  void reconcile(const std::string& name, Wish& wish, const std::map<int, QueueJob>& jobs) {
    const QueueJob* mine = nullptr;
    for (const auto& [id, job] : jobs) {
      if (job.comment != name || job.twin) continue;
      // Of two that an unheard answer left, the first counts; the other has not begun.
      if (mine != nullptr) {
        queue_.stop(id);
      } else {
        mine = &job;
      }
    }
    if (mine == nullptr) return is_missing(name, wish);
    switch (mine->state) {
      case QueueJob::State::kHeld:
        return wish.stop ? queue_.stop(mine->id) : queue_.place(mine->id);
      case QueueJob::State::kPlaced:
        if (wish.stop) queue_.stop(mine->id);
        return;
      case QueueJob::State::kRunning:
        has_started(wish);
        if (wish.stop) queue_.stop(mine->id);
        if (signals_.contains(wish.uuid)) queue_.signal(mine->id);
        return;
      case QueueJob::State::kEnded:
        return has_ended(wish, mine->code);
    }
  }
  void is_missing(const std::string& name, Wish& wish) {
    if (wish.submitting) return;  // it may still come
    if (wish.stop) return has_ended(wish, 0);
    wish.submitting = true;
    queue_.submit(name, wish.conduct, wish.ranks,
                  [this, name, life = std::weak_ptr<int>(life_)](std::optional<int>) {
                    if (!life.expired()) wishes_[name].submitting = false;
                  });
  }
  void has_started(Wish& wish) {
    if (std::exchange(wish.started, true) || wish.stop) return;
    answer(wish.job, wish.epoch, wish.number, Outcome::kDone);
  }
  void has_ended(Wish& wish, int code) {
    wish.over = true;
    if (wish.stop) return answer(wish.job, wish.epoch, wish.number, Outcome::kDone);
    has_started(wish);
    live::EventRecord record;
    record.event.kind = code == 0 ? EventKind::kFinished : EventKind::kCrashed;
    record.event.job = wish.job;
    record.event.epoch = wish.epoch;
    record.event.number = code == 0 ? 0 : 1;  // of its own doing
    if (code != 0) record.why = fmt::format("exited with {}", code);
    sink_.post(std::move(record));
  }
  void note(const std::string& name, const Wish& wish) {
    EngineRun& run = listed_[name];
    const EngineRun::State state = wish.over      ? EngineRun::State::kGone
                                   : wish.stop    ? EngineRun::State::kStopping
                                   : wish.started ? EngineRun::State::kRunning
                                                  : EngineRun::State::kStarting;
    if (run.changed > 0 && run.state == state) return;
    run = {wish.uuid, wish.epoch, state, ++last_change_};
  }

  PretendedQueue& queue_;
  live::EventSink& sink_;
  std::map<std::string, Wish> wishes_;
  std::map<std::string, EngineRun> listed_;
  std::set<std::string> signals_;
  std::uint64_t last_change_ = 0;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);
};

class QueueWorld : public EngineWorld {
 public:
  explicit QueueWorld(ContractController& controller)
      : controller_(controller), engine_(std::make_unique<QueueEngine>(queue_, controller)) {}

  live::Engine& engine() override { return *engine_; }
  live::JobSpec job(Conduct conduct) override {
    live::JobSpec spec;
    spec.name = "contract";
    spec.run = std::to_string(static_cast<int>(conduct));
    spec.workdir = "/";
    return spec;
  }
  bool until(const std::function<bool()>& holds) override {
    const Seconds deadline = queue_.now() + 120;
    while (!holds()) {
      if (queue_.now() > deadline || !queue_.step()) return false;
    }
    return true;
  }
  int begun(const std::string& uuid, int epoch) override { return queue_.begun[name(uuid, epoch)]; }
  int alive(const std::string& uuid, int epoch) override { return queue_.alive[name(uuid, epoch)]; }
  int signalled(const std::string& uuid, int epoch) override {
    return queue_.signalled[name(uuid, epoch)];
  }
  std::string devices(const std::string&, int) override { return "the queue's choice"; }
  void carry_out_unheard(const KeptCommand& command, const live::JobView& job) override {
    queue_.lose_answer = true;
    engine_->carry_out(command, job);
  }
  // Not before it has taken what was asked last, so that there is something to forget.
  void restart_engine() override {
    const Seconds taken = queue_.now() + 0.4;
    until([&] { return queue_.now() > taken; });
    queue_.fall_over();
  }
  void restart_controller() override {
    engine_.reset();
    engine_ = std::make_unique<QueueEngine>(queue_, controller_);
    const auto lives = [](const live::JobView& job) { return !job.held.empty(); };
    for (const live::JobView& job : controller_.board.jobs(lives)) engine_->adopt(job);
  }

 private:
  static std::string name(const std::string& uuid, int epoch) {
    return fmt::format("{}.{}", uuid, epoch);
  }

  ContractController& controller_;
  PretendedQueue queue_;
  std::unique_ptr<QueueEngine> engine_;
};

}  // namespace

std::unique_ptr<EngineWorld> queue_world(ContractController& controller) {
  return std::make_unique<QueueWorld>(controller);
}

}  // namespace weft

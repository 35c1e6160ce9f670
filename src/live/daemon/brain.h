// The controller on its own thread, between the journal and the world.
//
// Events become durable first and are folded in the order of the journal; what follows from them is
// durable before any of it is carried out. Whoever posts an event waits for the journal alone,
// never for a decision.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "control/controller.h"
#include "live/daemon/board.h"
#include "live/daemon/event_sink.h"
#include "live/store/journal.h"
#include "live/store/records.h"

namespace weft::live {

// Whatever runs jobs. carry_out() is called on the journal's thread and must not wait; a command
// may come more than once.
class Hands {
 public:
  virtual ~Hands() = default;
  virtual void carry_out(const KeptCommand& command, const JobView& job) = 0;
};

struct BrainOptions {
  ControllerOptions controller;
  std::string program = "weft";
  std::string cluster_text, policy_text;  // as TermRecord keeps them
  std::uint64_t image_every = 20'000;     // events
  Seconds keep_s = 30 * 24 * kHour;       // how long records that an image covers stay
  // No thread of its own: whoever made it calls turn(), and may look at controller() between.
  bool by_hand = false;
};

class Brain : public EventSink, private Executor, private weft::Journal {
 public:
  // Requires: everything outlives this.
  Brain(const Cluster& cluster, std::shared_ptr<const Policy> policy, DurableJournal& journal,
        Board& board, Hands& hands, BrainOptions options);
  ~Brain() override;

  // Folds what the journal holds; no policy is called. Call once, before begin().
  Status recover();
  // Takes the term, asks again for what is pending, and starts to decide. The journal has begun.
  void begin();
  // Stops deciding; what is posted afterwards stays in the journal for the next controller. The
  // journal may go afterwards.
  void end();

  // By hand: one round, of everything that was posted and is durable, or, if there is nothing and
  // the controller asked to be woken by now, of a tick; and more until all of post_first() is
  // folded. What follows is durable and carried out when the journal is flushed.
  void turn();
  // What is told here of all that happens from now on; null: nobody.
  void set_listener(weft::Journal* listener) { listener_ = listener; }
  // A copy of the controller's state, and who decides; `then` is called on the controller's thread
  // between two rounds, with nothing in it when that has ended. From any thread.
  struct Snapshot {
    std::string image;
    Seconds at = 0;
    std::shared_ptr<const Policy> policy;
  };
  void ask_snapshot(std::function<void(Snapshot)> then);
  // From now on another policy decides; every job is new to it. Durable before it happens; replay
  // does it at the same event. `text` as TermRecord keeps it. From any thread.
  void change_policy(std::shared_ptr<const Policy> policy, const std::string& text,
                     std::function<void(const Status&)> done);
  std::string policy_name() const;
  const Controller& controller() const { return controller_; }
  Seconds next_wake() { return controller_.next_wake(); }

  void post(EventRecord record, std::function<void(const Status&)> done = nullptr,
            DurableJournal::Weight weight = DurableJournal::Weight::kMustStay) override;
  // As post(); nothing is decided before it is folded.
  void post_first(EventRecord record) {
    ++awaited_;
    append(std::move(record), nullptr, DurableJournal::Weight::kMustStay, true);
  }
  // Only what a decision has looked at is in the journal.
  void report(const Event& progress) override;

  // Called on the controller's thread after each event that was folded live, not in recovery, and
  // before the policy decides; for a job that the policy rejected with a kWithdraw of it. Set
  // before begin().
  void on_event(std::function<void(const EventRecord&)> then) { then_ = std::move(then); }
  // Likewise, when a job is to be stopped and then wait.
  void on_stop(std::function<void(JobId)> then) { stops_ = std::move(then); }

  // For `weft status` and metrics.
  struct Health {
    std::uint64_t decisions = 0;
    Seconds last_s = 0, worst_s = 0;  // of one round: folding, deciding
    std::size_t inbox = 0;
  };
  Health health() const;
  Seconds now() const override { return journal_.now(); }

 private:
  struct Arrived {
    std::uint64_t seq = 0;
    std::shared_ptr<const EventRecord> record;
    std::shared_ptr<const Policy> policy = nullptr;  // in place of an event: it takes over
    bool first = false;                              // of post_first()
  };
  // Executor and Journal of the controller.
  void execute(const Command& command) override;
  void event(const Event& event) override;
  void decision(Seconds at) override;
  void command(Seconds at, const Command& command) override;
  void decided(const Draft& draft) override { step_.decision = decision_of(draft); }
  void rejected(Seconds at, JobId job, const std::string& why) override;

  void append(EventRecord record, std::function<void(const Status&)> done,
              DurableJournal::Weight weight, bool first);
  bool is_possible(const Event& event) const;
  void apply(const Arrived& arrived);
  Status fold_step(const Record& record, std::vector<Arrived>& pending);
  Status restore(const KeptImage& image);
  void think();
  void tick_if_due(std::unique_lock<std::mutex>& lock);
  void take_inbox(std::unique_lock<std::mutex>& lock);
  void give_snapshots(std::unique_lock<std::mutex>& lock);
  void take_over(std::shared_ptr<const Policy> policy);
  void round(std::vector<Arrived> inbox);
  void decide(Seconds now);
  void commit_step();
  void keep(std::shared_ptr<const KeptImage> image);
  void carry_out(const std::vector<KeptCommand>& commands);

  DurableJournal& journal_;
  Board& board_;
  Hands& hands_;
  BrainOptions options_;
  std::shared_ptr<const Policy> policy_;  // shared with copies of the state; changed under mutex_
  Controller controller_;

  // Of the thread that thinks.
  std::function<void(const EventRecord&)> then_;
  std::function<void(JobId)> stops_;
  StepRecord step_;
  bool fresh_ = false;
  std::vector<KeptCommand> outgoing_;  // of the step, and those that are asked again
  weft::Journal* listener_ = nullptr;
  std::vector<JobId> rejected_;  // in this round
  std::uint64_t through_ = 0, since_image_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Arrived> inbox_;
  std::map<JobId, Event> reports_;
  std::vector<std::function<void(Snapshot)>> snapshots_;  // asked for
  bool stop_ = false, tick_posted_ = false, thinks_no_more_ = false;
  Health health_;
  std::atomic<bool> image_under_way_ = false;
  std::atomic<int> awaited_ = 0;  // of post_first() and not yet folded
  std::thread thread_, image_thread_;
};

}  // namespace weft::live

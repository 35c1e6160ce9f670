// Drives the operations of one process. Whoever waits for an operation drives it, so that a small
// one costs no hand-over between threads; a thread of its own goes on with those nobody waits for.
//
// Which slices are under way is decided here: the operation with the least priority number first,
// as many bytes at a time as the credit allows (flow/partition.h), and whatever a peer has begun.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/doorbell.h"
#include "runtime/execution.h"
#include "runtime/record/recorder.h"
#include "runtime/transport.h"

namespace weft::runtime {

// A sleeper looks again after so long in any case.
inline constexpr Seconds kLongRest = 1.0;

struct EngineOptions {
  // How long a driver looks again and again before it sleeps. 0 when ranks exceed cores.
  Seconds spin_s = 50e-6;
  // Times that a driver lets others run before it sleeps, where it does not spin.
  int yields = 0;
  double credit_bytes = 4 << 20;
  // Messages that may wait in the memory of the transports; more are copied out.
  int pinned = 4;
};

// Seconds on a clock that never runs backwards, the same for all engines of a host.
double steady_now();

// What the engine tells of: a message whose bytes reached their cells.
using DeliveryLog = std::function<void(const Header& header, std::uint32_t chunks)>;

// Thread-safety: all of it.
class Engine : private Carrier {
 public:
  // Requires: transports and bell outlive the engine.
  Engine(std::vector<Transport*> transports, Doorbell bell, EngineOptions options);
  ~Engine() override;
  // Ends what is under way with an error. Nothing that was given by on_...() is called any more
  // when this returns, so what they use may go.
  void stop();

  // Begins an operation that a later wait() drives, and the engine's thread if `background`.
  std::shared_ptr<Execution> submit(OperationSpec spec, bool background);
  // Until it has ended or its deadline has passed.
  Status wait(const std::shared_ptr<Execution>& execution);
  // submit() and wait() at once, driven by the caller alone.
  Status run(OperationSpec spec);
  bool done(const std::shared_ptr<Execution>& execution);
  void cancel(const std::shared_ptr<Execution>& execution);

  // From now on operations of this group and epoch fail with `why`, those under way at once.
  void break_group(std::uint32_t group, std::uint32_t epoch, const std::string& why);
  // Messages of older epochs of the group are dropped from now on.
  void begin_epoch(std::uint32_t group, std::uint32_t epoch);
  // Called, without the lock, when an operation ended with an error that others do not know of.
  void on_failure(std::function<void(const OperationKey&, const std::string& why)> tell);
  void on_delivery(DeliveryLog log);
  // Called, without the lock, when an operation is at its alarm.
  void on_late(std::function<void(const OperationSpec&)> late);
  // Called, under the lock, when an operation passed its deadline: who has not entered it, if
  // known.
  void on_explain(std::function<std::string(const OperationSpec&)> explain);
  // Called, under the lock, with what each rank computed until it called an operation that ended;
  // `step` is the one of mark_step() at which it was handed in.
  using OwnTimesSink = std::function<void(const OperationSpec&, std::uint64_t step,
                                          const std::vector<std::uint32_t>& own_us)>;
  void on_own_times(OwnTimesSink sink);
  // The next step begins. Steps are numbered from 1.
  void mark_step();
  void mark(EventKind kind);
  const Recorder& recorder() const { return recorder_; }
  void forget_recorded() { recorder_.forget(); }
  // Goes on with other transports; what is under way fails.
  void replace(std::vector<Transport*> transports, const EngineOptions& options);
  // All groups of this epoch.
  void break_all(std::uint32_t epoch, const std::string& why);
  // Why the group is broken; empty: it is not.
  std::string broken(std::uint32_t group) const;
  // The most that one message may carry to any member.
  std::size_t max_message() const;

 private:
  struct Stashed {
    OperationKey key;
    std::vector<Parcel> parcels;
  };
  struct GroupState {
    std::uint32_t group = 0, epoch = 0;
    bool broken = false;
    std::string why;
  };

  std::size_t together(std::span<const MemberId> to) const override;
  Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) override;
  void post(std::byte* room, std::span<const MemberId> to, const Header& header) override;
  void compared(const OperationSpec& spec) override;
  void delivered(const Header& header, std::uint32_t chunks) override;

  Transport* transport_to(MemberId member) const;
  bool step();
  void dispatch(Parcel parcel);
  void start_slices();
  void collect_ended(std::unique_lock<std::mutex>& lock);
  void drive(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough);
  void rest(std::unique_lock<std::mutex>& lock, double until);
  Status wait(const std::shared_ptr<Execution>& execution, std::int64_t since_ns);
  void begin_wait(const OperationSpec& spec, std::int64_t now_ns);
  void end_wait(const OperationSpec& spec, std::int64_t now_ns);
  void note_submitted(Execution& execution);
  void note_ended(Execution& execution);
  void tell(std::unique_lock<std::mutex>& lock);
  void check_deadlines(double now);
  double next_deadline() const;
  GroupState& state_of(std::uint32_t group);
  std::shared_ptr<Execution> execution_for(OperationSpec spec);  // Requires: the lock is held.
  void want_background();                                        // Requires: the lock is held.
  void background();

  std::vector<Transport*> transports_;
  Doorbell bell_;
  EngineOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;   // something ended, or the driver stopped
  std::condition_variable wanted_;  // the background thread has something to drive
  bool driving_ = false, stopping_ = false;
  int waiters_ = 0;
  std::shared_ptr<Execution> idle_;                 // the last that run() ended, for the next
  std::vector<std::shared_ptr<Execution>> active_;  // in order of priority, then submission
  std::vector<Stashed> stash_;
  std::vector<GroupState> groups_;
  std::vector<std::shared_ptr<Execution>> failures_;  // to be told of
  std::function<void(const OperationKey&, const std::string&)> tell_;
  std::vector<std::shared_ptr<Execution>> late_;  // to be asked about
  std::function<void(const OperationSpec&)> on_late_;
  std::function<std::string(const OperationSpec&)> explain_;
  OwnTimesSink own_times_;
  Recorder recorder_;
  std::int64_t began_ns_ = 0, wait_since_ns_ = 0, waited_ns_ = 0;
  int waits_ = 0;                         // threads in wait()
  std::atomic<std::uint64_t> steps_ = 0;  // that the user marked
  DeliveryLog log_;
  bool background_wanted_ = false;
  int pinned_ = 0;
  Transport* reserved_ = nullptr;  // by whom the last room was given
  std::thread thread_;
};

}  // namespace weft::runtime

#include "live/daemon/brain.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"

namespace weft::live {
namespace {

constexpr Seconds kLongestSleep = 3600;

bool is_about_job(EventKind kind) {
  switch (kind) {
    case EventKind::kWithdraw:
    case EventKind::kOutcome:
    case EventKind::kFinished:
    case EventKind::kCrashed:
    case EventKind::kProgress:
    case EventKind::kLoad:
    case EventKind::kRelease:
    case EventKind::kEvict:
    case EventKind::kLost:
    case EventKind::kHoldBack:
    case EventKind::kHold:
      return true;
    default:
      return false;
  }
}

bool is_about_node(EventKind kind) {
  return kind == EventKind::kNodeDown || kind == EventKind::kNodeUp ||
         kind == EventKind::kNodeNotice || kind == EventKind::kClose;
}

}  // namespace

Brain::Brain(const Cluster& cluster, std::shared_ptr<const Policy> policy, DurableJournal& journal,
             Board& board, Hands& hands, BrainOptions options)
    : journal_(journal),
      board_(board),
      hands_(hands),
      options_(std::move(options)),
      policy_(std::move(policy)),
      controller_(cluster, *policy_, *this, options_.controller, this) {}

Brain::~Brain() { end(); }

void Brain::execute(const Command& command) {
  // One that was just decided is on its way into the step's record; another is asked again.
  if (!std::exchange(fresh_, false)) outgoing_.push_back(kept(command));
}

void Brain::event(const Event& event) {
  if (listener_ != nullptr) listener_->event(event);
}

void Brain::decision(Seconds at) {
  if (listener_ != nullptr) listener_->decision(at);
}

void Brain::command(Seconds at, const Command& command) {
  step_.commands.push_back(kept(command));
  outgoing_.push_back(step_.commands.back());
  fresh_ = true;
  board_.command(at, command);
  if (listener_ != nullptr) listener_->command(at, command);
}

void Brain::rejected(Seconds at, JobId job, const std::string& why) {
  board_.rejected(at, job, why);
  rejected_.push_back(job);
  if (listener_ != nullptr) listener_->rejected(at, job, why);
}

bool Brain::is_possible(const Event& event) const {
  const Cluster& cluster = controller_.state().cluster();
  if (is_about_job(event.kind) && event.job >= controller_.state().jobs.size()) return false;
  const bool names_node = is_about_node(event.kind) || event.node != kNoNode;
  if (names_node && event.node >= cluster.nodes.size()) return false;
  if (event.device == kNoDevice) return true;
  return event.device < cluster.device_count() && cluster.node_of(event.device) == event.node;
}

void Brain::apply(const Arrived& arrived) {
  through_ = arrived.seq;
  if (arrived.policy != nullptr) return take_over(arrived.policy);
  if (!is_possible(arrived.record->event)) return;
  board_.tell(*arrived.record);
  controller_.handle(arrived.record->event);
}

Status Brain::restore(const KeptImage& image) {
  std::string board, controller;
  ArchiveReader reader(image.bytes);
  reader(board, controller);
  if (!reader.at_end() || !board_.restore(board)) {
    return Error{ErrorKind::kInvalidInput, "the image beside the journal is of no known form",
                 "remove it: the journal is folded from its beginning if it still has it"};
  }
  through_ = image.seq;
  return controller_.restore(controller);
}

Status Brain::fold_step(const Record& record, std::vector<Arrived>& pending) {
  auto kept_step = from_bytes<StepRecord>(record.body);
  const auto misfit = [&](const char* what) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("record {} of the journal {}", record.seq, what),
                 "it was written by another program, or a part of it is missing"};
  };
  if (!kept_step) return misfit("is no step that this program knows");
  if (kept_step->through <= through_) return {};  // the image shows it
  step_ = {};
  outgoing_.clear();
  std::size_t taken = 0;
  while (taken < pending.size() && pending[taken].seq <= kept_step->through) {
    apply(pending[taken++]);
  }
  pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(taken));
  if (controller_.state().now != kept_step->at) return misfit("follows from other events");
  for (const Event& report : kept_step->reports) {
    if (is_possible(report)) controller_.handle(report);
  }
  if (kept_step->decision) {
    const Status folded = controller_.fold(controller_.state().now, *kept_step->decision);
    if (!folded.ok()) return misfit(folded.error().what.c_str());
  }
  return step_.commands == kept_step->commands ? Status()
                                               : misfit("holds other commands than follow from it");
}

Status Brain::recover() {
  if (const auto image = journal_.newest_image()) {
    const Status restored = restore(*image);
    if (!restored.ok()) return restored;
  }
  std::vector<Arrived> pending;
  const Status read = journal_.read(through_, [&](const Record& record) -> Status {
    const auto broken = [&](const char* what) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("record {} of the journal is {}", record.seq, what), ""};
    };
    switch (record.kind) {
      case RecordKind::kNothing:
      case RecordKind::kNote:
        return {};
      case RecordKind::kEvent: {
        auto event = from_bytes<EventRecord>(record.body);
        if (!event) return broken("no event that this program knows");
        if (event->event.kind == EventKind::kSubmit) board_.admit(*event);
        pending.push_back({record.seq, std::make_shared<const EventRecord>(std::move(*event))});
        return {};
      }
      case RecordKind::kStep:
        return fold_step(record, pending);
      case RecordKind::kTerm: {
        const auto term = from_bytes<TermRecord>(record.body);
        if (!term) return broken("no term that this program knows");
        if (term->cluster != options_.cluster_text) {
          return Error{ErrorKind::kInvalidInput,
                       fmt::format("the journal is of the cluster '{}', not '{}'", term->cluster,
                                   options_.cluster_text),
                       "give another --store for another cluster"};
        }
        return {};
      }
    }
    return broken("of an unknown kind");
  });
  inbox_ = std::move(pending);
  outgoing_.clear();
  step_ = {};
  return read;
}

void Brain::begin() {
  journal_.append(RecordKind::kTerm, [&](Seconds) {
    return to_bytes(
        TermRecord{journal_.term(), options_.program, options_.cluster_text, options_.policy_text});
  });
  controller_.take_policy(*policy_);
  controller_.ask_again();
  tick_posted_ = true;
  post({});  // a tick: whatever the journal left open is decided now
  if (!options_.by_hand) thread_ = std::thread([this] { think(); });
}

void Brain::end() {
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  {
    std::unique_lock lock(mutex_);
    thinks_no_more_ = true;
    give_snapshots(lock);
  }
  // Steps under way may still want to keep an image.
  static_cast<void>(journal_.flush(5));
  if (image_thread_.joinable()) image_thread_.join();
}

void Brain::post(EventRecord record, std::function<void(const Status&)> done,
                 DurableJournal::Weight weight) {
  append(std::move(record), std::move(done), weight, false);
}

void Brain::append(EventRecord record, std::function<void(const Status&)> done,
                   DurableJournal::Weight weight, bool first) {
  const auto shared = std::make_shared<EventRecord>(std::move(record));
  journal_.append(
      RecordKind::kEvent,
      [&](Seconds at) {
        shared->event.at = at;
        return to_bytes(*shared);
      },
      [this, shared, first, done = std::move(done)](const Status& status, std::uint64_t seq) {
        if (status.ok()) {
          if (shared->event.kind == EventKind::kSubmit) board_.admit(*shared);
          {
            const std::lock_guard lock(mutex_);
            inbox_.push_back({seq, shared, nullptr, first});
          }
          wake_.notify_one();
        } else if (first) {
          --awaited_;
        }
        if (done) done(status);
      },
      weight);
}

void Brain::report(const Event& progress) {
  const std::lock_guard lock(mutex_);
  reports_[progress.job] = progress;
}

Brain::Health Brain::health() const {
  const std::lock_guard lock(mutex_);
  Health health = health_;
  health.inbox = inbox_.size();
  return health;
}

void Brain::tick_if_due(std::unique_lock<std::mutex>& lock) {
  if (!inbox_.empty() || tick_posted_ || controller_.next_wake() > journal_.now()) return;
  tick_posted_ = true;
  lock.unlock();
  post({});  // a tick
  lock.lock();
}

void Brain::take_inbox(std::unique_lock<std::mutex>& lock) {
  std::vector<Arrived> inbox;
  inbox.swap(inbox_);
  for (const Arrived& arrived : inbox) {
    const bool tick = arrived.policy == nullptr && arrived.record->event.kind == EventKind::kTick;
    if (tick) tick_posted_ = false;
  }
  lock.unlock();
  const std::int64_t before = monotonic_ns();
  round(std::move(inbox));
  const Seconds took = static_cast<double>(monotonic_ns() - before) * 1e-9;
  lock.lock();
  health_.decisions = static_cast<std::uint64_t>(controller_.decisions());
  health_.last_s = took;
  health_.worst_s = std::max(health_.worst_s, took);
}

void Brain::think() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    tick_if_due(lock);
    const Seconds sleep =
        std::clamp(controller_.next_wake() - journal_.now(), 0.0005, kLongestSleep);
    wake_.wait_for(lock, std::chrono::duration<double>(tick_posted_ ? kLongestSleep : sleep),
                   [&] { return stop_ || !inbox_.empty() || !snapshots_.empty(); });
    if (!stop_ && !inbox_.empty()) take_inbox(lock);
    if (!stop_) give_snapshots(lock);
  }
}

void Brain::turn() {
  constexpr Seconds kPatience = 60;  // of a journal that can write no more nothing comes
  static_cast<void>(journal_.flush(kPatience));
  std::unique_lock lock(mutex_);
  tick_if_due(lock);
  if (inbox_.empty() && tick_posted_) {
    lock.unlock();
    static_cast<void>(journal_.flush(kPatience));
    lock.lock();
  }
  if (!inbox_.empty()) take_inbox(lock);
  while (awaited_ > 0) {
    lock.unlock();
    const bool flushed = journal_.flush(kPatience);
    lock.lock();
    if (!flushed || inbox_.empty()) break;
    take_inbox(lock);
  }
  give_snapshots(lock);
}

void Brain::round(std::vector<Arrived> inbox) {
  step_ = {};
  rejected_.clear();
  for (const Arrived& arrived : inbox) {
    apply(arrived);
    if (arrived.first) --awaited_;
  }
  if (then_) {
    for (const Arrived& arrived : inbox) {
      if (arrived.record != nullptr) then_(*arrived.record);
    }
  }
  const Seconds now = controller_.state().now;
  if (awaited_ == 0 && controller_.is_due(now)) decide(now);
  since_image_ += inbox.size();
  commit_step();
}

void Brain::decide(Seconds now) {
  std::map<JobId, Event> reports;
  {
    const std::lock_guard lock(mutex_);
    reports.swap(reports_);
  }
  for (auto& [job, report] : reports) {
    report.at = now;
    if (!is_possible(report)) continue;
    controller_.handle(report);
    step_.reports.push_back(report);
  }
  controller_.decide(now);
  for (const KeptCommand& command : step_.commands) {
    const bool waits = controller_.state().job(command.job).phase == Phase::kWaiting;
    if (stops_ && waits && command.kind == CommandKind::kStop) stops_(command.job);
  }
  for (const JobId job : rejected_) {
    EventRecord record;
    record.event.kind = EventKind::kWithdraw;
    record.event.job = job;
    if (then_) then_(record);
  }
}

void Brain::commit_step() {
  if (!step_.decision && step_.commands.empty()) return carry_out(std::exchange(outgoing_, {}));
  step_.through = through_;
  step_.at = controller_.state().now;
  const auto commands = std::make_shared<std::vector<KeptCommand>>(std::exchange(outgoing_, {}));
  std::shared_ptr<const KeptImage> image;
  if (since_image_ >= options_.image_every && !image_under_way_.exchange(true)) {
    since_image_ = 0;
    ArchiveWriter writer;
    writer(board_.image(), controller_.image());
    image = std::make_shared<const KeptImage>(KeptImage{through_, writer.take()});
  }
  journal_.append(
      RecordKind::kStep, [&](Seconds) { return to_bytes(step_); },
      [this, commands, image](const Status& status, std::uint64_t) {
        if (!status.ok()) return;
        carry_out(*commands);
        if (image != nullptr) keep(image);  // what it shows is on the disk now
      });
  step_ = {};
}

void Brain::keep(std::shared_ptr<const KeptImage> image) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;  // nobody would wait for its end
  if (image_thread_.joinable()) image_thread_.join();
  image_thread_ = std::thread([this, image = std::move(image)] {
    if (journal_.keep_image(image->seq, image->bytes).ok()) {
      static_cast<void>(journal_.trim(options_.keep_s));
    }
    image_under_way_ = false;
  });
}

void Brain::carry_out(const std::vector<KeptCommand>& commands) {
  for (const KeptCommand& command : commands) {
    if (const auto job = board_.at(command.job)) hands_.carry_out(command, *job);
  }
}

}  // namespace weft::live

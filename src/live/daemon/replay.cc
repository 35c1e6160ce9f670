#include "live/daemon/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/files.h"
#include "control/controller.h"
#include "live/daemon/recorded.h"
#include "live/store/records.h"

namespace weft::live {
namespace {

Error unreadable(std::uint64_t seq, const char* what) {
  return {ErrorKind::kInvalidInput,
          fmt::format("record {} is no {} that this program knows", seq, what), ""};
}

std::string shown(const KeptCommand& c) {
  constexpr const char* kNames[] = {"nothing", "start", "stop", "resize"};
  std::string devices;
  for (const DeviceShare& share : c.allocation.devices) {
    devices += fmt::format("{}{}", devices.empty() ? " on " : ",", share.device);
  }
  return fmt::format("{} job {} (epoch {}, number {}){}", kNames[static_cast<int>(c.kind)], c.job,
                     c.epoch, c.number, devices);
}

class Replayer : private Executor, private weft::Journal {
 public:
  Status take(const Record& record) {
    if (!report.same()) return {};
    switch (record.kind) {
      case RecordKind::kNothing:
      case RecordKind::kNote:
        return {};
      case RecordKind::kTerm:
        return begin_term(record);
      case RecordKind::kEvent: {
        auto event = from_bytes<EventRecord>(record.body);
        if (!event) return unreadable(record.seq, "event");
        if (event->event.at != record.at) differ(record.seq, "its time was changed");
        pending_.push_back({record.seq, std::move(event->event), nullptr});
        return {};
      }
      case RecordKind::kStep:
        return step(record);
    }
    return unreadable(record.seq, "kind");
  }

  ReplayReport report;

 private:
  struct Pending {
    std::uint64_t seq = 0;
    Event event;
    std::unique_ptr<Policy> policy = nullptr;  // in place of an event: it takes over
  };

  void execute(const Command&) override {}
  void command(Seconds, const Command& c) override { sent_.push_back(kept(c)); }
  void decided(const Draft& draft) override { decision_ = decision_of(draft); }

  Status begin_term(const Record& record) {
    const auto term = from_bytes<TermRecord>(record.body);
    if (!term) return unreadable(record.seq, "term");
    auto policy = policy_of_text(term->policy);
    if (!policy.ok()) return policy.error();
    if (term->term == last_term_) {  // it goes on, under another policy
      pending_.push_back({record.seq, {}, std::move(*policy)});
      return {};
    }
    last_term_ = term->term;
    if (controller_ == nullptr) {
      auto cluster = cluster_of_text(term->cluster);
      if (!cluster.ok()) return cluster.error();
      cluster_ = std::move(*cluster);
      Executor& no_one = *this;
      weft::Journal* listener = this;
      controller_ =
          std::make_unique<Controller>(cluster_, **policy, no_one, ControllerOptions{}, listener);
    }
    controller_->take_policy(**policy);
    policy_ = std::move(*policy);
    ++report.terms;
    return {};
  }

  bool is_possible(const Event& e) const {
    if (e.node != kNoNode && e.node >= cluster_.nodes.size()) return false;
    if (e.device != kNoDevice && e.device >= cluster_.device_count()) return false;
    return e.job == kNoJob || e.job < controller_->state().jobs.size();
  }

  // False: time would run backwards.
  bool tell(const Event& event) {
    if (event.at < controller_->state().now) return false;
    if (is_possible(event)) controller_->handle(event);
    return true;
  }

  void differ(std::uint64_t seq, std::string how) {
    report.differs_at = seq;
    report.how = std::move(how);
  }

  Status step(const Record& record) {
    const auto recorded = from_bytes<StepRecord>(record.body);
    if (!recorded) return unreadable(record.seq, "step");
    if (controller_ == nullptr) {
      return Error{ErrorKind::kInvalidInput, "the journal does not begin with a term", ""};
    }
    sent_.clear();
    decision_.reset();
    std::size_t taken = 0;
    for (; taken < pending_.size() && pending_[taken].seq <= recorded->through; ++taken) {
      if (auto& policy = pending_[taken].policy; policy != nullptr) {
        controller_->take_policy(*policy);
        policy_ = std::move(policy);
        continue;
      }
      if (!tell(pending_[taken].event)) {
        differ(pending_[taken].seq, "its time is before that of the event before it");
        return {};
      }
      ++report.events;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
    if (controller_->state().now != recorded->at) {
      differ(record.seq, fmt::format("recorded at {:.9f} s, its events end at {:.9f} s",
                                     recorded->at, controller_->state().now));
      return {};
    }
    for (const Event& event : recorded->reports) {
      if (!tell(event)) {
        differ(record.seq, "a report's time is before that of the last event");
        return {};
      }
    }
    controller_->decide(controller_->state().now);
    ++report.steps;
    report.decisions += decision_.has_value();
    report.commands += sent_.size();
    compare(record.seq, *recorded);
    return {};
  }

  void compare(std::uint64_t seq, const StepRecord& recorded) {
    for (std::size_t i = 0; i < std::max(sent_.size(), recorded.commands.size()); ++i) {
      const std::string now = i < sent_.size() ? shown(sent_[i]) : "nothing more";
      const std::string then =
          i < recorded.commands.size() ? shown(recorded.commands[i]) : "nothing more";
      if (i < sent_.size() && i < recorded.commands.size() && sent_[i] == recorded.commands[i]) {
        continue;
      }
      return differ(seq, fmt::format("recorded: {}; now: {}{}", then, now,
                                     now == then ? " with other shares or another deadline" : ""));
    }
    if (decision_ != recorded.decision) differ(seq, "the same commands, but another decision");
  }

  Cluster cluster_;
  std::uint64_t last_term_ = 0;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Controller> controller_;
  std::vector<Pending> pending_;
  std::vector<KeptCommand> sent_;
  std::optional<Decision> decision_;
};

}  // namespace

Result<ReplayReport> replay(const std::string& folder) {
  const std::string path = path_in(folder, "journal.db");
  if (!is_file(path)) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: there is no journal", folder),
                 "name the daemon's --store"};
  }
  auto database = Database::open(path, Database::Mode::kReadOnly);
  if (!database.ok()) return database.error();
  Replayer replayer;
  const Status read = read_records(**database, folder, 0,
                                   [&](const Record& record) { return replayer.take(record); });
  if (!read.ok()) return read.error();
  return replayer.report;
}

}  // namespace weft::live

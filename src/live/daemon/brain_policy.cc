// Who decides, and copies of the state for those who want to know what would be decided.
#include <utility>

#include "live/daemon/brain.h"

namespace weft::live {

void Brain::give_snapshots(std::unique_lock<std::mutex>& lock) {
  if (snapshots_.empty()) return;
  std::vector<std::function<void(Snapshot)>> asked;
  asked.swap(snapshots_);
  Snapshot taken{"", 0, policy_};
  const bool over = thinks_no_more_;
  lock.unlock();
  if (!over) {
    taken.image = controller_.image();
    taken.at = controller_.state().now;
  }
  for (const auto& then : asked) then(taken);
  lock.lock();
}

void Brain::ask_snapshot(std::function<void(Snapshot)> then) {
  std::unique_lock lock(mutex_);
  snapshots_.push_back(std::move(then));
  if (thinks_no_more_) return give_snapshots(lock);
  lock.unlock();
  wake_.notify_one();
}

void Brain::change_policy(std::shared_ptr<const Policy> policy, const std::string& text,
                          std::function<void(const Status&)> done) {
  journal_.append(
      RecordKind::kTerm,
      [&](Seconds) {
        return to_bytes(TermRecord{journal_.term(), options_.program, options_.cluster_text, text});
      },
      [this, policy = std::move(policy), done = std::move(done)](const Status& status,
                                                                 std::uint64_t seq) {
        if (status.ok()) {
          const std::lock_guard lock(mutex_);
          inbox_.push_back({seq, std::make_shared<const EventRecord>(), policy});
        }
        if (done) done(status);
      },
      DurableJournal::Weight::kMayFail);
  post({});  // a tick, so that it decides about this moment
}

void Brain::take_over(std::shared_ptr<const Policy> policy) {
  controller_.take_policy(*policy);
  const std::lock_guard lock(mutex_);
  policy_.swap(policy);  // the old one may go: nothing of it is left
}

std::string Brain::policy_name() const {
  const std::lock_guard lock(mutex_);
  return policy_->name();
}

}  // namespace weft::live

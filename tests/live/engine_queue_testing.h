// A pretended batch system in virtual time, with Slurm's latencies as they were measured (22.05,
// four nodes): submitting takes 4.5 ms (up to 58), placing a held job 7 ms and 0.07 to 0.45 s until
// it runs, a stop 0.44 to 0.55 s with 100 ms of grace, a list 26 ms. Killed, its controller forgets
// what it took in the last two seconds, and gives those numbers to the next.
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/live/engine_testing.h"

namespace weft {

struct QueueJob {
  enum class State { kHeld, kPlaced, kRunning, kEnded };
  int id = 0;
  std::string comment;  // uuid.epoch, by which its owner knows it
  Conduct conduct = Conduct::kStays;
  int ranks = 1;
  State state = State::kHeld;
  int code = 0;
  bool stopping = false, twin = false;  // twin: another had claimed its run
  Seconds submitted = 0;
};

class PretendedQueue {
 public:
  Seconds now() const { return now_; }
  void after(Seconds delay, std::function<void()> then) {
    agenda_.emplace(now_ + delay, std::move(then));
  }
  // Does what comes next; false if nothing does.
  bool step() {
    if (agenda_.empty()) return false;
    auto next = agenda_.extract(agenda_.begin());
    now_ = next.key();
    next.mapped()();
    return true;
  }

  // Calls, as libslurm has them. A reply of nothing: no answer came, whatever was done.
  void submit(const std::string& comment, Conduct conduct, int ranks,
              std::function<void(std::optional<int>)> reply) {
    const bool unheard = std::exchange(lose_answer, false);
    after(draw(0.0045, 0.058), [=, this] {
      QueueJob job;
      job.id = next_id_++;
      job.comment = comment;
      job.conduct = conduct;
      job.ranks = ranks;
      job.submitted = now_;
      jobs_[job.id] = job;
      after(unheard ? kCallTimeout : 0,
            [=] { reply(unheard ? std::nullopt : std::optional(job.id)); });
    });
  }
  void place(int id) {
    after(0.007, [=, this] {
      QueueJob* job = find(id, QueueJob::State::kHeld);
      if (job == nullptr) return;
      job->state = QueueJob::State::kPlaced;
      after(draw(0.07, 0.45), [=, this, comment = job->comment] { begin(id, comment); });
    });
  }
  void signal(int id) {
    after(0.007, [=, this] {
      if (QueueJob* job = find(id, QueueJob::State::kRunning)) signalled[job->comment] = job->ranks;
    });
  }
  void stop(int id) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || std::exchange(job->second.stopping, true)) return;
    const bool runs = job->second.state == QueueJob::State::kRunning;
    after(runs ? draw(0.44, 0.55) : 0.007,
          [=, this, comment = job->second.comment] { end(id, comment, 143); });
  }
  void list(std::function<void(const std::map<int, QueueJob>&)> reply) {
    after(0.026, [=, this] { reply(jobs_); });
  }

  // Its controller is killed and comes back.
  void fall_over() {
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      const QueueJob& job = at->second;
      const bool forgets = job.state != QueueJob::State::kRunning && now_ - job.submitted < 2;
      if (forgets) next_id_ = std::min(next_id_, job.id);
      at = forgets ? jobs_.erase(at) : std::next(at);
    }
    while (jobs_.contains(next_id_)) ++next_id_;
  }

  bool lose_answer = false;
  std::map<std::string, int> begun, alive, signalled;  // ranks, by comment

 private:
  static constexpr Seconds kCallTimeout = 1;

  Seconds draw(Seconds least, Seconds most) { return least + (most - least) * random_.uniform(); }
  QueueJob* find(int id, QueueJob::State state) {
    const auto job = jobs_.find(id);
    return job != jobs_.end() && job->second.state == state ? &job->second : nullptr;
  }
  // The launcher on the node: it claims the run before the user's command.
  void begin(int id, const std::string& comment) {
    QueueJob* job = find(id, QueueJob::State::kPlaced);
    if (job == nullptr || job->comment != comment || job->stopping) return;
    job->state = QueueJob::State::kRunning;
    if (!claims_.insert(comment).second) {
      job->twin = true;
      job->state = QueueJob::State::kEnded;
      return;
    }
    begun[comment] += job->ranks;
    alive[comment] = job->ranks;
    if (job->conduct == Conduct::kEnds) after(0.3, [=, this] { end(id, comment, 0); });
    if (job->conduct == Conduct::kFails) after(0.3, [=, this] { end(id, comment, 3); });
  }
  void end(int id, const std::string& comment, int code) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.comment != comment) return;
    if (job->second.state == QueueJob::State::kRunning) alive[comment] = 0;
    job->second.state = QueueJob::State::kEnded;
    job->second.code = code;
  }

  Seconds now_ = 0;
  std::multimap<Seconds, std::function<void()>> agenda_;
  Random random_{7};
  std::map<int, QueueJob> jobs_;
  std::set<std::string> claims_;
  int next_id_ = 1;
};

}  // namespace weft

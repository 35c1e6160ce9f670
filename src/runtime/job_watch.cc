// The part of Job that watches: who is slow, who is missing, and what is saved of it.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "base/files.h"
#include "base/stopwatch.h"
#include "runtime/job.h"
#include "runtime/record/stacks.h"

namespace weft::runtime {
namespace {

constexpr Seconds kAnswerWait = 0.3;  // for members to say how far they are
constexpr Seconds kStacksWait = 0.2;  // for threads to write their stacks down

}  // namespace

void Job::watch_engine() {
  engine_->on_failure([this](const OperationKey& key, const std::string& why) {
    mesh_->tell({key.group, key.epoch, why});
    record_failure();
  });
  engine_->on_late([this](const OperationSpec& spec) { late(spec); });
  engine_->on_explain([this](const OperationSpec& spec) { return missing_.in_words(spec); });
  engine_->on_own_times([this](const OperationSpec& spec, std::uint64_t step,
                               const std::vector<std::uint32_t>& own_us) {
    if (spec.call.operation != Operation::kPoint) take_own_times(spec, step, own_us);
  });
  if (!options_.log_dir.empty()) prepare_stacks();
}

std::string Job::stacks_path() const {
  if (options_.log_dir.empty()) return "";
  return path_in(options_.log_dir, fmt::format("stacks-rank{}.txt", options_.rank));
}

void Job::late(const OperationSpec& spec) {
  // A message from point to point is numbered by its pair; waited_for() names the peer.
  if (spec.call.operation != Operation::kPoint) mesh_->ask_progress(missing_.ask(spec));
  const std::string path = stacks_path();
  if (path.empty()) return;
  errands_->add([this, spec, path] {
    missing_.await(spec, kAnswerWait);
    const std::string who = missing_.in_words(spec);
    const double since_s = 1e-9 * static_cast<double>(monotonic_ns() - spec.submitted_ns);
    // A folder that is gone must not end the job; the error of the operation comes all the same.
    (void)save_stacks(path,
                      fmt::format("rank {} is in {} number {} of stream {} for {:.1f} s{}{}",
                                  spec.rank, describe(spec.call), spec.key.sequence,
                                  spec.key.stream, since_s, who.empty() ? "" : ": ", who),
                      kStacksWait);
  });
}

Progress Job::progress(MemberId from, const Progress& question) {
  Progress answer{true, question.group, question.epoch, {}};
  bool save = !options_.log_dir.empty();
  {
    const std::lock_guard lock(mutex_);
    if (view_.epoch() != question.epoch) return answer;
    for (const auto& [key, next] : sequences_) {
      if (key.first == question.group) answer.streams.emplace_back(key.second, next);
    }
    // Every rank that waits asks; once is enough.
    for (const auto& operation : question.streams) save = asked_.insert(operation).second && save;
  }
  if (!save || question.streams.empty()) return answer;
  errands_->add([path = stacks_path(), from, operation = question.streams[0]] {
    (void)save_stacks(path,
                      fmt::format("member {} waits in operation number {} of stream {} and asked",
                                  from, operation.second, operation.first),
                      kStacksWait);
  });
  return answer;
}

void Job::take_own_times(const OperationSpec& spec, std::uint64_t step,
                         const std::vector<std::uint32_t>& own_us) {
  const std::lock_guard lock(times_mutex_);
  auto place = times_.find(spec.key.group);
  if (place == times_.end() || place->second.epoch != spec.key.epoch) {
    place =
        times_
            .insert_or_assign(spec.key.group,
                              GroupTimes{spec.key.epoch, OwnTimes(static_cast<int>(own_us.size()))})
            .first;
  }
  place->second.times.take(step, own_us);
}

void Job::begin_watch() {
  engine_->forget_recorded();
  const std::lock_guard lock(times_mutex_);
  times_.clear();
}

std::vector<SlowRank> Job::slow_ranks(std::uint32_t group) const {
  const std::lock_guard lock(times_mutex_);
  const auto found = times_.find(group);
  if (found == times_.end()) return {};
  return found->second.times.watch().slow();
}

Recording Job::recording() const {
  Recording recording;
  const View now = view();
  recording.rank = static_cast<std::uint32_t>(std::max(0, now.rank_of(options_.member)));
  recording.ranks = std::max(recording.rank + 1, static_cast<std::uint32_t>(now.members.size()));
  recording.member = options_.member;
  recording.job = options_.job;
  recording.recorded = engine_->recorder().recorded();
  recording.events = engine_->recorder().events();
  timespec day{};
  clock_gettime(CLOCK_REALTIME, &day);
  recording.clock_offset_ns =
      std::int64_t{day.tv_sec} * 1'000'000'000 + day.tv_nsec - monotonic_ns();
  return recording;
}

// Does not hold up the thread that noticed.
void Job::record_failure() {
  if (options_.record.empty()) return;
  errands_->add([path = recording_path(), recorded = recording()] {
    (void)write_file_atomically(path, encode(recorded));
  });
}

std::string Job::recording_path() const {
  return fmt::format("{}.rank{}", options_.record, options_.rank);
}

void Job::save_recording() const {
  if (options_.record.empty()) return;
  // A full disk must not end the job.
  (void)write_file_atomically(recording_path(), encode(recording()));
}

}  // namespace weft::runtime

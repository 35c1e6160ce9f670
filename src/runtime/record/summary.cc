#include "runtime/record/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft::runtime {
namespace {

using EventKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
EventKey event_key(const Event& event) {
  return {event.group, event.epoch, event.stream, event.sequence};
}

// How long something of a kind was going on: the union of intervals.
class Busy {
 public:
  void begin(std::int64_t now_ns) {
    if (depth_++ == 0) since_ns_ = now_ns;
  }
  void end(std::int64_t now_ns) {
    if (depth_ > 0 && --depth_ == 0) total_ns_ += std::max<std::int64_t>(0, now_ns - since_ns_);
  }
  std::int64_t total_ns(std::int64_t now_ns) const {
    return total_ns_ + (depth_ > 0 ? std::max<std::int64_t>(0, now_ns - since_ns_) : 0);
  }

 private:
  int depth_ = 0;
  std::int64_t since_ns_ = 0, total_ns_ = 0;
};

// A thread takes its time before it records it, so neighbours may be swapped.
std::vector<Event> by_time(const Recording& recording) {
  std::vector<Event> events = recording.events;
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

struct Told {
  RankSummary summary;
  std::map<std::uint32_t, Seconds> compute_of_step;
};

// Turns the difference of two times, which a file may make as large as it likes, into seconds.
Seconds seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return 1e-9 * (static_cast<double>(to_ns) - static_cast<double>(from_ns));
}

Told tell(const Recording& recording) {
  Told told;
  RankSummary& sum = told.summary;
  sum.rank = recording.rank;
  sum.member = recording.member;
  sum.events = recording.events.size();
  sum.lost = recording.recorded - recording.events.size();
  const std::vector<Event> events = by_time(recording);
  if (events.empty()) return told;
  Busy waits, operations;
  std::set<EventKey> open;
  const Event* step = nullptr;
  std::int64_t waited_before_ns = 0;
  for (const Event& event : events) {
    const std::int64_t now_ns = event.time_ns;
    switch (event.kind) {
      case EventKind::kStep:
        ++sum.steps;
        if (step != nullptr) {
          const std::int64_t waited_ns = waits.total_ns(now_ns) - waited_before_ns;
          told.compute_of_step[step->sequence] = std::max(
              0.0, seconds_between(step->time_ns, now_ns) - 1e-9 * static_cast<double>(waited_ns));
        }
        step = &event;
        waited_before_ns = waits.total_ns(now_ns);
        break;
      case EventKind::kSubmitted:
        ++sum.operations;
        sum.bytes += event.bytes;
        if (open.insert(event_key(event)).second) operations.begin(now_ns);
        break;
      case EventKind::kEnded:
      case EventKind::kFailed:
        sum.failed += event.kind == EventKind::kFailed ? 1 : 0;
        if (open.erase(event_key(event)) > 0) operations.end(now_ns);
        break;
      case EventKind::kWaitBegin:
        waits.begin(now_ns);
        break;
      case EventKind::kWaitEnd:
        waits.end(now_ns);
        break;
      case EventKind::kComputeBegin:
      case EventKind::kComputeEnd:
      case EventKind::kBegun:
        break;
    }
  }
  const std::int64_t last_ns = events.back().time_ns;
  sum.span_s = seconds_between(events.front().time_ns, last_ns);
  sum.wait_s = 1e-9 * static_cast<double>(waits.total_ns(last_ns));
  sum.communicate_s = 1e-9 * static_cast<double>(operations.total_ns(last_ns));
  return told;
}

std::vector<SlowRank> name_slow(const std::vector<Told>& all) {
  SlowWatch watch(static_cast<int>(all.size()));
  std::map<int, SlowRank> named;
  for (const auto& [step, ignored] : all[0].compute_of_step) {
    std::vector<Seconds> seconds;
    for (const Told& told : all) {
      const auto found = told.compute_of_step.find(step);
      if (found != told.compute_of_step.end()) seconds.push_back(found->second);
    }
    if (seconds.size() != all.size()) continue;
    watch.observe(step, seconds);
    for (const SlowRank& slow : watch.slow()) named[slow.rank] = slow;
  }
  std::vector<SlowRank> slow;
  for (auto& [place, rank] : named) {
    rank.rank = static_cast<int>(all[static_cast<std::size_t>(place)].summary.rank);
    slow.push_back(rank);
  }
  return slow;
}

void find_slowest(JobSummary& job) {
  if (job.ranks.size() < 2) {
    job.verdict = "one rank has nobody to be compared with";
    return;
  }
  const auto longest = std::max_element(
      job.ranks.begin(), job.ranks.end(),
      [](const RankSummary& a, const RankSummary& b) { return a.compute_s() < b.compute_s(); });
  job.slowest = static_cast<int>(longest - job.ranks.begin());
  std::vector<double> others;
  double wait_s = 0, span_s = 0;
  for (const RankSummary& rank : job.ranks) {
    if (&rank == &*longest) continue;
    others.push_back(rank.compute_s());
    wait_s += rank.wait_s;
    span_s += rank.span_s;
  }
  std::sort(others.begin(), others.end());
  const double middle = (others[others.size() / 2] + others[(others.size() - 1) / 2]) / 2;
  if (middle > 0) job.slowest_ratio = longest->compute_s() / middle;
  const double share = span_s > 0 ? 100 * wait_s / span_s : 0;
  job.verdict =
      job.slowest_ratio < SlowWatch::kNamedRatio && job.slow.empty()
          ? fmt::format("no rank holds the others up; they wait {:.0f} % of their time", share)
          : fmt::format(
                "rank {} is the slowest: it computes {:.1f}x as long as the median of the others, "
                "which wait {:.0f} % of their time",
                longest->rank, job.slowest_ratio, share);
}

}  // namespace

JobSummary summarize(const std::vector<Recording>& recordings) {
  std::vector<Told> all;
  for (const Recording& recording : recordings) all.push_back(tell(recording));
  std::stable_sort(all.begin(), all.end(),
                   [](const Told& a, const Told& b) { return a.summary.rank < b.summary.rank; });
  JobSummary job;
  for (const Told& told : all) job.ranks.push_back(told.summary);
  if (!all.empty()) job.slow = name_slow(all);
  find_slowest(job);
  return job;
}

}  // namespace weft::runtime

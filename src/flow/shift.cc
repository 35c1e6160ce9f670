#include "flow/shift.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

constexpr std::uint32_t kAngles = 720;
constexpr int kMostRounds = 20;
using Dial = std::array<double, kAngles>;  // mean bytes per second by angle

// The circle laid around the whole perimeter.
Dial dial_of(const Circle& circle, Seconds perimeter) {
  Dial dial{};
  const Seconds step = perimeter / kAngles;
  for (Seconds turn = 0; turn < perimeter * (1 - 1e-9); turn += circle.period) {
    for (const TrafficPhase& phase : circle.phases) {
      const double from = (turn + phase.from) / step, until = (turn + phase.until) / step;
      for (auto angle = static_cast<std::int64_t>(from); double(angle) < until; ++angle) {
        const double share = std::min(until, double(angle) + 1) - std::max(from, double(angle));
        dial[static_cast<std::size_t>(angle) % kAngles] += phase.bytes_per_s * share;
      }
    }
  }
  return dial;
}

// A part of the affinity graph: links with the jobs on them, and an angle for each job.
class Part {
 public:
  Part(std::span<const SharedLink> links, std::span<const std::vector<Dial>> dials,
       std::vector<std::uint32_t> members)
      : links_(links), dials_(dials), members_(std::move(members)) {}

  // Turns one job after the other, the first one fixed, to where least goes over.
  void search(std::vector<std::uint32_t>& angles, const std::vector<std::uint32_t>& jobs) const {
    double least = kNever;
    for (int round = 0; round < kMostRounds; ++round) {
      for (std::size_t i = 1; i < jobs.size(); ++i) {
        // In the first round only those already placed count.
        angles[jobs[i]] = best_angle(angles, jobs, i, round == 0 ? i : jobs.size());
      }
      const double now = over(angles, jobs, jobs.size());
      if (!(now < least * (1 - 1e-12))) return;
      least = now;
    }
  }

  double over(const std::vector<std::uint32_t>& angles, const std::vector<std::uint32_t>& jobs,
              std::size_t placed) const {
    double sum = 0;
    for (std::uint32_t member : members_) {
      const Dial total = load(member, angles, jobs, placed, UINT32_MAX);
      for (double value : total) sum += std::max(0.0, value - links_[member].bytes_per_s);
    }
    return sum;
  }

 private:
  Dial load(std::uint32_t member, const std::vector<std::uint32_t>& angles,
            const std::vector<std::uint32_t>& jobs, std::size_t placed,
            std::uint32_t without) const {
    Dial total{};
    const SharedLink& link = links_[member];
    for (std::size_t k = 0; k < link.jobs.size(); ++k) {
      const std::uint32_t job = link.jobs[k];
      const auto at = std::find(jobs.begin(), jobs.end(), job);
      if (job == without || at >= jobs.begin() + static_cast<std::ptrdiff_t>(placed)) continue;
      for (std::uint32_t a = 0; a < kAngles; ++a) {
        total[(a + angles[job]) % kAngles] += dials_[member][k][a];
      }
    }
    return total;
  }

  std::uint32_t best_angle(const std::vector<std::uint32_t>& angles,
                           const std::vector<std::uint32_t>& jobs, std::size_t i,
                           std::size_t placed) const {
    Dial over{};  // by angle of this job
    for (std::uint32_t member : members_) {
      const SharedLink& link = links_[member];
      const auto found = std::find(link.jobs.begin(), link.jobs.end(), jobs[i]);
      if (found == link.jobs.end()) continue;
      const Dial& own = dials_[member][static_cast<std::size_t>(found - link.jobs.begin())];
      const Dial others = load(member, angles, jobs, placed, jobs[i]);
      for (std::uint32_t shift = 0; shift < kAngles; ++shift) {
        for (std::uint32_t a = 0; a < kAngles; ++a) {
          const double total = others[(a + shift) % kAngles] + own[a];
          over[shift] += std::max(0.0, total - link.bytes_per_s);
        }
      }
    }
    return middle_of_least(over);
  }

  // The middle of the longest run of (nearly) least values around the dial; 0 if all are.
  static std::uint32_t middle_of_least(const Dial& values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double limit = *low + 1e-9 * (*high - *low);
    std::uint32_t begin = 0, length = 0;
    for (std::uint32_t start = 0; start < kAngles; ++start) {
      if (values[start] > limit) continue;
      if (values[(start + kAngles - 1) % kAngles] <= limit) continue;  // not the start of its run
      std::uint32_t run = 1;
      while (run < kAngles && values[(start + run) % kAngles] <= limit) ++run;
      if (run > length) begin = start, length = run;
    }
    return length == 0 ? 0 : (begin + (length - 1) / 2) % kAngles;
  }

  std::span<const SharedLink> links_;
  std::span<const std::vector<Dial>> dials_;
  std::vector<std::uint32_t> members_;
};

// Jobs and links reached from one job, in the order of reaching.
struct Component {
  std::vector<std::uint32_t> jobs, links;
  bool loop_free = true;
};

Component reach(std::uint32_t first, std::span<const SharedLink> links,
                std::vector<bool>& seen_job) {
  Component part{{first}, {}, true};
  std::vector<bool> seen_link(links.size());
  seen_job[first] = true;
  for (std::size_t i = 0; i < part.jobs.size(); ++i) {
    for (std::uint32_t l = 0; l < links.size(); ++l) {
      const auto& on = links[l].jobs;
      if (seen_link[l] || std::find(on.begin(), on.end(), part.jobs[i]) == on.end()) continue;
      seen_link[l] = true;
      part.links.push_back(l);
      for (std::uint32_t job : on) {
        if (job == part.jobs[i]) continue;
        if (seen_job[job]) part.loop_free = false;
        if (!seen_job[job]) part.jobs.push_back(job);
        seen_job[job] = true;
      }
    }
  }
  return part;
}

// Solves each link alone and adds the rotations up along the (loop-free) graph.
void walk_tree(const Component& part, std::span<const SharedLink> links,
               std::span<const std::vector<Dial>> dials, std::vector<std::uint32_t>& angles) {
  std::vector<bool> placed(angles.size());
  placed[part.jobs[0]] = true;
  for (std::uint32_t l : part.links) {  // in order of reaching, so that one job is placed already
    std::vector<std::uint32_t> jobs = links[l].jobs;
    const auto known =
        std::find_if(jobs.begin(), jobs.end(), [&](std::uint32_t job) { return placed[job]; });
    CHECK(known != jobs.end());
    std::iter_swap(jobs.begin(), known);
    std::vector<std::uint32_t> turned(angles.size());
    Part(links, dials, {l}).search(turned, jobs);
    for (std::uint32_t job : jobs) {
      if (!placed[job]) angles[job] = (angles[jobs[0]] + turned[job]) % kAngles;
      placed[job] = true;
    }
  }
}

}  // namespace

CommonPeriod common_period(std::span<const Seconds> periods, double tolerance,
                           std::uint32_t most_turns) {
  CHECK(!periods.empty());
  const Seconds longest = *std::max_element(periods.begin(), periods.end());
  CommonPeriod best{0, {}, kNever};
  for (std::uint32_t m = 1; m <= most_turns; ++m) {
    CommonPeriod tried{m * longest, {}, 1};
    for (Seconds period : periods) {
      CHECK(period > 0);
      const double turns = std::floor(tried.perimeter / period * (1 + 1e-9));
      tried.turns.push_back(static_cast<std::uint32_t>(turns));
      tried.stretch = std::max(tried.stretch, tried.perimeter / turns / period);
    }
    if (tried.stretch < best.stretch * (1 - 1e-9)) best = std::move(tried);
    if (best.stretch <= 1 + tolerance) break;
  }
  return best;
}

TimeShifts time_shifts(std::uint32_t jobs, Seconds perimeter, std::span<const SharedLink> links) {
  CHECK(perimeter > 0);
  std::vector<std::vector<Dial>> dials;
  double wanted = 0, over = 0;
  for (const SharedLink& link : links) {
    CHECK(link.jobs.size() == link.circles.size());
    dials.emplace_back();
    for (const Circle& circle : link.circles) {
      dials.back().push_back(dial_of(circle, perimeter));
      for (double value : dials.back().back()) wanted += value;
    }
  }
  TimeShifts result;
  std::vector<bool> seen(jobs);
  std::vector<std::uint32_t> angles(jobs);
  for (std::uint32_t job = 0; job < jobs; ++job) {
    if (seen[job]) continue;
    const Component part = reach(job, links, seen);
    const Part all(links, dials, part.links);
    if (part.loop_free) {
      walk_tree(part, links, dials, angles);
    } else {
      result.loop_free = false;
      all.search(angles, part.jobs);
    }
    over += all.over(angles, part.jobs, part.jobs.size());
  }
  for (std::uint32_t angle : angles) result.delays.push_back(perimeter * angle / kAngles);
  result.excess = wanted > 0 ? over / wanted : 0;
  return result;
}

}  // namespace weft

#include "fabric/coflow/coflowsim.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

constexpr double kStepMs = 8, kSecondMs = 1024;
constexpr std::int64_t kEpochSteps = 1280;
constexpr double kPortBytes = 128 * kMiB;  // a port's in a second of 1024 ms
constexpr double kZeroBytes = 1e-3;        // less is nothing, of bytes
constexpr double kZeroRate = 1e-3 / 8;     // and of bits per second
constexpr std::array<const char*, 6> kPolicies = {"fifo", "scf", "ncf", "lcf", "sebf", "aalo"};
// Its queues: a coflow sinks by one or more when more than this, times 10, ... has been sent.
constexpr double kFirstQueue = 10 * kMiB, kQueueFactor = 10;
constexpr std::uint32_t kQueues = 10;

// The generator that coflowsim draws deadlines from: Java's 48-bit linear congruential one, with
// the parameters that its documentation states.
class JavaRandom {
 public:
  explicit JavaRandom(std::uint64_t seed) : state_((seed ^ kFactor) & kMask) {}
  double uniform() {
    const std::uint64_t high = bits(26);
    return static_cast<double>((high << 27) + bits(27)) * 0x1.0p-53;
  }

 private:
  static constexpr std::uint64_t kFactor = 0x5DEECE66DULL, kMask = (1ULL << 48) - 1;
  std::uint64_t bits(int count) {
    state_ = (state_ * kFactor + 0xB) & kMask;
    return state_ >> (48 - count);
  }
  std::uint64_t state_;
};

struct Job {
  std::uint32_t coflow = 0;
  std::size_t rows = 0, columns = 0;
  const Coflow* source = nullptr;
  std::vector<double> left, rate;  // column by column
  double key = 0, deadline_ms = 0, start_ms = 0;
  double sent = 0;
  std::uint32_t queue = 0;
  std::uint64_t entry = 0;  // counts up with every entry into a queue
};

class Coflowsim {
 public:
  Coflowsim(const CoflowTrace& trace, const std::string& policy, CoflowRun& run)
      : trace_(trace), policy_(policy), queues_(policy == "aalo"), run_(run) {
    JavaRandom random(17);
    for (const Coflow& coflow : trace.coflows) {
      const double alone_ms = isolated_time(coflow, kPortBytes) * 1000;
      deadlines_ms_.push_back(alone_ms * (1 + random.uniform()));
    }
  }

  void run() {
    for (std::int64_t epoch = 0; next_ < trace_.coflows.size() || !jobs_.empty(); ++epoch) {
      step_ = epoch * kEpochSteps;
      admit();
      std::int64_t rest = kEpochSteps;
      while (rest > 0 && !jobs_.empty()) {
        const std::int64_t steps = std::min(rest, steps_to_departure());
        const bool departed = advance(steps);
        rest -= steps;
        ++run_.events;
        // Rates are set at the beginning of the step in which the coflow ended.
        if (departed) set_rates(static_cast<double>(step_ - 1) * kStepMs);
      }
    }
  }

 private:
  void admit() {
    const double now_ms = static_cast<double>(step_) * kStepMs;
    const double until_ms = now_ms + kEpochSteps * kStepMs;
    bool added = false;
    for (; next_ < trace_.coflows.size(); ++next_) {
      const Coflow& coflow = trace_.coflows[next_];
      if (coflow.arrival * 1e3 > until_ms) break;
      Job job;
      job.coflow = next_;
      job.source = &coflow;
      job.rows = coflow.sources.size();
      job.columns = coflow.targets.size();
      job.deadline_ms = deadlines_ms_[next_];
      job.start_ms = now_ms;
      for (std::size_t j = 0; j < job.columns; ++j) {
        for (std::size_t i = 0; i < job.rows; ++i) {
          job.left.push_back(coflow.bytes[i * job.columns + j]);
        }
      }
      job.entry = entries_++;
      job.rate.assign(job.left.size(), 0);
      job.key = key(job);
      run_.coflows[next_].arrival = now_ms / 1e3;
      insert(std::move(job));
      added = true;
    }
    if (added) set_rates(now_ms);
  }

  double key(const Job& job) const {
    const Coflow& coflow = *job.source;
    if (policy_ == "ncf") return static_cast<double>(std::min(job.rows, job.columns));
    if (policy_ == "sebf") return isolated_time(coflow, 1);
    if (policy_ != "scf") return 0;
    const std::vector<double> sums = port_bytes(coflow);
    const auto targets = sums.begin() + static_cast<std::ptrdiff_t>(job.rows);
    return *std::max_element(targets, sums.end()) / static_cast<double>(job.rows);
  }

  // Before the first whose key is greater. Least total is by what is left now; first come keeps all
  // keys alike.
  void insert(Job job) {
    const auto total = [](const Job& j) {
      double sum = 0;
      for (double bytes : j.left) sum += bytes;
      return sum;
    };
    const bool by_total = policy_ == "lcf";
    const double own = by_total ? total(job) : job.key;
    const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& other) {
      return own < (by_total ? total(other) : other.key);
    });
    jobs_.insert(at, std::move(job));
  }

  static double bytes_a_step(double rate) { return rate * (kStepMs / kSecondMs); }

  std::int64_t steps_to_departure() const {
    std::int64_t first = kEpochSteps;
    for (const Job& job : jobs_) {
      std::int64_t last = 1;
      for (std::size_t f = 0; f < job.left.size() && last < first; ++f) {
        if (job.left[f] <= kZeroBytes) continue;
        if (job.rate[f] <= 0) {
          last = kEpochSteps;
          break;
        }
        const double steps = (job.left[f] - kZeroBytes) / bytes_a_step(job.rate[f]);
        last = steps < static_cast<double>(kEpochSteps)
                   ? std::max(last, static_cast<std::int64_t>(std::ceil(steps)))
                   : kEpochSteps;
      }
      first = std::min(first, last);
    }
    return first;
  }

  // Whether a coflow ended.
  bool advance(std::int64_t steps) {
    step_ += steps;
    const std::size_t before = jobs_.size();
    std::erase_if(jobs_, [&](Job& job) {
      bool done = true;
      for (std::size_t f = 0; f < job.left.size(); ++f) {
        if (job.left[f] <= kZeroBytes) continue;
        const double moved =
            std::min(job.left[f], bytes_a_step(job.rate[f]) * static_cast<double>(steps));
        job.left[f] -= moved;
        job.sent += moved;
        if (job.left[f] > kZeroBytes) {
          done = false;
        } else {
          job.left[f] = 0;
          ++run_.flows;
        }
      }
      if (done) run_.coflows[job.coflow].end = static_cast<double>(step_) * kStepMs / 1e3;
      return done;
    });
    return jobs_.size() < before;
  }

  double& up_room(const Job& job, std::size_t i) { return room_[job.source->sources[i]]; }
  double& down_room(const Job& job, std::size_t j) {
    return room_[trace_.ports + job.source->targets[j]];
  }

  void set_rates(double now_ms) {
    room_.assign(2 * std::size_t{trace_.ports}, kPortBytes);
    if (queues_) {
      sink();
      for (Job& job : jobs_) share_once({&job});
      return;
    }
    std::vector<Job*> skipped;
    for (Job& job : jobs_) {
      if (!give_madd(job)) skipped.push_back(&job);
    }
    share_once(skipped);
    std::vector<std::pair<std::int64_t, Job*>> by_deadline;
    for (Job& job : jobs_) {
      by_deadline.emplace_back(static_cast<std::int64_t>(job.start_ms + job.deadline_ms - now_ms),
                               &job);
    }
    std::stable_sort(by_deadline.begin(), by_deadline.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [time_left, job] : by_deadline) give_the_rest(*job);
  }

  // Coflows that have sent enough go to the end of the next queue, and from there on; jobs_ holds
  // one queue after the other.
  void sink() {
    double limit = kFirstQueue;
    for (std::uint32_t queue = 0; queue + 1 < kQueues; ++queue, limit *= kQueueFactor) {
      for (Job& job : jobs_) {
        if (job.queue != queue || job.sent <= limit) continue;
        ++job.queue;
        job.entry = entries_++;
      }
      std::sort(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) {
        return std::pair(a.queue, a.entry) < std::pair(b.queue, b.entry);
      });
    }
  }

  // All that its ports have left, flow by flow.
  void give_the_rest(Job& job) {
    for (std::size_t j = 0; j < job.columns; ++j) {
      double& in = down_room(job, j);
      for (std::size_t i = 0; i < job.rows && in > kZeroRate; ++i) {
        double& out = up_room(job, i);
        const std::size_t f = j * job.rows + i;
        if (out <= kZeroRate || job.left[f] <= kZeroBytes) continue;
        const double spare = std::min(out, in);
        job.rate[f] += spare;
        out -= spare;
        in -= spare;
      }
    }
  }

  // False: a port has no room for it.
  bool give_madd(Job& job) {
    job.rate.assign(job.left.size(), 0);
    rows_.assign(job.rows, 0);
    columns_.assign(job.columns, 0);
    const double* left = job.left.data();
    for (std::size_t j = 0; j < job.columns; ++j, left += job.rows) {
      double sum = 0;
      for (std::size_t i = 0; i < job.rows; ++i) {
        rows_[i] += left[i];
        sum += left[i];
      }
      columns_[j] = sum;
    }
    double duration = 0;
    const auto fits = [&](double load, double room) {
      if (load > 0 && room <= kZeroRate) return false;
      if (load > 0) duration = std::max(duration, load / room);
      return true;
    };
    for (std::size_t i = 0; i < job.rows; ++i) {
      if (!fits(rows_[i], up_room(job, i))) return false;
    }
    for (std::size_t j = 0; j < job.columns; ++j) {
      if (!fits(columns_[j], down_room(job, j))) return false;
    }
    if (duration <= 0) return true;
    for (std::size_t f = 0; f < job.left.size(); ++f) job.rate[f] = job.left[f] / duration;
    for (std::size_t i = 0; i < job.rows; ++i) up_room(job, i) -= rows_[i] / duration;
    for (std::size_t j = 0; j < job.columns; ++j) down_room(job, j) -= columns_[j] / duration;
    return true;
  }

  // What is left is divided among the flows of these coflows by one pass of equal parts per port,
  // so that not all of it is given.
  void share_once(const std::vector<Job*>& jobs) {
    flows_.assign(room_.size(), 0);
    const auto each_open = [&](Job& job, auto&& use) {
      for (std::size_t j = 0; j < job.columns; ++j) {
        const PortId in = trace_.ports + job.source->targets[j];
        if (room_[in] <= kZeroRate) continue;
        for (std::size_t i = 0; i < job.rows; ++i) {
          const PortId out = job.source->sources[i];
          const std::size_t f = j * job.rows + i;
          if (job.left[f] > kZeroBytes && room_[out] > kZeroRate) use(f, out, in);
        }
      }
    };
    for (Job* job : jobs) {
      each_open(*job, [&](std::size_t, PortId out, PortId in) { ++flows_[out], ++flows_[in]; });
    }
    used_.assign(room_.size(), 0);
    for (Job* job : jobs) {
      job->rate.assign(job->left.size(), 0);
      each_open(*job, [&](std::size_t f, PortId out, PortId in) {
        job->rate[f] = std::min(room_[out] / flows_[out], room_[in] / flows_[in]);
        used_[out] += job->rate[f];
        used_[in] += job->rate[f];
      });
    }
    for (std::size_t k = 0; k < room_.size(); ++k) room_[k] -= used_[k];
  }

  const CoflowTrace& trace_;
  const std::string& policy_;
  const bool queues_;
  CoflowRun& run_;
  std::vector<double> deadlines_ms_;
  std::vector<Job> jobs_;                              // in order of priority
  std::vector<double> room_;                           // of all links
  std::vector<double> rows_, columns_, flows_, used_;  // scratch
  std::uint64_t entries_ = 0;
  std::uint32_t next_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace

bool has_coflowsim_rules(const std::string& policy) {
  return std::find(kPolicies.begin(), kPolicies.end(), policy) != kPolicies.end();
}

std::string coflowsim_policies() {
  std::string text;
  for (const char* name : kPolicies) text += text.empty() ? name : std::string(", ") + name;
  return text;
}

CoflowRun run_like_coflowsim(const CoflowTrace& trace, const std::string& policy) {
  CHECK(has_coflowsim_rules(policy));
  CoflowRun run;
  run.coflows.resize(trace.coflows.size());
  for (std::size_t k = 0; k < trace.coflows.size(); ++k) {
    run.coflows[k].isolated = isolated_time(trace.coflows[k], kPortBytes * 1000 / kSecondMs);
    for (double bytes : trace.coflows[k].bytes) run.bytes += bytes;
  }
  Coflowsim(trace, policy, run).run();
  return run;
}

}  // namespace weft

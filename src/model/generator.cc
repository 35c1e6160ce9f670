#include "model/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"

namespace weft {
namespace {

constexpr int kHoursPerWeek = 24 * 7;

// Draws an index with the probability of its weight.
class Discrete {
 public:
  explicit Discrete(const std::vector<double>& weights) : upper_(weights) {
    std::partial_sum(upper_.begin(), upper_.end(), upper_.begin());
  }
  std::size_t draw(Random& random) const {
    const double at = random.uniform() * upper_.back();
    const auto it = std::upper_bound(upper_.begin(), upper_.end(), at);
    return std::min(static_cast<std::size_t>(it - upper_.begin()), upper_.size() - 1);
  }

 private:
  std::vector<double> upper_;
};

template <typename T>
Discrete by_share(const std::vector<T>& choices) {
  std::vector<double> shares;
  for (const T& choice : choices) shares.push_back(choice.share);
  return Discrete(shares);
}

Discrete zipf(std::uint32_t count, double skew) {
  std::vector<double> weights;
  for (std::uint32_t k = 1; k <= count; ++k) weights.push_back(std::pow(k, -skew));
  return Discrete(weights);
}

// Turns the time of a process of rate 1 into that of one whose rate follows the week.
class WeekClock {
 public:
  WeekClock(const WeekProfile& week, double burst) {
    std::array<double, kHoursPerWeek> rate{};
    for (std::size_t hour = 0; hour < rate.size(); ++hour) {
      rate[hour] = week.days[hour / 24] * week.hours[hour % 24];
    }
    const double mean = std::accumulate(rate.begin(), rate.end(), 0.0) / kHoursPerWeek;
    for (std::size_t hour = 0; hour < rate.size(); ++hour) {
      area_[hour + 1] = area_[hour] + 1 + burst * (rate[hour] / mean - 1);
    }
  }

  // Arrivals expected until `at`, in hours' worth of the mean rate.
  double area(Seconds at) const {
    const double weeks = std::floor(at / (kHoursPerWeek * kHour));
    const double hours = at / kHour - weeks * kHoursPerWeek;
    const auto hour = std::min(static_cast<std::size_t>(hours), area_.size() - 2);
    const double part = hours - static_cast<double>(hour);
    return weeks * area_.back() + area_[hour] + part * (area_[hour + 1] - area_[hour]);
  }

  // The inverse of area().
  Seconds time(double area) const {
    const double weeks = std::floor(area / area_.back());
    const double rest = area - weeks * area_.back();
    const auto after = std::upper_bound(area_.begin() + 1, area_.end() - 1, rest);
    const auto hour = static_cast<std::size_t>(after - area_.begin()) - 1;
    const double width = area_[hour + 1] - area_[hour];
    const double part = width > 0 ? std::min((rest - area_[hour]) / width, 1.0) : 0;
    return (weeks * kHoursPerWeek + static_cast<double>(hour) + part) * kHour;
  }

 private:
  std::array<double, kHoursPerWeek + 1> area_{};
};

// A gang stays on devices of one type, so the largest job is the most numerous type.
std::uint32_t most_devices(const Cluster& cluster) {
  std::uint32_t most = 0;
  for (std::size_t type = 0; type < cluster.types.size(); ++type) {
    most = std::max(most, cluster.device_count(static_cast<TypeId>(type)));
  }
  return std::min(most, kMaxJobDevices);
}

double capacity(const Cluster& cluster) {
  double sum = 0;
  for (const Node& node : cluster.nodes) sum += node.devices * cluster.types[node.type].speed;
  return sum;
}

struct Size {
  std::shared_ptr<const Menu> menu;
  double devices = 0;  // with fractions
  bool capped = false;
};

class MenusBySize {
 public:
  explicit MenusBySize(std::uint32_t most) : most_(most) {}
  std::vector<Size> sizes(const JobClass& of) {
    std::vector<Size> result;
    for (const SizeChoice& choice : of.sizes) {
      Configuration configuration;
      configuration.devices = std::min(choice.devices, most_);
      configuration.milli = choice.milli;
      auto& menu = menus_[{configuration.devices, configuration.milli}];
      if (menu == nullptr) menu = std::make_shared<const Menu>(Menu{{configuration}});
      result.push_back(
          {menu, configuration.devices * (choice.milli / double{kWhole}), choice.devices > most_});
    }
    return result;
  }

 private:
  std::uint32_t most_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::shared_ptr<const Menu>> menus_;
};

struct Shape {
  const Size* size = nullptr;
  Ending outcome = Ending::kCompleted;
  Seconds planned = 0;
  Seconds actual = 0;  // whole seconds, as in the traces of real clusters
};

class ClassSampler {
 public:
  ClassSampler(const JobClass& of, Seconds longest, MenusBySize& menus)
      : sizes_(menus.sizes(of)),
        durations_(of.durations),
        pick_size_(by_share(of.sizes)),
        pick_duration_(by_share(of.durations)),
        pick_outcome_({std::max(0.0, 1 - of.failed - of.cancelled), of.failed, of.cancelled}),
        longest_(longest) {}

  Shape draw(Random& random) const {
    Shape shape;
    shape.size = &sizes_[pick_size_.draw(random)];
    const DurationPart& part = durations_[pick_duration_.draw(random)];
    shape.planned = std::clamp(part.median * random.log_normal(0, part.sigma), 1.0, longest_);
    shape.outcome = static_cast<Ending>(pick_outcome_.draw(random));
    const double reached = random.uniform();
    const bool whole = shape.outcome == Ending::kCompleted;
    shape.actual = std::clamp(std::round(shape.planned * (whole ? 1.0 : reached)), 1.0, longest_);
    return shape;
  }

 private:
  std::vector<Size> sizes_;
  std::vector<DurationPart> durations_;
  Discrete pick_size_, pick_duration_, pick_outcome_;
  Seconds longest_;
};

// Numbers the tenants in order of appearance, as every trace does.
class Tenants {
 public:
  Tenants(std::uint32_t count, double skew) : pick_(zipf(count, skew)), id_(count, kUnseen) {}
  TenantId draw(Random& random, std::vector<std::string>& names) {
    const std::size_t rank = pick_.draw(random);
    if (id_[rank] == kUnseen) {
      id_[rank] = static_cast<TenantId>(names.size());
      names.push_back(fmt::format("t{}", rank + 1));
    }
    return id_[rank];
  }

 private:
  static constexpr TenantId kUnseen = std::numeric_limits<TenantId>::max();
  Discrete pick_;
  std::vector<TenantId> id_;
};

// One generator per purpose: asking for deadlines leaves sizes and arrivals as they were.
struct Randoms {
  explicit Randoms(std::uint64_t seed)
      : shape(seed ^ 0x5ca1ab1e0ddba11ULL),
        arrival(seed ^ 0x7e57ab1ec0ffee11ULL),
        tenant(seed ^ 0x2b992ddfa23249d6ULL),
        wish(seed ^ 0x9216d5d98979fb1bULL) {}
  Random shape, arrival, tenant, wish;
};

class Drawing {
 public:
  Drawing(const GeneratorSpec& spec, std::uint32_t most, std::uint64_t seed)
      : spec_(spec),
        random_(seed),
        pick_class_(by_share(spec.classes)),
        pick_priority_(spec.priorities.empty() ? std::vector<double>{1} : spec.priorities),
        tenants_(spec.tenants, spec.skew) {
    MenusBySize menus(most);
    for (const JobClass& of : spec.classes) classes_.emplace_back(of, spec.longest, menus);
  }

  // Draws everything but times: `submit` is left in units of the mean gap between jobs, and
  // `deadline` counts from it. Returns where the gap after the last job ends, in the same units.
  // Requires: `jobs` and `trace.jobs` have the same size.
  double draw_jobs(std::vector<Submission>& jobs, Trace& trace, GeneratorReport& report) {
    double at = 0;
    TenantId tenant = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Shape shape = classes_[pick_class_.draw(random_.shape)].draw(random_.shape);
      const bool joins = joins_batch() && i > 0;
      const double gap = next_gap();
      if (!joins) {
        at += gap;
        tenant = tenants_.draw(random_.tenant, trace.tenants);
      }
      jobs[i].name = fmt::format_int(i + 1).str();
      jobs[i].menu = shape.size->menu;
      jobs[i].submit = at;
      jobs[i].tenant = tenant;
      trace.jobs[i].truth.work = shape.actual;
      wish(shape, jobs[i], trace.jobs[i].truth);
      count(shape, report);
    }
    return at + next_gap();
  }

 private:
  // Gives batches of geometric size.
  bool joins_batch() { return random_.arrival.chance(1 - 1 / spec_.arrivals.batch); }

  // On a grid, so that sums are exact and a last bit of some platform's logarithm cannot grow.
  double next_gap() {
    return std::round(random_.arrival.exponential(spec_.arrivals.batch) * 0x1p20) * 0x1p-20;
  }

  void wish(const Shape& shape, Submission& job, Truth& truth) {
    job.priority = static_cast<std::int32_t>(pick_priority_.draw(random_.wish));
    const bool urgent = random_.wish.chance(spec_.deadlines);
    const double slack = random_.wish.uniform(spec_.slack_low, spec_.slack_high);
    if (urgent) job.deadline = slack * shape.planned;
    const double padded = shape.planned * random_.wish.uniform(1, 1 + spec_.padding);
    truth.user_estimate = customary_limit(std::max(padded, shape.actual));
  }

  static void count(const Shape& shape, GeneratorReport& report) {
    const auto outcome = static_cast<std::size_t>(shape.outcome);
    report.capped += shape.size->capped ? 1 : 0;
    ++report.jobs[outcome];
    report.device_seconds[outcome] += shape.actual * shape.size->devices;
  }

  const GeneratorSpec& spec_;
  Randoms random_;
  Discrete pick_class_, pick_priority_;
  std::vector<ClassSampler> classes_;
  Tenants tenants_;
};

Seconds whole_milliseconds(Seconds at) { return std::floor(at * 1000) / 1000; }

// The arrivals of a Poisson process, given how many fall into [0, span), lie at the partial sums of
// exponential gaps divided by the sum of all gaps, the one after the last job included.
void set_times(const Arrivals& arrivals, Seconds span, double gaps, std::vector<Submission>& jobs) {
  const WeekClock clock(arrivals.week, arrivals.burst);
  const double scale = clock.area(span) / gaps;
  for (Submission& job : jobs) {
    const Seconds at = std::min(clock.time(job.submit * scale), span);
    job.submit = whole_milliseconds(at);
    job.deadline = whole_milliseconds(job.submit + job.deadline);
  }
}

Error too_large(const GeneratorSpec& spec, const Cluster& cluster, std::uint32_t most,
                std::uint32_t asked) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{}: jobs ask for up to {} devices of one type; the cluster {} has {}",
                           spec.text, asked, cluster.text, most),
               "take a larger --cluster, or oversize=cap to make such jobs as large as it"};
}

std::uint32_t largest_size(const GeneratorSpec& spec) {
  std::uint32_t largest = 0;
  for (const JobClass& of : spec.classes) {
    if (of.share <= 0) continue;
    for (const SizeChoice& size : of.sizes) {
      if (size.share > 0) largest = std::max(largest, size.devices);
    }
  }
  return largest;
}

}  // namespace

Seconds customary_limit(Seconds expected) {
  constexpr double kLimitHours[] = {0.25, 0.5, 1, 2, 4, 8, 12, 24, 48, 72, 168, 336, 720};
  for (double hours : kLimitHours) {
    if (expected <= hours * kHour) return hours * kHour;
  }
  constexpr Seconds kMonth = 720 * kHour;
  return std::ceil(expected / kMonth) * kMonth;
}

Result<Trace> generate(const GeneratorSpec& spec, const Cluster& cluster, std::uint64_t seed,
                       GeneratorReport* report) {
  if (const Status status = check_generator(spec); !status.ok()) return status.error();
  const std::uint32_t most = most_devices(cluster), largest = largest_size(spec);
  if (most == 0 || (spec.oversize == Oversize::kRefuse && largest > most)) {
    return too_large(spec, cluster, most, largest);
  }
  Trace trace;
  trace.path = spec.text;
  trace.format = "generated";
  trace.jobs.resize(spec.jobs);
  // One block for all jobs, each pointing into it: one allocation instead of one for each job.
  const auto block = std::make_shared<std::vector<Submission>>(spec.jobs);
  GeneratorReport counted;
  const double gaps = Drawing(spec, most, seed).draw_jobs(*block, trace, counted);
  const double device_seconds =
      std::accumulate(counted.device_seconds.begin(), counted.device_seconds.end(), 0.0);
  counted.span = spec.arrivals.load
                     ? device_seconds / (*spec.arrivals.load * capacity(cluster))
                     : static_cast<double>(spec.jobs) / *spec.arrivals.rate_per_hour * kHour;
  if (!(counted.span <= kMaxDuration)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: the {} jobs would arrive over {:.3g} s; the limit is {:.3g} s",
                             spec.text, spec.jobs, counted.span, kMaxDuration),
                 "ask for a higher load or rate_per_hour, or for fewer jobs"};
  }
  counted.offered_load = device_seconds / (counted.span * capacity(cluster));
  set_times(spec.arrivals, counted.span, gaps, *block);
  for (std::size_t i = 0; i < block->size(); ++i) {
    trace.jobs[i].submission = std::shared_ptr<const Submission>(block, &(*block)[i]);
  }
  if (report != nullptr) *report = counted;
  return trace;
}

}  // namespace weft

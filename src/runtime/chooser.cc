#include "runtime/chooser.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "runtime/link_topology.h"
#include "timing/schedule_run.h"

namespace weft::runtime {
namespace {

// Choosing must stay cheap beside the first operation; larger schedules are not timed.
constexpr std::int64_t kMostMessages = 50'000;
// What is usual on such links stays unless the measured ones promise so much less time: for noise
// is measured too. Where the order of additions shows it stays in any case, so that sums have the
// same bits in every run.
constexpr double kWorthwhile = 0.8;
// In a ring every rank hears from one other, so that nothing collides on the way in. Where several
// send to one at a time a part of the link's time is lost: 64 MB over 4 hosts of 200 Mbit/s took
// 4.32 s by ring, 4.57 s by halving-doubling, 4.61 s directly.
constexpr double kCollisions = 1.08;

struct Row {
  collective::Operation operation;
  const char* algorithm;
  bool (*serves)(const GroupShape&);
};

bool always(const GroupShape&) { return true; }
bool few(const GroupShape& shape) { return shape.ranks <= 16; }
bool power(const GroupShape& shape) {
  return std::has_single_bit(static_cast<unsigned>(shape.ranks));
}
bool hosts(const GroupShape& shape) { return !shape.one_host && shape.per_host > 1; }

const Row kAlgorithmRows[] = {
    {collective::Operation::kAllReduce, "exchange", few},
    {collective::Operation::kAllReduce, "halving-doubling", power},
    {collective::Operation::kAllReduce, "ring", always},
    {collective::Operation::kAllReduce, "hierarchical", hosts},
    {collective::Operation::kReduceScatter, "ring", always},
    {collective::Operation::kReduceScatter, "halving-doubling", power},
    {collective::Operation::kAllGather, "ring", always},
    {collective::Operation::kAllGather, "bruck", always},
    {collective::Operation::kBroadcast, "binomial", always},
    {collective::Operation::kBroadcast, "chain", always},
    {collective::Operation::kReduce, "binomial", always},
    {collective::Operation::kReduce, "chain", always},
    {collective::Operation::kAllToAll, "direct", always},
    {collective::Operation::kAllToAll, "bruck", always},
    {collective::Operation::kBarrier, "dissemination", always},
};

bool one_round(const std::string& algorithm) { return algorithm == "exchange"; }

// Of the rank that adds most, in bytes: every rank adds everything in the exchange, a tree's
// inner ranks all of each child, and otherwise all ranks share the work.
double added_bytes(collective::Operation operation, const std::string& algorithm, double n,
                   double p) {
  if (!collective::sums(operation)) return 0;
  if (one_round(algorithm)) return n * p;
  if (operation != collective::Operation::kReduce) return n * (p - 1) / p;
  return algorithm == "binomial" ? n * std::ceil(std::log2(p)) : n;
}

class TimedChooser : public Chooser {
 public:
  Choice choose(collective::Operation operation, double bytes, const GroupShape& shape,
                const Wish& wish) const override {
    GroupShape usual = shape, measured = shape;
    usual.links = LinkSpeeds{};
    measured.links = rounded(shape.links);
    Choice choice;
    choice.considered = consider(operation, bytes, shape, wish);
    choice.algorithm = wish.algorithm;
    if (choice.algorithm.empty()) {
      const double middle = std::exp2(size_class(bytes) - 0.5);
      const auto often = consider(operation, middle, usual, {});
      const auto here = consider(operation, middle, measured, {"", false, wish.by_links});
      const std::size_t expected = least_of(often), best = least_of(here);
      const bool better = (wish.any_order || wish.by_links) &&
                          here[best].expected_s < kWorthwhile * here[expected].expected_s;
      choice.algorithm = here[better ? best : expected].algorithm;
    }
    for (const Candidate& candidate : choice.considered) {
      if (candidate.algorithm == choice.algorithm) choice.expected_s = candidate.expected_s;
    }
    choice.slice_bytes = slice_bytes_of(choice.algorithm, shape, wish.by_links);
    return choice;
  }

 private:
  static std::size_t least_of(const std::vector<Candidate>& candidates) {
    const auto least = std::min_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.expected_s < b.expected_s; });
    return static_cast<std::size_t>(least - candidates.begin());
  }

  static std::vector<Candidate> consider(collective::Operation operation, double bytes,
                                         const GroupShape& shape, const Wish& wish) {
    const std::string& wanted = wish.algorithm;
    const Topology topology = link_topology(shape);
    std::vector<Candidate> candidates;
    for (const Row& row : kAlgorithmRows) {
      if (row.operation != operation) continue;
      if (wanted.empty() ? !row.serves(shape) : row.algorithm != wanted) continue;
      candidates.push_back({row.algorithm, time_of(operation, row.algorithm, bytes, shape, topology,
                                                   wish.by_links)});
    }
    if (candidates.empty()) {
      candidates.push_back(
          {wanted, time_of(operation, wanted, bytes, shape, topology, wish.by_links)});
    }
    return candidates;
  }

  static Seconds time_of(collective::Operation operation, const std::string& algorithm,
                         double bytes, const GroupShape& shape, const Topology& topology,
                         bool by_links) {
    collective::Request request{.operation = operation, .ranks = shape.ranks};
    if (algorithm == "hierarchical") request.per_node = shape.per_host;
    const std::size_t slice = slice_bytes_of(algorithm, shape, by_links);
    if (algorithm == "chain" && slice > 0) {
      constexpr double kMostPieces = 64;  // slices follow each other as pieces of a pipeline do
      request.chunks =
          static_cast<int>(std::clamp(bytes / static_cast<double>(slice), 1.0, kMostPieces));
    }
    const auto schedule = collective::generate(algorithm, request);
    if (!schedule.ok()) return kNever;
    ScheduleTask task{&*schedule, &topology, {}, bytes, {}, false, kMostMessages};
    task.placement.vertex.resize(static_cast<std::size_t>(schedule->endpoints()));
    std::iota(task.placement.vertex.begin(), task.placement.vertex.end(), 0);
    const ScheduleTime run = run_schedule(task);
    if (run.gave_up) return kNever;
    const LinkSpeed& link = shape.one_host ? shape.links.same_host : shape.links.other_host;
    // Calls are compared before, but in the exchange.
    const double rounds = one_round(algorithm) || operation == collective::Operation::kBarrier
                              ? 0
                              : std::ceil(std::log2(shape.ranks));
    const double lost = shape.one_host || algorithm == "ring" ? 1 : kCollisions;
    return lost * run.time_s + rounds * link.message_s +
           added_bytes(operation, algorithm, bytes, shape.ranks) / shape.links.add_bytes_per_s;
  }
};

}  // namespace

// Slices keep what is under way in the cache, and let a round of one overlap that of another; a
// slice should still be large against the cost of a message. By usual speeds unless the user lets
// the order vary: where slices end decides in which order elements are added.
std::size_t slice_bytes_of(const std::string& algorithm, const GroupShape& shape, bool by_links) {
  if (one_round(algorithm)) return 0;
  const LinkSpeeds links = by_links ? rounded(shape.links) : LinkSpeeds{};
  const LinkSpeed& link = shape.one_host ? links.same_host : links.other_host;
  const double least = 8 * link.message_s * link.bytes_per_s * shape.ranks;
  return static_cast<std::size_t>(std::max(least, shape.one_host ? 0x1p19 : 0x1p20));
}

int size_class(double bytes) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max(bytes, 0.0))));
}

const Chooser& timed_chooser() {
  static const TimedChooser chooser;
  return chooser;
}

}  // namespace weft::runtime

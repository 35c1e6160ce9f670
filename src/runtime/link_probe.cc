#include "runtime/link_probe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/stopwatch.h"
#include "runtime/reduce.h"

namespace weft::runtime {
namespace {

// After which nothing larger is sent. Inside a host that is soon: many ranks may start there.
constexpr Seconds kLongStepHere = 0.01, kLongStepFar = 0.1;
constexpr Seconds kShortStep = 5e-3;  // up to which one more is cheap
constexpr std::size_t kSizes[] = {256 << 10, 1 << 20, 4 << 20};
constexpr int kProbeRows = 4, kBarriers = 4;

// Ranks that measure one kind of pair together with this one, by rank; others do the same beside.
struct Part {
  std::vector<int> ranks;
  int leader = -1;  // of the whole group, whose numbers count; -1: there is no such pair
};

// Those of the same host, and those in the same place of each host. A host's first rank leads.
std::pair<Part, Part> probe_parts(const std::vector<std::string>& hosts, int rank) {
  std::map<std::string, std::vector<int>> ranks;
  for (std::size_t i = 0; i < hosts.size(); ++i) ranks[hosts[i]].push_back(static_cast<int>(i));
  Part same, other;
  same.ranks = ranks.at(hosts[static_cast<std::size_t>(rank)]);
  const auto place = static_cast<std::size_t>(
      std::find(same.ranks.begin(), same.ranks.end(), rank) - same.ranks.begin());
  for (const auto& [host, there] : ranks) {
    if (there.size() > 1 && (same.leader < 0 || there[0] < same.leader)) same.leader = there[0];
    if (place < there.size()) other.ranks.push_back(there[place]);
  }
  if (ranks.size() > 1) other.leader = 0;
  std::sort(other.ranks.begin(), other.ranks.end());
  return {same, other};
}

Result<Seconds> timed(const std::function<Status()>& what) {
  const std::int64_t begin = monotonic_ns();
  const Status status = what();
  if (!status.ok()) return status.error();
  return static_cast<double>(monotonic_ns() - begin) * 1e-9;
}

// Measures one kind of pairs.
class KindProbe {
 public:
  KindProbe(Group& whole, std::shared_ptr<Group> part, int leader, Seconds long_step_s,
            const CallOptions& call)
      : whole_(whole),
        part_(std::move(part)),
        leader_(leader),
        long_step_s_(long_step_s),
        call_(call) {}

  Status measure(LinkSpeed& link) {
    Status status = measure_message(link);
    return status.ok() ? measure_bandwidth(link) : status;
  }

 private:
  bool takes_part() const { return part_->size() > 1; }

  // Makes all ranks have what the leader has: by a broadcast, which needs no connection that the
  // group has not got.
  Status follow(double& number) {
    return whole_.broadcast(&number, 1, DataType::kFloat64, leader_, call_)->wait();
  }

  Status measure_message(LinkSpeed& link) {
    // In a row: one that comes late finds the others' messages there and takes no time.
    Seconds least = kNever;
    for (int i = 0; i < kProbeRows && takes_part(); ++i) {
      const auto row = timed([&] {
        Status met;
        for (int barrier = 0; barrier < kBarriers && met.ok(); ++barrier) {
          met = part_->barrier_now(call_);
        }
        return met;
      });
      if (!row.ok()) return row.error();
      least = std::min(least, *row / kBarriers);
    }
    link.message_s = std::max(least / std::ceil(std::log2(std::max(2, part_->size()))), 1e-9);
    return follow(link.message_s);
  }

  // All send to the next rank at once; how long it took until what the one before sent was here.
  Result<Seconds> one_shift_s(std::size_t bytes) {
    sent_.assign(bytes, std::byte{0});
    got_.resize(bytes);
    const Status met = part_->barrier_now(call_);
    if (!met.ok()) return met.error();
    const int ranks = part_->size(), rank = part_->rank();
    Group::WorkPtr sending;
    const auto once = timed([&] {
      sending = part_->send(sent_.data(), bytes, DataType::kUint8, (rank + 1) % ranks, 0, call_);
      return part_
          ->receive(got_.data(), bytes, DataType::kUint8, (rank + ranks - 1) % ranks, 0, call_)
          ->wait();
    });
    const Status sent = sending->wait();
    if (!once.ok()) return once.error();
    if (!sent.ok()) return sent.error();
    return *once;
  }

  // The shortest of some tries, each as long as it took the rank that waited longest: one that
  // began late finds bytes that came before it looked. All ranks get the same number.
  Result<Seconds> shift_s(std::size_t bytes, int tries) {
    std::vector<double> took(static_cast<std::size_t>(tries), 0);
    for (double& once : took) {
      if (!takes_part()) continue;
      const auto mine = one_shift_s(bytes);
      if (!mine.ok()) return mine.error();
      once = *mine;
    }
    const Status longest =
        whole_.reduce(took.data(), took.size(), DataType::kFloat64, ReduceOp::kMax, leader_, call_)
            ->wait();
    if (!longest.ok()) return longest.error();
    Seconds least = *std::min_element(took.begin(), took.end());
    const Status told = follow(least);
    if (!told.ok()) return told.error();
    return least;
  }

  // The time by which more takes longer.
  Status measure_bandwidth(LinkSpeed& link) {
    Seconds before_s = 0;
    std::size_t before = 0;
    for (const std::size_t bytes : kSizes) {
      // More than once: the first finds connections that have not come up to speed, and any may
      // find a processor that does something else.
      const auto took = shift_s(bytes, before_s < kShortStep ? 3 : 2);
      if (!took.ok()) return took.error();
      if (*took > before_s) {
        link.bytes_per_s = static_cast<double>(bytes - before) / (*took - before_s);
      }
      before_s = *took;
      before = bytes;
      if (*took > long_step_s_) break;
    }
    return {};
  }

  Group& whole_;
  std::shared_ptr<Group> part_;
  int leader_;
  Seconds long_step_s_;
  CallOptions call_;
  std::vector<std::byte> sent_, got_;
};

// Adding two buffers that the cache holds.
double measure_adding() {
  constexpr std::size_t kElements = 32 << 10;
  constexpr int kPasses = 4;
  std::vector<float> sum(kElements), other(kElements, 1.0F);
  Seconds least = kNever;
  for (int i = 0; i < kPasses; ++i) {
    const std::int64_t begin = monotonic_ns();
    auto* target = reinterpret_cast<std::byte*>(sum.data());
    combine(target, target, reinterpret_cast<const std::byte*>(other.data()), kElements,
            DataType::kFloat32, ReduceOp::kSum);
    least = std::min(least, static_cast<double>(monotonic_ns() - begin) * 1e-9);
  }
  return kElements * sizeof(float) / std::max(least, 1e-9);
}

}  // namespace

Result<LinkSpeeds> agree_on_links(Group& group, const LinkSpeeds& links, const CallOptions& call) {
  auto numbers = numbers_of(links);
  const Status told =
      group.broadcast(numbers.data(), numbers.size(), DataType::kFloat64, 0, call)->wait();
  if (!told.ok()) return told.error();
  return links_of(numbers);
}

Result<LinkSpeeds> measure_links(Group& group, const std::vector<std::string>& hosts,
                                 const CallOptions& call) {
  LinkSpeeds links;
  links.add_bytes_per_s = measure_adding();
  const auto [same, other] = probe_parts(hosts, group.rank());
  for (const auto& [part, link] :
       {std::pair{&same, &links.same_host}, std::pair{&other, &links.other_host}}) {
    if (part->leader < 0) continue;
    auto together = group.subgroup(part->ranks);
    if (!together.ok()) return together.error();
    const Seconds long_step_s = part == &same ? kLongStepHere : kLongStepFar;
    const Status measured =
        KindProbe(group, *together, part->leader, long_step_s, call).measure(*link);
    if (!measured.ok()) return measured.error();
  }
  return agree_on_links(group, links, call);
}

}  // namespace weft::runtime

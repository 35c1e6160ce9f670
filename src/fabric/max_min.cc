#include "fabric/max_min.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

// Levels that differ by less are the same: sums in another order differ by this much.
constexpr double kShareRounding = 4e-15;
// A link whose load stays this far below its capacity is not looked at.
constexpr double kClearlyFree = 1 - 1e-9;

double finite(double level) { return level == kUnlimited ? 0 : level; }

// Brings equal links together if any link repeats; returns how many different ones there are.
std::uint16_t collapse(std::vector<LinkId>& links) {
  bool repeats = false;
  if (links.size() <= 8) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) repeats |= links[i] == links[j];
    }
    if (!repeats) return static_cast<std::uint16_t>(links.size());
  }
  std::sort(links.begin(), links.end());
  std::size_t different = links.empty() ? 0 : 1;
  for (std::size_t i = 1; i < links.size(); ++i) different += links[i] != links[i - 1];
  return static_cast<std::uint16_t>(different);
}

}  // namespace

MaxMin::MaxMin(std::vector<double> bytes_per_s, double tolerance)
    : capacity_(std::move(bytes_per_s)),
      first_slot_(capacity_.size(), kNone),
      tolerance_(std::max(tolerance, kShareRounding)) {}

MaxMin::SlotId MaxMin::slot_of(LinkId link, std::uint32_t rank) {
  CHECK(link < capacity_.size());
  SlotId before = kNone, at = first_slot_[link];
  while (at != kNone && slots_[at].rank < rank) {
    before = at;
    at = slots_[at].next;
  }
  if (at != kNone && slots_[at].rank == rank) return at;
  SlotId made;
  if (free_slots_.empty()) {
    made = static_cast<SlotId>(slots_.size());
    slots_.emplace_back();
  } else {
    made = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& slot = slots_[made];
  slot.level = slot.wanted = kUnlimited;
  slot.load = 0;
  slot.link = link;
  slot.rank = rank;
  slot.next = at;
  (before == kNone ? first_slot_[link] : slots_[before].next) = made;
  return made;
}

void MaxMin::leave_slot(Hop hop) {
  Slot& slot = slots_[hop.slot];
  const Slot::Entry last = slot.entries.back();
  slot.entries[hop.index] = last;
  hops_[streams_[last.stream].first_hop + last.hop].index = hop.index;
  slot.entries.pop_back();
  if (slot.entries.empty()) slot.level = slot.wanted = kUnlimited;
  mark(hop.slot);
}

// A link keeps one slot, used or not, so that links that fall idle now and then cost nothing.
void MaxMin::release(SlotId id) {
  Slot& slot = slots_[id];
  slot.load = 0;
  queue_.erase(id);
  if (slot.next == kNone && first_slot_[slot.link] == id) return;
  SlotId* at = &first_slot_[slot.link];
  while (*at != id) at = &slots_[*at].next;
  *at = slot.next;
  free_slots_.push_back(id);
}

std::uint32_t MaxMin::take_hops(std::uint16_t count) {
  if (count < free_hops_.size() && !free_hops_[count].empty()) {
    const std::uint32_t at = free_hops_[count].back();
    free_hops_[count].pop_back();
    return at;
  }
  const auto at = static_cast<std::uint32_t>(hops_.size());
  hops_.resize(hops_.size() + count);
  return at;
}

void MaxMin::add_hop(StreamId id, LinkId link, std::uint32_t rank, std::uint32_t times) {
  Stream& stream = streams_[id];
  const SlotId slot = slot_of(link, rank);
  auto& entries = slots_[slot].entries;
  hops_[stream.first_hop + stream.hops] = {slot, static_cast<std::uint32_t>(entries.size()), times};
  entries.push_back({0, stream.weight * times, id, stream.hops, static_cast<std::uint16_t>(times)});
  ++stream.hops;
  mark(slot);
}

StreamId MaxMin::add(const StreamSpec& spec, std::uint32_t flows) {
  CHECK(flows > 0 && spec.weight > 0 && spec.cap >= 0 && spec.path.size() < kCapHop);
  StreamId id;
  if (free_streams_.empty()) {
    id = static_cast<StreamId>(streams_.size());
    streams_.emplace_back();
  } else {
    id = free_streams_.back();
    free_streams_.pop_back();
  }
  Stream& stream = streams_[id];
  const bool listed = stream.changed;  // by a stream of this id that was removed since
  stream = {};
  stream.changed = listed;
  stream.unit = spec.weight;
  stream.flows = flows;
  stream.weight = spec.weight * flows;
  stream.cap_level = spec.cap / spec.weight;
  crossed_.assign(spec.path.begin(), spec.path.end());
  const std::uint16_t links = collapse(crossed_);
  stream.first_hop = take_hops(links);
  for (std::size_t i = 0, times = 1; i < crossed_.size(); i += times, times = 1) {
    while (i + times < crossed_.size() && crossed_[i + times] == crossed_[i]) ++times;
    add_hop(id, crossed_[i], spec.rank, static_cast<std::uint32_t>(times));
  }
  note_change(id);
  refresh(id, kNone);
  return id;
}

void MaxMin::set_flows(StreamId id, std::uint32_t flows) {
  Stream& stream = streams_[id];
  CHECK(flows > 0 && stream.flows > 0);
  const double more = stream.unit * flows - stream.weight;
  stream.weight += more;
  stream.flows = flows;
  for (std::uint16_t h = 0; h < stream.hops; ++h) {
    const Hop& hop = hops_[stream.first_hop + h];
    slots_[hop.slot].load += more * finite(stream.low) * hop.times;
    slots_[hop.slot].entries[hop.index].weight = stream.weight * hop.times;
    mark(hop.slot);
    mark_next(slots_[hop.slot]);
  }
}

void MaxMin::set_cap(StreamId id, double cap) {
  CHECK(streams_[id].flows > 0 && cap >= 0);
  streams_[id].cap_level = cap / streams_[id].unit;
  refresh(id, kNone);
}

void MaxMin::remove(StreamId id) {
  Stream& stream = streams_[id];
  CHECK(stream.flows > 0);
  for (std::uint16_t h = 0; h < stream.hops; ++h) {
    const Hop hop = hops_[stream.first_hop + h];
    slots_[hop.slot].load -= stream.weight * finite(stream.low) * hop.times;
    mark_next(slots_[hop.slot]);
    leave_slot(hop);
  }
  if (stream.hops >= free_hops_.size()) free_hops_.resize(stream.hops + std::size_t{1});
  free_hops_[stream.hops].push_back(stream.first_hop);
  stream.flows = 0;
  free_streams_.push_back(id);
}

void MaxMin::set_capacity(LinkId link, double bytes_per_s) {
  CHECK(bytes_per_s >= 0);
  capacity_[link] = bytes_per_s;
  for (SlotId slot = first_slot_[link]; slot != kNone; slot = slots_[slot].next) mark(slot);
}

bool MaxMin::carries(StreamId id, const StreamSpec& spec) {
  const Stream& stream = streams_[id];
  if (stream.unit != spec.weight || stream.cap_level != spec.cap / spec.weight) return false;
  crossed_.assign(spec.path.begin(), spec.path.end());
  if (collapse(crossed_) != stream.hops) return false;
  std::size_t i = 0;
  for (std::uint16_t h = 0; h < stream.hops; ++h) {
    const Hop& hop = hops_[stream.first_hop + h];
    if (slots_[hop.slot].rank != spec.rank || i + hop.times > crossed_.size()) return false;
    for (std::uint32_t k = 0; k < hop.times; ++k, ++i) {
      if (crossed_[i] != slots_[hop.slot].link) return false;
    }
  }
  return i == crossed_.size();
}

double MaxMin::load(LinkId link) const {
  double sum = 0;
  for (SlotId s = first_slot_[link]; s != kNone; s = slots_[s].next) sum += slots_[s].load;
  return std::max(0.0, sum);
}

void MaxMin::mark(SlotId slot) {
  if (slots_[slot].marked) return;
  slots_[slot].marked = true;
  marked_.push_back(slot);
}

// The next rank has another look at what is left for it, and then the one after.
void MaxMin::mark_next(const Slot& slot) {
  SlotId id = slot.next;
  while (id != kNone && slots_[id].entries.empty()) id = slots_[id].next;
  if (id == kNone || slots_[id].stale) return;
  slots_[id].stale = true;
  queue_.set(id, {slots_[id].rank, 0.0});
}

void MaxMin::note_change(StreamId id) {
  if (streams_[id].changed) return;
  streams_[id].changed = true;
  changed_.push_back(id);
}

bool MaxMin::same(double a, double b) const {
  return a == b || std::abs(a - b) <= tolerance_ * std::max(finite(a), finite(b));
}

// What lower ranks leave.
double MaxMin::room(const Slot& slot) const {
  double left = capacity_[slot.link];
  for (SlotId s = first_slot_[slot.link]; slots_[s].rank < slot.rank; s = slots_[s].next) {
    left -= slots_[s].load;
  }
  return std::max(0.0, left);
}

// The level at which the slot is full: sum of weight * min(other, level) = room.
void MaxMin::evaluate(SlotId id) {
  Slot& slot = slots_[id];
  if (slot.stale) mark_next(slot);
  slot.marked = slot.stale = false;
  if (slot.entries.empty()) {
    release(id);
    return;
  }
  const double capacity = room(slot);
  double weight = 0, sum = 0, load = 0;
  for (const Slot::Entry& entry : slot.entries) {
    weight += entry.weight;
    sum += entry.weight * entry.other;
    load += entry.weight * finite(std::min(entry.other, slot.level));
  }
  slot.load = load;
  slot.wanted = kUnlimited;
  if (sum > capacity * (1 + kShareRounding)) {
    double level = capacity / weight, last = -1;
    while (level > last) {
      last = level;
      double left = capacity, rest = 0;
      for (const Slot::Entry& entry : slot.entries) {
        const bool below = entry.other < level;
        left -= below ? entry.weight * entry.other : 0;
        rest += below ? 0 : entry.weight;
      }
      level = rest > 0 ? std::max(left / rest, last) : last;
    }
    slot.wanted = level;
  }
  if (same(slot.wanted, slot.level)) {
    slot.wanted = slot.level;
    queue_.erase(id);
  } else {
    queue_.set(id, {slot.rank, std::min(slot.level, slot.wanted)});
  }
}

void MaxMin::evaluate_marked() {
  for (std::size_t i = 0; i < marked_.size(); ++i) evaluate(marked_[i]);
  marked_.clear();
}

void MaxMin::rescan(Stream& stream) const {
  stream.low = stream.cap_level;
  stream.lowest = kCapHop;
  stream.second = kUnlimited;
  for (std::uint16_t h = 0; h < stream.hops; ++h) {
    const double level = slots_[hops_[stream.first_hop + h].slot].level;
    if (level < stream.low) {
      stream.second = stream.low;
      stream.low = level;
      stream.lowest = h;
    } else {
      stream.second = std::min(stream.second, level);
    }
  }
}

// Whether a claim that goes from `before` to `after` moves the slot's level.
bool MaxMin::affects(const Slot& slot, double before, double after) const {
  if (slot.wanted < kUnlimited)
    return std::min(before, slot.wanted) != std::min(after, slot.wanted);
  if (slot.level < kUnlimited || after == kUnlimited) return after > before;
  return slot.load > kClearlyFree * capacity_[slot.link] || slot.rank > 0;
}

// Brings a stream in line with the levels on its path. `cause`: the slot that moved.
void MaxMin::refresh(StreamId id, SlotId cause) {
  Stream& stream = streams_[id];
  const double low = stream.low, second = stream.second;
  const std::uint16_t lowest = stream.lowest;
  rescan(stream);
  if (stream.low == low && stream.second == second && stream.lowest == lowest) return;
  const double more = stream.weight * (finite(stream.low) - finite(low));
  if (stream.low != low) note_change(id);
  for (std::uint16_t h = 0; h < stream.hops; ++h) {
    const SlotId at = hops_[stream.first_hop + h].slot;
    Slot& slot = slots_[at];
    slot.load += more * hops_[stream.first_hop + h].times;
    if (more != 0) mark_next(slot);
    const double after = stream.lowest == h ? stream.second : stream.low;
    slot.entries[hops_[stream.first_hop + h].index].other = after;
    if (at == cause || slot.marked) continue;
    const double before = lowest == h ? second : low;
    if (before != after && affects(slot, before, after)) mark(at);
  }
}

void MaxMin::correct(SlotId id) {
  Slot& slot = slots_[id];
  slot.level = slot.wanted;
  ++corrections_;
  for (const Slot::Entry& entry : slot.entries) refresh(entry.stream, id);
}

void MaxMin::start_over() {
  for (Slot& slot : slots_) slot.level = slot.wanted = kUnlimited;
  for (StreamId id = 0; id < streams_.size(); ++id) {
    if (streams_[id].flows > 0) refresh(id, kNone);
  }
  for (SlotId id = 0; id < slots_.size(); ++id) {
    if (!slots_[id].entries.empty()) mark(id);
  }
}

const std::vector<StreamId>& MaxMin::settle() {
  // Rounding can in principle send a correction round in circles; then everything is filled anew,
  // from the lowest level up, which visits each level once.
  std::uint64_t patience = 1000 + 64 * slots_.size();
  evaluate_marked();
  while (!queue_.empty()) {
    const SlotId id = queue_.pop();
    if (slots_[id].stale) {
      evaluate(id);
      continue;
    }
    correct(id);
    if (--patience == 0) start_over();
    evaluate_marked();
  }
  reported_.clear();
  for (StreamId id : changed_) {
    Stream& stream = streams_[id];
    stream.changed = false;
    if (stream.flows == 0) continue;
    stream.rate = stream.unit * stream.low;
    reported_.push_back(id);
  }
  changed_.clear();
  return reported_;
}

}  // namespace weft

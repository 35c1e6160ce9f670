#include "fabric/flow_sim.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft {
namespace {

// Ends closer together than this factor of the time are one moment.
constexpr double kSameMoment = 1e-14;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace

// Heap order: the flow with the least left on top, the longest running first among equals.
struct FlowSim::Later {
  const std::vector<Flow>& flows;
  bool operator()(FlowId a, FlowId b) const {
    return flows[a].end != flows[b].end ? flows[a].end > flows[b].end : a > b;
  }
};

std::uint64_t FlowSim::key_of(const StreamSpec& spec) const {
  std::uint64_t hash = mix(spec.rank, std::bit_cast<std::uint64_t>(spec.weight));
  hash = mix(hash, std::bit_cast<std::uint64_t>(spec.cap));
  for (LinkId link : spec.path) hash = mix(hash, link);
  return hash != 0 ? hash : 1;  // 0: a stream that is not filed
}

FlowId FlowSim::start(const StreamSpec& spec, double bytes) {
  CHECK(bytes >= 0);
  FlowId id;
  if (free_flows_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.live = true;
  ++running_;
  if (bytes == 0 || (spec.path.empty() && spec.cap == kNever)) {
    flow.stream = kNoStream;
    instant_.push_back(id);
    return id;
  }
  const std::uint64_t key = key_of(spec);
  const StreamId alike = by_key_.find(key);
  const bool fresh = alike == StreamIndex::kNone;
  const bool merges = !fresh && solver_.carries(alike, spec);
  const StreamId stream_id = merges ? alike : solver_.add(spec);
  if (stream_id >= streams_.size()) streams_.resize(stream_id + std::size_t{1});
  Stream& stream = streams_[stream_id];
  if (merges) {
    bring_up(stream);
    solver_.set_flows(stream_id, static_cast<std::uint32_t>(stream.flows.size() + 1));
  } else {
    stream.moved = stream.rate = 0;
    stream.since = now_;
    stream.key = fresh ? key : 0;  // two keys alike: the later stream stays apart
    if (fresh) by_key_.insert(key, stream_id);
  }
  flow.stream = stream_id;
  flow.end = stream.moved + bytes;
  stream.flows.push_back(id);
  std::push_heap(stream.flows.begin(), stream.flows.end(), Later{flows_});
  if (merges && stream.flows.front() == id) requeue(stream_id);
  dirty_ = true;
  return id;
}

double FlowSim::stop(FlowId id) {
  CHECK(id < flows_.size() && flows_[id].live);
  const double left = bytes_left(id);
  const StreamId stream_id = flows_[id].stream;
  flows_[id].live = false;
  free_flows_.push_back(id);
  --running_;
  if (stream_id == kNoStream) {
    std::erase(instant_, id);
    return left;
  }
  Stream& stream = streams_[stream_id];
  std::erase(stream.flows, id);
  std::make_heap(stream.flows.begin(), stream.flows.end(), Later{flows_});
  bring_up(stream);
  shrink(stream_id);
  return left;
}

void FlowSim::settle() {
  if (!dirty_) return;
  dirty_ = false;
  for (StreamId id : solver_.settle()) {
    bring_up(streams_[id]);
    streams_[id].rate = solver_.rate(id);
    requeue(id);
  }
}

void FlowSim::requeue(StreamId id) {
  const Stream& stream = streams_[id];
  if (stream.rate <= 0) {
    ends_.erase(id);
    return;
  }
  const double left = std::max(0.0, flows_[stream.flows.front()].end - stream.moved);
  ends_.set(id, stream.since + left / stream.rate);
}

// After a flow has left: tells the solver.
void FlowSim::shrink(StreamId id) {
  Stream& stream = streams_[id];
  dirty_ = true;
  if (!stream.flows.empty()) {
    solver_.set_flows(id, static_cast<std::uint32_t>(stream.flows.size()));
    requeue(id);
    return;
  }
  solver_.remove(id);
  ends_.erase(id);
  if (stream.key != 0) by_key_.erase(stream.key);
}

Seconds FlowSim::next_end() {
  if (!instant_.empty()) return now_;
  settle();
  return ends_.empty() ? kNever : ends_.top_key();
}

void FlowSim::advance_to(Seconds at, std::vector<FlowId>& ended) {
  CHECK(at >= now_ && at <= next_end());
  ended.clear();
  now_ = at;
  for (FlowId id : instant_) ended.push_back(id);
  instant_.clear();
  const Seconds until = at * (1 + kSameMoment);
  while (!ends_.empty() && ends_.top_key() <= until) {
    const StreamId id = ends_.top();
    Stream& stream = streams_[id];
    bring_up(stream);
    stream.moved = std::max(stream.moved, flows_[stream.flows.front()].end);
    while (!stream.flows.empty() && flows_[stream.flows.front()].end <= stream.moved) {
      std::pop_heap(stream.flows.begin(), stream.flows.end(), Later{flows_});
      ended.push_back(stream.flows.back());
      stream.flows.pop_back();
    }
    shrink(id);
  }
  for (FlowId id : ended) {
    flows_[id].live = false;
    free_flows_.push_back(id);
  }
  running_ -= ended.size();
}

double FlowSim::rate(FlowId flow) {
  CHECK(flow < flows_.size() && flows_[flow].live);
  settle();
  return flows_[flow].stream == kNoStream ? 0 : streams_[flows_[flow].stream].rate;
}

double FlowSim::bytes_left(FlowId id) const {
  CHECK(id < flows_.size() && flows_[id].live);
  if (flows_[id].stream == kNoStream) return 0;
  const Stream& stream = streams_[flows_[id].stream];
  const double moved = stream.moved + stream.rate * (now_ - stream.since);
  return std::max(0.0, flows_[id].end - moved);
}

}  // namespace weft

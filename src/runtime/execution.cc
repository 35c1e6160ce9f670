#include "runtime/execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "runtime/copy.h"
#include "runtime/reduce.h"

namespace weft::runtime {
namespace {

using collective::Buffer;
using collective::Kind;

// Messages of an operation of this length would push its own data out of the last cache.
constexpr std::size_t kLargeBytes = 8 << 20;

}  // namespace

Execution::Execution(OperationSpec spec) : spec_(std::move(spec)) { prepare(); }

void Execution::restart(OperationSpec spec) {
  // Lanes and scratch memory serve again where the program and the amounts are the same.
  const bool same = spec.program == spec_.program && spec.call == spec_.call &&
                    spec.slices == spec_.slices && spec.pairs == spec_.pairs;
  if (!same) spare_.clear();
  spec_ = std::move(spec);
  own_input_.reset();
  finished_ = failed_ = agreed_ = alarmed_ = agreement_sent_ = large_ = false;
  failure_.clear();
  ended_ns_ = 0;
  step_ = 0;
  agreement_round_ = blocked_ = 0;
  next_slice_ = under_way_ = ended_ = 0;
  slice_bytes_ = 0;
  prepare();
}

void Execution::prepare() {
  low_ = high_ = {spec_.call, static_cast<std::uint32_t>(spec_.rank), 0};
  agreed_ = spec_.hears_all;
  own_us_.assign(spec_.members->size(), 0);
  layout_.reset();
  if (spec_.program == nullptr) return;
  const EndpointProgram& program = *spec_.program;
  const std::size_t width = size_of(spec_.call.type);
  layout_.emplace(program, spec_.call.count, width, spec_.slices, spec_.pairs.get());
  runs_.resize(spec_.slices);
  const std::size_t all_bytes = static_cast<std::size_t>(spec_.call.count) * width;
  slice_bytes_ = all_bytes / spec_.slices;
  large_ = all_bytes >= kLargeBytes;
  if (!program.in_place && !program.one_sum && spec_.input == spec_.output &&
      spec_.input != nullptr) {
    // Schedules that are not in place have one part in and one part out of the same size.
    const std::size_t bytes = static_cast<std::size_t>(spec_.call.count) * width;
    own_input_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    copy_bytes(own_input_.get(), spec_.input, bytes, false);
    spec_.input = own_input_.get();
  }
}

void Execution::fail(std::string why) {
  if (done()) return;
  failed_ = true;
  failure_ = std::move(why);
}

void Execution::clear() {
  runs_.clear();
  early_.clear();
  agreement_.clear();
}

void Execution::begin(Carrier& carrier) {
  if (agreed_) {
    if (spec_.program == nullptr) finished_ = true;
  } else {
    agree(carrier);
  }
}

bool Execution::retry(Carrier& carrier) {
  if (done() || blocked_ == 0) return false;
  const int before = blocked_;
  if (!agreed_) {
    blocked_ = 0;
    agree(carrier);
    return blocked_ == 0;
  }
  bool moved = false;
  for (std::size_t s = 0; s < runs_.size() && blocked_ > 0 && !done(); ++s) {
    if (runs_[s] == nullptr) continue;
    for (LaneRun& lane : runs_[s]->lanes) {
      if (!lane.blocked) continue;
      const auto place = std::pair(lane.round, lane.next_send + lane.next_step);
      advance(*runs_[s], lane, carrier);
      if (runs_[s] == nullptr || done()) return true;
      moved |= place != std::pair(lane.round, lane.next_send + lane.next_step);
    }
  }
  return moved || blocked_ != before;
}

void Execution::take(Parcel parcel, Carrier& carrier, bool may_pin) {
  if (done()) return;
  const Header& header = parcel.header();
  if (header.lane == kAgreementLane && !spec_.hears_all) {
    if (!agreed_) {
      parcel.keep();
      agreement_.push_back(std::move(parcel));
      agree(carrier);
    }
    return;
  }
  if (!(header.call == spec_.call)) {
    const auto self = static_cast<std::uint16_t>(spec_.rank);
    const bool first = self < header.from;
    fail(fmt::format("rank {} called {}, but rank {} called {}", first ? self : header.from,
                     describe(first ? spec_.call : header.call), first ? header.from : self,
                     describe(first ? header.call : spec_.call)));
    return;
  }
  if (!fits(parcel)) return;
  own_us_[header.from] = header.own_us;
  if (!agreed_) {
    if (!may_pin) parcel.keep();
    early_.push_back(std::move(parcel));
    return;
  }
  if (header.slice < next_slice_ && runs_[header.slice] == nullptr) return;  // ended: doubled
  while (header.slice >= next_slice_) {
    if (!start_slice(carrier)) return;
  }
  if (runs_[header.slice] == nullptr || done()) return;
  SliceRun& run = *runs_[header.slice];
  LaneRun& lane = run.lanes[header.lane];
  lane.waiting.push_back(std::move(parcel));
  advance(run, lane, carrier);
  if (may_pin) return;
  for (Parcel& waiting : lane.waiting) waiting.keep();
}

// A message that names what does not exist comes from a rank that is not of our kind.
bool Execution::fits(const Parcel& parcel) {
  const Header& header = parcel.header();
  if (spec_.program != nullptr && header.slice < spec_.slices &&
      header.lane < spec_.program->lanes.size() && header.from < spec_.members->size()) {
    return true;
  }
  fail(fmt::format("rank {} sent slice {} of lane {} of {}, which has {} slices and {} lanes",
                   header.from, header.slice, header.lane, describe(spec_.call), spec_.slices,
                   spec_.program == nullptr ? 0 : spec_.program->lanes.size()));
  return false;
}

bool Execution::start_slice(Carrier& carrier) {
  if (!wants_slice()) return false;
  SliceRun& run = run_of(next_slice_++);
  ++under_way_;
  const std::uint32_t slice = run.slice;
  for (std::size_t i = 0; i < spec_.program->lanes.size(); ++i) {
    if (runs_[slice] == nullptr || done()) break;
    advance(*runs_[slice], runs_[slice]->lanes[i], carrier);
  }
  return true;
}

Execution::SliceRun& Execution::run_of(std::uint32_t slice) {
  if (spare_.empty()) {
    auto run = std::make_unique<SliceRun>();
    run->lanes.resize(spec_.program->lanes.size());
    if (layout_->scratch_bytes() > 0) {
      run->scratch = std::make_unique_for_overwrite<std::byte[]>(layout_->scratch_bytes());
    }
    spare_.push_back(std::move(run));
  }
  runs_[slice] = std::move(spare_.back());
  spare_.pop_back();
  SliceRun& run = *runs_[slice];
  run.slice = slice;
  run.open = run.lanes.size();
  for (std::size_t i = 0; i < run.lanes.size(); ++i) {
    LaneRun& lane = run.lanes[i];
    lane.lane = static_cast<std::uint16_t>(i);
    lane.blocked = lane.done = false;
    lane.round = lane.next_send = lane.next_step = lane.reached = 0;
    lane.ahead = lane.ahead_next = 0;
    lane.waiting.clear();
  }
  if (run.lanes.empty()) end_slice(run);
  return run;
}

void Execution::advance(SliceRun& run, LaneRun& lane, Carrier& carrier) {
  if (lane.done) return;
  const auto& rounds = spec_.program->lanes[lane.lane];
  bool room = true;
  while (lane.round < rounds.size() && room && !failed_) {
    const ProgramRound& round = rounds[lane.round];
    while (lane.next_send < round.sends.size()) {
      const bool forwarded =
          lane.next_send < kForwardable && ((lane.ahead >> lane.next_send) & 1) != 0;
      if (!forwarded && !try_send(run, lane, round.sends[lane.next_send], carrier)) break;
      ++lane.next_send;
    }
    bool waits = false;
    while (lane.next_step < round.steps.size() && !failed_) {
      const Step& step = round.steps[lane.next_step];
      if (step.summands > 0) {
        if (!try_sum(run, lane, round, carrier)) {
          waits = true;
          break;
        }
        lane.next_step += static_cast<std::size_t>(step.summands);
        continue;
      }
      if (!try_step(run, lane, step, carrier)) {
        waits = true;
        if (step.kind == Kind::kSend) room = false;
        break;
      }
      ++lane.next_step;
    }
    if (lane.next_send < round.sends.size()) room = false;
    if (waits || !room || failed_) break;
    ++lane.round;
    lane.next_send = lane.next_step = 0;
    lane.ahead = std::exchange(lane.ahead_next, 0);
  }
  if (failed_) return;
  if (lane.blocked == room) {
    lane.blocked = !room;
    blocked_ += room ? -1 : 1;
  }
  if (lane.round == rounds.size()) {
    lane.done = true;
    if (--run.open == 0) end_slice(run);
  }
}

bool Execution::try_send(SliceRun& run, LaneRun& lane, const Step& step, Carrier& carrier) {
  const std::size_t bytes = layout_->bytes_of(run.slice, step.source);
  if (bytes == 0 && layout_->skips_empty()) return true;
  const auto all = members_of(step);
  while (lane.reached < all.size()) {
    const auto left = all.subspan(lane.reached);
    const auto to = left.first(left.size() == 1 ? 1 : carrier.together(left));
    const Room room = carrier.reserve(to, bytes, large_);
    if (room.at == nullptr) return false;
    std::byte* at = room.at;
    for (const Cell& cell : step.source) {
      const std::size_t size = layout_->count_of(run.slice, cell.chunk) * layout_->width();
      copy_bytes(at, address(run, cell), size, room.around);
      at += size;
    }
    carrier.post(room.at, to, header_for(run, lane, step));
    lane.reached += to.size();
  }
  lane.reached = 0;
  return true;
}

bool Execution::try_step(SliceRun& run, LaneRun& lane, const Step& step, Carrier& carrier) {
  if (step.kind == Kind::kSend) return try_send(run, lane, step, carrier);
  if (step.kind == Kind::kCopy || step.kind == Kind::kReduce) {
    work_locally(run, step);
    return true;
  }
  if (layout_->skips_empty() && layout_->bytes_of(run.slice, step.target) == 0) return true;
  const std::optional<Parcel> parcel = arrived(run, lane, step);
  if (!parcel) return false;
  if (!try_forward(run, lane, step, *parcel, carrier)) apply(run, step, *parcel);
  carrier.delivered(parcel->header(), static_cast<std::uint32_t>(step.target.size()));
  return true;
}

void Execution::end_slice(SliceRun& run) {
  if (spec_.call.reduce == ReduceOp::kAverage && spec_.rank < spec_.program->ranks) {
    const auto ranks = static_cast<std::uint32_t>(spec_.program->ranks);
    const collective::Operation operation = spec_.program->operation;
    const bool has_sum = operation == collective::Operation::kAllReduce ||
                         operation == collective::Operation::kReduceScatter ||
                         (operation == collective::Operation::kReduce &&
                          spec_.call.root == static_cast<std::uint32_t>(spec_.rank));
    if (has_sum) {
      const Layout::Range range = layout_->slice(run.slice);
      scale_down(spec_.output + range.first * layout_->width(), range.count, spec_.call.type,
                 ranks);
    }
  }
  --under_way_;
  spare_.push_back(std::move(runs_[run.slice]));
  if (++ended_ == spec_.slices) finished_ = true;
}

std::byte* Execution::address(SliceRun& run, const Cell& cell) const {
  const std::size_t offset = layout_->at(run.slice, cell).first * layout_->width();
  switch (cell.buffer) {
    case Buffer::kInput:
      return const_cast<std::byte*>(spec_.input) + offset;  // only read
    case Buffer::kOutput:
      return spec_.output + offset;
    case Buffer::kScratch:
      return run.scratch.get() + offset;
  }
  return nullptr;
}

Header Execution::header_for(const SliceRun& run, const LaneRun& lane, const Step& step) const {
  Header header;
  header.group = spec_.key.group;
  header.epoch = spec_.key.epoch;
  header.stream = spec_.key.stream;
  header.sequence = spec_.key.sequence;
  header.slice = run.slice;
  header.index = step.index;
  header.lane = lane.lane;
  header.from = static_cast<std::uint16_t>(spec_.rank);
  header.bytes = static_cast<std::uint32_t>(layout_->bytes_of(run.slice, step.source));
  header.call = spec_.call;
  header.own_us = own_us_[static_cast<std::size_t>(spec_.rank)];
  return header;
}

std::span<const MemberId> Execution::members_of(const Step& step) {
  to_.clear();
  for (const int peer : step.peers) to_.push_back((*spec_.members)[static_cast<std::size_t>(peer)]);
  return to_;
}

std::vector<int> Execution::waited_for() const {
  std::vector<int> ranks;
  const auto size = static_cast<int>(spec_.members->size());
  if (!agreed_ && agreement_sent_) {
    ranks.push_back(((spec_.rank - (1 << agreement_round_)) % size + size) % size);
  }
  for (const auto& run : runs_) {
    if (run == nullptr) continue;
    for (const LaneRun& lane : run->lanes) {
      if (lane.done) continue;
      const auto& steps = spec_.program->lanes[lane.lane][lane.round].steps;
      if (lane.next_step < steps.size() && !steps[lane.next_step].peers.empty()) {
        ranks.push_back(steps[lane.next_step].peers[0]);
      }
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace weft::runtime

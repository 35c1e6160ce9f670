// The part of Execution that takes messages: adds them, passes them on, puts them in their place.
#include <fmt/core.h>

#include <algorithm>

#include "runtime/copy.h"
#include "runtime/execution.h"
#include "runtime/reduce.h"

namespace weft::runtime {

using collective::Kind;

std::optional<Parcel> Execution::arrived(SliceRun& run, LaneRun& lane, const Step& step) {
  for (std::size_t i = 0; i < lane.waiting.size(); ++i) {
    const Header& header = lane.waiting[i].header();
    if (header.from != step.peers[0] || header.index != step.index) continue;
    const std::size_t due = layout_->bytes_of(run.slice, step.target);
    if (header.bytes != due) {
      fail(fmt::format("rank {} sent {} bytes where {} of {} are due", header.from, header.bytes,
                       due, describe(spec_.call)));
      return std::nullopt;
    }
    Parcel parcel = std::move(lane.waiting[i]);
    if (i + 1 != lane.waiting.size()) lane.waiting[i] = std::move(lane.waiting.back());
    lane.waiting.pop_back();
    return parcel;
  }
  return std::nullopt;
}

bool Execution::try_sum(SliceRun& run, LaneRun& lane, const ProgramRound& round, Carrier& carrier) {
  const std::size_t first = lane.next_step;
  const auto summands = static_cast<std::size_t>(round.steps[first].summands);
  const auto receives = [&](std::size_t i) {
    const Kind kind = round.steps[first + i].kind;
    return kind == Kind::kReceive || kind == Kind::kReceiveReduce;
  };
  // The sends of the round read what the sum may overwrite.
  if (lane.next_send < round.sends.size()) return false;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < summands; ++i) missing += receives(i) ? 1 : 0;
  if (lane.waiting.size() < missing) return false;  // a lane of one sum holds nothing else
  summed_.clear();
  sources_.resize(summands);
  for (std::size_t i = 0; i < summands; ++i) {
    const Step& step = round.steps[first + i];
    if (receives(i)) {
      std::optional<Parcel> parcel = arrived(run, lane, step);
      if (!parcel) {
        // Of another round: put back what was taken.
        for (Parcel& taken : summed_) lane.waiting.push_back(std::move(taken));
        summed_.clear();
        return false;
      }
      sources_[i] = parcel->payload();
      summed_.push_back(std::move(*parcel));
    } else {
      sources_[i] = address(run, step.source[0]);
    }
  }
  const Cell& target = round.steps[first].target[0];
  combine_many(address(run, target), sources_, layout_->count_of(run.slice, target.chunk),
               spec_.call.type, spec_.call.reduce);
  for (const Parcel& parcel : summed_) carrier.delivered(parcel.header(), 1);
  summed_.clear();
  return true;
}

bool Execution::try_forward(SliceRun& run, LaneRun& lane, const Step& step, const Parcel& parcel,
                            Carrier& carrier) {
  if (step.forwards < 0 || step.forwards >= kForwardable) return false;
  const Step& send = spec_.program->lanes[lane.lane][lane.round + 1]
                         .sends[static_cast<std::size_t>(step.forwards)];
  const std::size_t bytes = parcel.header().bytes;
  const auto to = members_of(send);
  const Room room = carrier.reserve(to, bytes, large_);
  if (room.at == nullptr) return false;
  std::byte* target = address(run, step.target[0]);
  if (step.kind == Kind::kReceiveReduce) {
    const std::byte* source = address(run, step.source[0]);
    if (room.around) {
      combine_around(step.target_unread ? nullptr : target, room.at, source, parcel.payload(),
                     bytes);
    } else if (step.target_unread) {
      combine(room.at, source, parcel.payload(), bytes / layout_->width(), spec_.call.type,
              spec_.call.reduce);
    } else {
      combine_twice(target, room.at, source, parcel.payload(), bytes / layout_->width(),
                    spec_.call.type, spec_.call.reduce);
    }
  } else if (step.target_unread) {
    copy_bytes(room.at, parcel.payload(), bytes, room.around);
  } else if (room.around) {
    copy_bytes(target, parcel.payload(), bytes, false);
    copy_bytes(room.at, parcel.payload(), bytes, true);
  } else {
    copy_twice(target, room.at, parcel.payload(), bytes);
  }
  carrier.post(room.at, to, header_for(run, lane, send));
  lane.ahead_next |= std::uint64_t{1} << step.forwards;
  return true;
}

// Sums a little at a time, so that what is written around the caches is read from the nearest.
// Without a target only the room is written.
void Execution::combine_around(std::byte* target, std::byte* room, const std::byte* a,
                               const std::byte* b, std::size_t bytes) const {
  constexpr std::size_t kPiece = 4096;
  alignas(64) std::byte piece[kPiece];
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t size = std::min(kPiece, bytes - at);
    std::byte* sum = target == nullptr ? piece : target + at;
    combine(sum, a + at, b + at, size / layout_->width(), spec_.call.type, spec_.call.reduce);
    copy_bytes(room + at, sum, size, true);
  }
}

void Execution::apply(SliceRun& run, const Step& step, const Parcel& parcel) {
  const std::byte* from = parcel.payload();
  for (std::size_t i = 0; i < step.target.size(); ++i) {
    const std::size_t count = layout_->count_of(run.slice, step.target[i].chunk);
    std::byte* target = address(run, step.target[i]);
    if (step.kind == Kind::kReceiveReduce) {
      combine(target, address(run, step.source[i]), from, count, spec_.call.type,
              spec_.call.reduce);
    } else {
      copy_bytes(target, from, count * layout_->width(), false);
    }
    from += count * layout_->width();
  }
}

void Execution::work_locally(SliceRun& run, const Step& step) {
  for (std::size_t i = 0; i < step.target.size(); ++i) {
    const std::size_t count = layout_->count_of(run.slice, step.target[i].chunk);
    std::byte* target = address(run, step.target[i]);
    const std::byte* source = address(run, step.source[i]);
    if (step.kind == Kind::kReduce) {
      combine(target, target, source, count, spec_.call.type, spec_.call.reduce);
    } else if (target != source) {
      copy_bytes(target, source, count * layout_->width(), false);
    }
  }
}

}  // namespace weft::runtime

// The part of Execution that takes messages and adds several at once.
#include <fmt/format.h>

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
  std::vector<std::optional<Parcel>> parcels(summands);
  std::vector<const std::byte*> sources(summands);
  for (std::size_t i = 0; i < summands; ++i) {
    const Step& step = round.steps[first + i];
    if (receives(i)) {
      parcels[i] = arrived(run, lane, step);
      if (!parcels[i]) {
        // Of another round: put back what was taken.
        for (auto& taken : parcels) {
          if (taken) lane.waiting.push_back(std::move(*taken));
        }
        return false;
      }
      sources[i] = parcels[i]->payload();
    } else {
      sources[i] = address(run, step.source[0]);
    }
  }
  const Cell& target = round.steps[first].target[0];
  combine_many(address(run, target), sources, layout_->count_of(run.slice, target.chunk),
               spec_.call.type, spec_.call.reduce);
  for (const auto& parcel : parcels) {
    if (parcel) carrier.delivered(parcel->header(), 1);
  }
  return true;
}

}  // namespace weft::runtime

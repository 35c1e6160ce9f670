// How the ranks compare their calls: in round k each tells rank + 2^k the least and the greatest
// call it knows of, so that after log2(ranks) rounds all know both (dissemination; Hensgen, Finkel,
// Manber 1988). Equal means that all called the same; else every rank has the same two to name.
// What the ranks computed so far travels with it: before round k a rank knows it of itself and of
// the 2^k - 1 ranks before it.
#include <fmt/core.h>

#include <cstring>

#include "runtime/execution.h"

namespace weft::runtime {

void Execution::agree(Carrier& carrier) {
  const auto size = static_cast<int>(spec_.members->size());
  while ((1 << agreement_round_) < size && !failed_) {
    const int distance = 1 << agreement_round_;
    if (!agreement_sent_) {
      const MemberId to =
          (*spec_.members)[static_cast<std::size_t>((spec_.rank + distance) % size)];
      std::byte* room = carrier.reserve({&to, 1}, opinion_bytes(), false).at;
      if (room == nullptr) {
        blocked_ = 1;
        return;
      }
      write_opinions(room);
      Header header;
      header.group = spec_.key.group;
      header.epoch = spec_.key.epoch;
      header.stream = spec_.key.stream;
      header.sequence = spec_.key.sequence;
      header.index = static_cast<std::uint32_t>(agreement_round_);
      header.lane = kAgreementLane;
      header.from = static_cast<std::uint16_t>(spec_.rank);
      header.bytes = static_cast<std::uint32_t>(opinion_bytes());
      header.call = spec_.call;
      carrier.post(room, {&to, 1}, header);
      agreement_sent_ = true;
    }
    const int from = ((spec_.rank - distance) % size + size) % size;
    bool found = false;
    for (std::size_t i = 0; i < agreement_.size() && !found; ++i) {
      const Header& header = agreement_[i].header();
      if (header.from != from || header.index != static_cast<std::uint32_t>(agreement_round_)) {
        continue;
      }
      merge(agreement_[i]);
      agreement_.erase(agreement_.begin() + static_cast<std::ptrdiff_t>(i));
      found = true;
    }
    if (!found) return;
    ++agreement_round_;
    agreement_sent_ = false;
  }
  if (!failed_) finish_agreement();
  if (failed_ || !agreed_) return;
  carrier.compared(spec_);
  if (spec_.program == nullptr) {
    finished_ = true;
    return;
  }
  std::vector<Parcel> early = std::move(early_);
  early_.clear();
  for (Parcel& parcel : early) take(std::move(parcel), carrier, false);
}

std::size_t Execution::opinion_bytes() const {
  return 2 * sizeof(Opinion) + (sizeof(std::uint32_t) << agreement_round_);
}

void Execution::write_opinions(std::byte* room) const {
  std::memcpy(room, &low_, sizeof(Opinion));
  std::memcpy(room + sizeof(Opinion), &high_, sizeof(Opinion));
  const std::size_t size = own_us_.size();
  for (std::size_t i = 0; i < std::size_t{1} << agreement_round_; ++i) {
    const std::size_t rank = (static_cast<std::size_t>(spec_.rank) + size - i % size) % size;
    std::memcpy(room + 2 * sizeof(Opinion) + i * sizeof(std::uint32_t), &own_us_[rank],
                sizeof(std::uint32_t));
  }
}

void Execution::merge(const Parcel& parcel) {
  if (parcel.header().bytes != opinion_bytes()) {
    fail(fmt::format("rank {} compares calls with {} bytes, expected {}", parcel.header().from,
                     parcel.header().bytes, opinion_bytes()));
    return;
  }
  const std::size_t size = own_us_.size();
  for (std::size_t i = 0; i < std::size_t{1} << agreement_round_; ++i) {
    std::uint32_t& own_us = own_us_[(parcel.header().from + size - i % size) % size];
    const std::byte* at = parcel.payload() + 2 * sizeof(Opinion) + i * sizeof(own_us);
    if (own_us == 0) std::memcpy(&own_us, at, sizeof(own_us));
  }
  Opinion low, high;
  std::memcpy(&low, parcel.payload(), sizeof(Opinion));
  std::memcpy(&high, parcel.payload() + sizeof(Opinion), sizeof(Opinion));
  // By call, then by rank, so that all ranks end with the same two.
  const auto before = [](const Opinion& a, const Opinion& b) {
    const int order = std::memcmp(&a.call, &b.call, sizeof(Call));
    return order != 0 ? order < 0 : a.rank < b.rank;
  };
  if (before(low, low_)) low_ = low;
  if (before(high_, high)) high_ = high;
}

void Execution::finish_agreement() {
  if (low_.call == high_.call) {
    agreed_ = true;
    return;
  }
  const Opinion& first = low_.rank < high_.rank ? low_ : high_;
  const Opinion& second = low_.rank < high_.rank ? high_ : low_;
  fail(fmt::format("rank {} called {}, but rank {} called {}", first.rank, describe(first.call),
                   second.rank, describe(second.call)));
}

}  // namespace weft::runtime

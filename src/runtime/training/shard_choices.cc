// Backup workers: how the choices of rank 0's ballot come to the shards of all ranks, in order.
#include <fmt/core.h>

#include <algorithm>

#include "runtime/training/shard_service.h"

namespace weft::runtime {
namespace {

// Number, clock, late, how many ranks, and so many; then zeros. The number 0 ends.
constexpr std::size_t kFixedWords = 4;

}  // namespace

// Requires: the lock, and that this is rank 0.
void ShardService::tell(const sync::Ballot::Choice& choice) {
  std::vector<std::uint64_t> words = {choice.number, choice.clock, choice.late ? 1U : 0U,
                                      choice.ranks.size()};
  words.insert(words.end(), choice.ranks.begin(), choice.ranks.end());
  tell_words(std::move(words));
  const auto actions = server_.chosen(choice);
  CHECK(actions.ok());
  carry_out(*actions);
}

void ShardService::tell_words(std::vector<std::uint64_t> words) {
  const auto is_told = [](const Telling& telling) {
    return std::all_of(telling.sends.begin(), telling.sends.end(),
                       [](const auto& work) { return work->done(); });
  };
  while (!tellings_.empty() && is_told(tellings_.front())) tellings_.pop_front();
  Telling& telling = tellings_.emplace_back();
  telling.words = std::move(words);
  telling.words.resize(kFixedWords + static_cast<std::size_t>(ranks_));
  for (int rank = 1; rank < ranks_; ++rank) {
    telling.sends.push_back(
        group_->send(telling.words.data(), telling.words.size(), DataType::kInt64, rank, kChoice));
  }
}

Status ShardService::wait_for_tellings() {
  Status status;
  for (const Telling& telling : tellings_) {
    for (const auto& work : telling.sends) {
      if (Status sent = work->wait(); !sent.ok()) status = sent;
    }
  }
  return status;
}

Status ShardService::will_meet() {
  if (!backup_ || finished_) return {};
  if (rank_ == 0) {
    meets(rank_);
    return {};
  }
  const std::uint64_t head[2] = {kMeeting, 0};
  return group_->send(head, 2, DataType::kInt64, 0, kPushHead)->wait();
}

// At rank 0.
void ShardService::meets(int rank) {
  const std::lock_guard lock(mutex_);
  if (!ballot_) return;
  if (const auto choice = ballot_->meets(static_cast<std::uint32_t>(rank))) tell(*choice);
}

// At the other ranks, until the ballot has ended.
void ShardService::listen() {
  std::vector<std::uint64_t> words(kFixedWords + static_cast<std::size_t>(ranks_));
  while (true) {
    Status status =
        group_->receive(words.data(), words.size(), DataType::kInt64, 0, kChoice, patient())
            ->wait();
    if (status.ok() && words[0] == 0) return;
    if (status.ok()) status = hear(words);
    if (!status.ok()) return fail(status.error().what);
  }
}

Status ShardService::hear(std::span<const std::uint64_t> words) {
  if (words[3] > static_cast<std::uint64_t>(ranks_)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank 0 has chosen {} ranks of {}", words[3], ranks_), ""};
  }
  sync::Ballot::Choice choice{words[0], words[1], {}, words[2] != 0};
  for (const std::uint64_t rank : words.subspan(kFixedWords, words[3])) {
    choice.ranks.push_back(static_cast<std::uint32_t>(rank));
  }
  const std::lock_guard lock(mutex_);
  const auto actions = server_.chosen(choice);
  if (!actions.ok()) return actions.error();
  carry_out(*actions);
  return {};
}

}  // namespace weft::runtime

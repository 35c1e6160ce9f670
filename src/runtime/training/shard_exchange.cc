// What a rank does with the shards of all: pushes its way and takes the fresh parameters.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/compress/letter.h"
#include "runtime/training/shard_service.h"

namespace weft::runtime {

Result<std::uint64_t> ShardService::exchange(const sync::Action& action,
                                             const sync::Replica<float>& replica,
                                             std::span<float> agreed, std::span<float> parameters) {
  codec::CodecState held_back;
  if (backup_) held_back = pushed_;
  if (Status status = push(action, replica, parameters); !status.ok()) return status.error();
  const auto answer = take_answers(agreed);
  if (!answer.ok()) return answer.error();
  if (backup_ && answer->counted == 0) {
    held_back.step = pushed_.step;
    pushed_ = std::move(held_back);
  }
  std::copy(agreed.begin(), agreed.end(), parameters.begin());
  return answer->clock;
}

Status ShardService::wait_for_pushes() {
  for (const auto& work : pushes_) {
    if (Status status = work->wait(); !status.ok()) return status;
  }
  pushes_.clear();
  return {};
}

Status ShardService::push(const sync::Action& action, const sync::Replica<float>& replica,
                          std::span<const float> parameters) {
  if (Status status = wait_for_pushes(); !status.ok()) return status;
  std::vector<int> order;  // not everybody at the same shard first; own one last
  for (int k = 1; k <= ranks_; ++k) order.push_back((rank_ + k) % ranks_);
  if (backup_) std::stable_partition(order.begin(), order.end(), [](int rank) { return rank > 0; });
  std::vector<float> way;
  for (const int rank : order) {
    if (backup_ && rank == 0) {
      // The ballot hears of it when nobody would have to wait for the rest.
      if (Status status = wait_for_pushes(); !status.ok()) return status;
    }
    const auto shard = shard_of(rank);
    way.resize(shard.size);
    replica.way(action, parameters, shard, way);
    auto& letter = letters_[static_cast<std::size_t>(rank)];
    if (plain_) {
      const auto bytes = std::as_bytes(std::span(way));
      letter.assign(bytes.begin(), bytes.end());
    } else {
      const codec::OpaqueCodec& codec = *codec_->opaque();
      letter.resize(letter_room(codec.most_bytes(shard.size)));
      letter.resize(write_letter(letter, [&](std::span<std::byte> body) {
        return codec.encode(way, shard.from, pushed_, body);
      }));
    }
    if (rank == rank_) {
      take(rank, action.step, letter);
      continue;
    }
    auto& head = heads_[static_cast<std::size_t>(rank)];
    head = {action.step, letter.size()};
    pushes_.push_back(group_->send(head.data(), 2, DataType::kInt64, rank, kPushHead));
    pushes_.push_back(
        group_->send(letter.data(), letter.size(), DataType::kUint8, rank, kPushBody));
  }
  ++pushed_.step;
  return {};
}

Result<ShardService::Head> ShardService::take_answers(std::span<float> agreed) {
  std::vector<Head> heads;
  for (int k = 1; k < ranks_; ++k) {
    const auto head = take_answer((rank_ + k) % ranks_, agreed);
    if (!head.ok()) return head.error();
    heads.push_back(*head);
  }
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return own_answer_ || !failure_.empty(); });
  if (!failure_.empty()) return Error{ErrorKind::kInvalidInput, failure_, ""};
  own_answer_ = false;
  const auto shard = shard_of(rank_);
  const Client& own = clients_[static_cast<std::size_t>(rank_)];
  if (plain_) {
    std::memcpy(agreed.data() + shard.from, own.answer.data(), shard.size * sizeof(float));
  } else {
    std::copy(own.has.begin(), own.has.end(),
              agreed.begin() + static_cast<std::ptrdiff_t>(shard.from));
  }
  // All shards carry out the same choices.
  for (const Head& head : heads) {
    if (head.clock == own.head.clock && head.counted == own.head.counted) continue;
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("shards answer with clocks {} and {}, which must be the same",
                             own.head.clock, head.clock),
                 "give all ranks the same model, codec and mode"};
  }
  return own.head;
}

Result<ShardService::Head> ShardService::take_answer(int rank, std::span<float> agreed) {
  const auto shard = shard_of(rank);
  const auto place = agreed.subspan(shard.from, shard.size);
  Head head;
  if (Status status =
          group_->receive(&head, kHeadWords, DataType::kInt64, rank, kAnswerHead)->wait();
      !status.ok()) {
    return status.error();
  }
  const std::size_t most =
      plain_ ? shard.size * sizeof(float) : letter_room(codec_->opaque()->most_bytes(shard.size));
  if (head.size > most || (plain_ && head.size != most)) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("rank {} answers with {} bytes; the most is {}", rank, head.size, most), ""};
  }
  std::vector<std::byte> body(plain_ ? 0 : head.size);
  std::byte* to = plain_ ? reinterpret_cast<std::byte*>(place.data()) : body.data();
  if (Status status = group_->receive(to, head.size, DataType::kUint8, rank, kAnswerBody)->wait();
      !status.ok()) {
    return status.error();
  }
  if (plain_) return head;
  const auto bytes = read_letter(body);
  if (!bytes.ok()) return bytes.error();
  if (Status status = codec_->opaque()->decode_add(*bytes, place); !status.ok()) {
    return status.error();
  }
  return head;
}

}  // namespace weft::runtime

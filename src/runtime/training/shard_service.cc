#include "runtime/training/shard_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/compress/letter.h"

namespace weft::runtime {
namespace {

constexpr Seconds kForever = 1e8;  // a server waits for ranks that compute as long as they like

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

ShardService::ShardService(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
                           const sync::Mode& mode, std::vector<sync::Member> members,
                           std::span<const float> parameters, std::uint64_t clock)
    : group_(std::move(group)),
      codec_(std::move(codec)),
      plain_(codec_->text() == "none"),
      ranks_(group_->size()),
      rank_(group_->rank()),
      size_(parameters.size()),
      backup_(mode.backup > 0),
      letters_(static_cast<std::size_t>(ranks_)),
      heads_(static_cast<std::size_t>(ranks_)),
      server_(mode, {}),
      clients_(static_cast<std::size_t>(ranks_)) {
  CHECK(codec_->opaque() != nullptr);
  const auto own = shard_of(rank_);
  const auto part = parameters.subspan(own.from, own.size);
  shard_.assign(part.begin(), part.end());
  way_.resize(own.size);
  if (mode.buffer > 0) buffer_.resize(own.size);
  for (sync::Member& member : members) member.round = clock;
  server_.change_members(members);
  if (backup_) server_.settle(clock);
  if (backup_ && rank_ == 0) {
    ballot_.emplace(static_cast<std::uint32_t>(ranks_), mode.backup, clock);
  }
  const codec::Place place{static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks_),
                           1};
  pushed_ = codec_->make_state(plain_ ? 0 : size_, place);
  answers_ = codec_->make_state(plain_ ? 0 : own.size, place);
  for (Client& client : clients_) {
    client.clock = clock;
    if (!plain_) client.has = shard_;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) threads_.emplace_back([this, rank] { serve(rank); });
  }
  if (backup_ && rank_ != 0) threads_.emplace_back([this] { listen(); });
}

ShardService::~ShardService() {
  if (!finished_) fail("a rank ended without finish() while it served a shard");
  for (std::thread& thread : threads_) thread.join();
  static_cast<void>(wait_for_tellings());  // their memory must stay until they have ended
}

sync::Range ShardService::shard_of(int rank) const {
  return sync::part_of(size_, static_cast<std::uint32_t>(ranks_), static_cast<std::uint32_t>(rank));
}

CallOptions ShardService::patient() const {
  CallOptions call;
  call.deadline_s = kForever;
  return call;
}

std::uint64_t ShardService::widest() const {
  const std::lock_guard lock(mutex_);
  return widest_;
}

// The first failure breaks the group, so that every rank hears of it.
void ShardService::fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  if (group_->broken().empty()) group_->abandon(why);
  answered_.notify_all();
}

void ShardService::serve(int rank) {
  std::vector<std::byte> body;
  while (true) {
    std::uint64_t clock = 0;
    if (const Status status = receive_push(rank, clock, body); !status.ok()) {
      return fail(status.error().what);
    }
    if (clock == kGoodbye) return release(rank);
    if (clock == kMeeting) {
      meets(rank);
    } else {
      take(rank, clock, body);
    }
  }
}

Status ShardService::receive_push(int rank, std::uint64_t& clock, std::vector<std::byte>& body) {
  std::uint64_t head[2] = {};
  if (Status status =
          group_->receive(head, 2, DataType::kInt64, rank, kPushHead, patient())->wait();
      !status.ok()) {
    return status;
  }
  clock = head[0];
  if (clock == kGoodbye || clock == kMeeting) return {};
  const std::size_t most = plain_ ? shard_.size() * sizeof(float)
                                  : letter_room(codec_->opaque()->most_bytes(shard_.size()));
  if (head[1] > most) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("rank {} pushes {} bytes to a shard; the most is {}", rank, head[1], most), ""};
  }
  body.resize(head[1]);
  return group_->receive(body.data(), body.size(), DataType::kUint8, rank, kPushBody)->wait();
}

void ShardService::take(int rank, std::uint64_t clock, std::span<const std::byte> body) {
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    Status status;
    if (plain_) {
      CHECK(body.size() == way_.size() * sizeof(float));
      if (!body.empty()) std::memcpy(way_.data(), body.data(), body.size());
    } else {
      const auto bytes = read_letter(body);
      status = bytes.ok() ? codec_->opaque()->decode(*bytes, way_) : Status{bytes.error()};
    }
    if (status.ok()) {
      const auto actions = server_.pushed(static_cast<std::uint32_t>(rank), clock);
      if (actions.ok()) {
        clients_[static_cast<std::size_t>(rank)].clock = clock;
        carry_out(*actions);
        if (ballot_) {
          const auto choice = ballot_->ready(static_cast<std::uint32_t>(rank), clock);
          if (choice) tell(*choice);
        }
      } else {
        status = actions.error();
      }
    }
    if (!status.ok()) why = fmt::format("rank {}: {}", rank, status.error().what);
  }
  if (!why.empty()) fail(why);
}

// A rank that has ended holds nobody up.
void ShardService::release(int rank) {
  const std::lock_guard lock(mutex_);
  carry_out(server_.left(static_cast<std::uint32_t>(rank)));
  if (!ballot_) return;
  if (const auto choice = ballot_->ends(static_cast<std::uint32_t>(rank))) tell(*choice);
  if (++ended_ == ranks_) tell_words({});
}

void ShardService::carry_out(const sync::ServerActions& actions) {
  using Kind = sync::ServerAction::Kind;
  for (const sync::ServerAction& action : actions) {
    if (action.kind == Kind::kAnswer) {
      answer(action);
      continue;
    }
    Client& client = clients_[action.rank];
    if (action.kind == Kind::kKeep) {
      client.kept = way_;
      continue;
    }
    std::vector<float>& to = action.kind == Kind::kCollect ? buffer_ : shard_;
    const std::vector<float>& from = action.kind == Kind::kMove   ? buffer_
                                     : action.kind == Kind::kTake ? client.kept
                                                                  : way_;
    const float scale =
        static_cast<float>(action.kind == Kind::kCollect ? action.scale : -action.scale);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
    if (action.kind == Kind::kMove) std::fill(buffer_.begin(), buffer_.end(), 0.0F);
  }
}

void ShardService::answer(const sync::ServerAction& action) {
  const int rank = static_cast<int>(action.rank);
  Client& client = clients_[action.rank];
  if (backup_) client.clock = action.clock;
  widest_ = std::max(widest_, client.clock - std::min(client.clock, server_.slowest()));
  encode_answer(client);
  client.head = {client.clock, client.answer.size(), action.counted ? 1U : 0U};
  if (rank == rank_) {
    own_answer_ = true;
    answered_.notify_all();
    return;
  }
  client.sends = {group_->send(&client.head, kHeadWords, DataType::kInt64, rank, kAnswerHead),
                  group_->send(client.answer.data(), client.answer.size(), DataType::kUint8, rank,
                               kAnswerBody)};
}

// Requires: the lock. Ensures: client.has is what the rank will have after it.
void ShardService::encode_answer(Client& client) {
  for (const auto& work : client.sends) {
    const Status sent = work->wait();  // of the answer before, which the rank has long had
    static_cast<void>(sent);           // a broken group is noticed by whoever receives
  }
  client.sends.clear();
  if (plain_) {
    const auto bytes = bytes_of(shard_);
    client.answer.assign(bytes.begin(), bytes.end());
    return;
  }
  const codec::OpaqueCodec& codec = *codec_->opaque();
  std::vector<float>& has = client.has;
  std::vector<float> difference(shard_.size());
  for (std::size_t i = 0; i < shard_.size(); ++i) difference[i] = shard_[i] - has[i];
  client.answer.resize(letter_room(codec.most_bytes(shard_.size())));
  // What the rank has tells what was not sent: the state must not remember it too.
  answers_.forget(0, answers_.size);
  const std::size_t used = write_letter(client.answer, [&](std::span<std::byte> body) {
    return codec.encode(difference, 0, answers_, body);
  });
  ++answers_.step;
  client.answer.resize(used);
  if (const auto bytes = read_letter(client.answer); bytes.ok()) {
    CHECK(codec.decode_add(*bytes, has).ok());
  }
}

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
      const auto bytes = bytes_of(way);
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
    CHECK(head.clock == own.head.clock && head.counted == own.head.counted);
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

Status ShardService::finish(std::span<float> parameters) {
  if (finished_) return {};
  release(rank_);
  std::vector<Group::WorkPtr> works;
  std::uint64_t goodbye[2] = {kGoodbye, 0};
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    works.push_back(group_->send(goodbye, 2, DataType::kInt64, rank, kPushHead));
  }
  Status status;
  for (const auto& work : works) {
    if (Status sent = work->wait(); !sent.ok()) status = sent;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  finished_ = true;
  if (Status told = wait_for_tellings(); !told.ok()) status = told;
  if (!status.ok()) return status;
  if (!failure_.empty()) return Error{ErrorKind::kInvalidInput, failure_, ""};
  const auto own = shard_of(rank_);
  std::copy(shard_.begin(), shard_.end(),
            parameters.begin() + static_cast<std::ptrdiff_t>(own.from));
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto part = shard_of(rank);
    if (Status spread =
            group_->broadcast(parameters.data() + part.from, part.size, DataType::kFloat32, rank)
                ->wait();
        !spread.ok()) {
      return spread;
    }
  }
  return {};
}

}  // namespace weft::runtime

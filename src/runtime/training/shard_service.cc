#include "runtime/training/shard_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/compress/letter.h"

namespace weft::runtime {
namespace {

// Tags of the messages: a head of clock and length, then so many bytes.
constexpr std::uint32_t kPushHead = 1, kPushBody = 2, kAnswerHead = 3, kAnswerBody = 4;
constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};
constexpr Seconds kForever = 1e8;  // a server waits for ranks that compute as long as they like

std::vector<sync::Member> members_of(int ranks, std::uint64_t clock) {
  std::vector<sync::Member> members(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    members[rank].rank = static_cast<std::uint32_t>(rank);
    members[rank].round = clock;
  }
  return members;
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

ShardService::ShardService(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
                           const sync::Mode& mode, std::span<const float> parameters,
                           std::uint64_t clock)
    : group_(std::move(group)),
      codec_(std::move(codec)),
      plain_(codec_->text() == "none"),
      ranks_(group_->size()),
      rank_(group_->rank()),
      size_(parameters.size()),
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
  server_.change_members(members_of(ranks_, clock));
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
}

ShardService::~ShardService() {
  if (!finished_) fail("a rank ended without finish() while it served a shard");
  for (std::thread& thread : threads_) thread.join();
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
    take(rank, clock, body);
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
  if (clock == kGoodbye) return {};
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
        Client& client = clients_[static_cast<std::size_t>(rank)];
        client.clock = clock;
        client.waiting = true;
        carry_out(*actions);
      } else {
        status = actions.error();
      }
    }
    if (!status.ok()) why = fmt::format("rank {}: {}", rank, status.error().what);
  }
  if (!why.empty()) fail(why);
}

// A rank that has ended holds nobody up. Those who wait ask again, which counts nothing twice.
void ShardService::release(int rank) {
  const std::lock_guard lock(mutex_);
  clients_[static_cast<std::size_t>(rank)].gone = true;
  std::vector<sync::Member> left;
  for (std::size_t r = 0; r < clients_.size(); ++r) {
    if (clients_[r].gone) continue;
    left.emplace_back();
    left.back().rank = static_cast<std::uint32_t>(r);
    left.back().round = clients_[r].clock;
  }
  server_.change_members(left);
  for (const sync::Member& member : left) {
    const Client& client = clients_[member.rank];
    if (!client.waiting) continue;
    const auto actions = server_.pushed(member.rank, client.clock);
    if (actions.ok()) carry_out(*actions);
  }
}

void ShardService::carry_out(const std::vector<sync::ServerAction>& actions) {
  using Kind = sync::ServerAction::Kind;
  for (const sync::ServerAction& action : actions) {
    if (action.kind == Kind::kAnswer) {
      answer(static_cast<int>(action.rank));
      continue;
    }
    std::vector<float>& to = action.kind == Kind::kCollect ? buffer_ : shard_;
    std::vector<float>& from = action.kind == Kind::kMove ? buffer_ : way_;
    const float scale =
        static_cast<float>(action.kind == Kind::kCollect ? action.scale : -action.scale);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
    if (action.kind == Kind::kMove) std::fill(buffer_.begin(), buffer_.end(), 0.0F);
  }
}

void ShardService::answer(int rank) {
  Client& client = clients_[static_cast<std::size_t>(rank)];
  client.waiting = false;
  widest_ = std::max(widest_, client.clock - std::min(client.clock, server_.slowest()));
  encode_answer(client);
  if (rank == rank_) {
    own_answer_ = true;
    answered_.notify_all();
    return;
  }
  client.head[0] = client.clock;
  client.head[1] = client.answer.size();
  client.sends = {group_->send(client.head, 2, DataType::kInt64, rank, kAnswerHead),
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
  for (auto& local : answers_.local) std::fill(local.begin(), local.end(), 0.0F);
  const std::size_t used = write_letter(client.answer, [&](std::span<std::byte> body) {
    return codec.encode(difference, 0, answers_, body);
  });
  ++answers_.step;
  client.answer.resize(used);
  if (const auto bytes = read_letter(client.answer); bytes.ok()) {
    CHECK(codec.decode_add(*bytes, has).ok());
  }
}

Status ShardService::exchange(const sync::Action& action, const sync::Replica<float>& replica,
                              std::span<float> agreed, std::span<float> parameters) {
  if (Status status = push(action, replica, parameters); !status.ok()) return status;
  if (Status status = take_answers(agreed); !status.ok()) return status;
  std::copy(agreed.begin(), agreed.end(), parameters.begin());
  return {};
}

Status ShardService::push(const sync::Action& action, const sync::Replica<float>& replica,
                          std::span<const float> parameters) {
  for (const auto& work : pushes_) {
    if (Status status = work->wait(); !status.ok()) return status;
  }
  pushes_.clear();
  std::vector<float> way;
  for (int k = 1; k <= ranks_; ++k) {
    const int rank = (rank_ + k) % ranks_;  // not everybody at the same shard first; own one last
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

Status ShardService::take_answers(std::span<float> agreed) {
  for (int k = 1; k < ranks_; ++k) {
    const int rank = (rank_ + k) % ranks_;
    if (Status status = take_answer(rank, agreed); !status.ok()) return status;
  }
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return own_answer_ || !failure_.empty(); });
  if (!failure_.empty()) return Error{ErrorKind::kInvalidInput, failure_, ""};
  own_answer_ = false;
  const auto shard = shard_of(rank_);
  const std::vector<float>& now = plain_ ? shard_ : clients_[static_cast<std::size_t>(rank_)].has;
  if (plain_) {
    std::memcpy(agreed.data() + shard.from, clients_[static_cast<std::size_t>(rank_)].answer.data(),
                shard.size * sizeof(float));
  } else {
    std::copy(now.begin(), now.end(), agreed.begin() + static_cast<std::ptrdiff_t>(shard.from));
  }
  return {};
}

Status ShardService::take_answer(int rank, std::span<float> agreed) {
  const auto shard = shard_of(rank);
  const auto place = agreed.subspan(shard.from, shard.size);
  std::uint64_t head[2] = {};
  if (Status status = group_->receive(head, 2, DataType::kInt64, rank, kAnswerHead)->wait();
      !status.ok()) {
    return status;
  }
  const std::size_t most =
      plain_ ? shard.size * sizeof(float) : letter_room(codec_->opaque()->most_bytes(shard.size));
  if (head[1] > most || (plain_ && head[1] != most)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {} answers with {} bytes; the most is {}", rank, head[1], most),
                 ""};
  }
  std::vector<std::byte> body(plain_ ? 0 : head[1]);
  std::byte* to = plain_ ? reinterpret_cast<std::byte*>(place.data()) : body.data();
  if (Status status = group_->receive(to, head[1], DataType::kUint8, rank, kAnswerBody)->wait();
      !status.ok()) {
    return status;
  }
  if (plain_) return {};
  const auto bytes = read_letter(body);
  if (!bytes.ok()) return bytes.error();
  return codec_->opaque()->decode_add(*bytes, place);
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

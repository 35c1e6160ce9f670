#include "runtime/training/shard_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/compress/letter.h"

namespace weft::runtime {
namespace {

constexpr Seconds kForever = 1e8;  // a server waits for ranks that compute as long as they like

}  // namespace

ShardState fresh_shard(const sync::Mode& mode, const std::vector<sync::Member>& members,
                       std::span<const float> parameters, std::size_t rank) {
  const auto own = sync::part_of(parameters.size(), static_cast<std::uint32_t>(members.size()),
                                 static_cast<std::uint32_t>(rank));
  const auto part = parameters.subspan(own.from, own.size);
  ShardState state{{part.begin(), part.end()}, {}, {mode, members}, {}, 0};
  state.has.assign(members.size(), state.shard);
  return state;
}

ShardService::ShardService(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
                           const sync::Mode& mode, std::size_t size, ShardState state)
    : group_(std::move(group)),
      codec_(std::move(codec)),
      plain_(codec_->text() == "none"),
      ranks_(group_->size()),
      rank_(group_->rank()),
      size_(size),
      backup_(mode.backup > 0),
      letters_(static_cast<std::size_t>(ranks_)),
      heads_(static_cast<std::size_t>(ranks_)),
      server_(std::move(state.server)),
      shard_(std::move(state.shard)),
      buffer_(std::move(state.buffer)),
      clients_(static_cast<std::size_t>(ranks_)) {
  CHECK(codec_->opaque() != nullptr);
  const auto own = shard_of(rank_);
  CHECK(shard_.size() == own.size && state.has.size() == clients_.size());
  way_.resize(own.size);
  if (mode.buffer > 0) buffer_.resize(own.size);
  if (backup_ && rank_ == 0) {
    ballot_.emplace(static_cast<std::uint32_t>(ranks_), mode.backup, server_.version());
  }
  const codec::Place place{static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks_),
                           1};
  pushed_ = codec_->make_state(plain_ ? 0 : size_, place);
  answers_ = codec_->make_state(plain_ ? 0 : own.size, place);
  answers_.step = state.answers;
  for (std::size_t rank = 0; !plain_ && rank < clients_.size(); ++rank) {
    CHECK(state.has[rank].size() == own.size);
    clients_[rank].has = std::move(state.has[rank]);
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

ShardState ShardService::state() const {
  const std::lock_guard lock(mutex_);
  return {shard_, buffer_, server_, {}, answers_.step};
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
  if (head[1] > most || (plain_ && head[1] != most)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {} pushes {} bytes to a shard; {} {}", rank, head[1],
                             plain_ ? "it must be" : "the most is", most),
                 "give all ranks the same model, codec and mode"};
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
  using ActionKind = sync::ServerAction::Kind;
  for (const sync::ServerAction& action : actions) {
    if (action.kind == ActionKind::kAnswer) {
      answer(action);
      continue;
    }
    Client& client = clients_[action.rank];
    if (action.kind == ActionKind::kKeep) {
      client.kept = way_;
      continue;
    }
    std::vector<float>& to = action.kind == ActionKind::kCollect ? buffer_ : shard_;
    const std::vector<float>& from = action.kind == ActionKind::kMove   ? buffer_
                                     : action.kind == ActionKind::kTake ? client.kept
                                                                        : way_;
    const float scale =
        static_cast<float>(action.kind == ActionKind::kCollect ? action.scale : -action.scale);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
    if (action.kind == ActionKind::kMove) std::fill(buffer_.begin(), buffer_.end(), 0.0F);
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
    const auto bytes = std::as_bytes(std::span(shard_));
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

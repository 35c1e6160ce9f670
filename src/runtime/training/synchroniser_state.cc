// What a Synchroniser saves and goes on from.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/net/bytes.h"
#include "runtime/training/sync_operation.h"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kSyncMagic = 0x59534357, kSyncVersion = 2;  // "WCSY"

Error broken_sync(const std::string& what) {
  return Error{ErrorKind::kInvalidInput, "saved synchronisation state: " + what, ""};
}

void put_text(ByteWriter& out, std::string_view text) {
  out.put(static_cast<std::uint64_t>(text.size()));
  out.put_bytes(text);
}
void put_values(ByteWriter& out, std::span<const float> values) {
  put_text(out, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
std::string get_text(ByteReader& in) { return std::string(in.get_text(in.get<std::uint64_t>())); }
std::vector<float> get_values(ByteReader& in) {
  const std::string_view bytes = in.get_text(in.get<std::uint64_t>());
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

struct Synchroniser::Saved {
  std::string machine, reduce;
  std::vector<float> parameters;
  std::vector<std::vector<float>> vectors;  // as Replica::vectors()
  // Under shard servers:
  codec::CodecState pushed;
  std::string server;
  std::vector<float> shard, buffer;
  std::uint64_t answers = 0;
};

// What a rank goes on from.
struct Synchroniser::Start {
  sync::Machine machine;
  std::vector<float> parameters;
  std::vector<std::vector<float>> vectors;
  std::optional<ShardState> shard;
  codec::CodecState pushed;
};

// As before the averages under way, which are begun again.
BucketStates Synchroniser::states_to_save() {
  for (const auto& operation : under_way_) static_cast<void>(operation->wait_all());
  BucketStates states = reduce_.states();
  for (auto operation = under_way_.rbegin(); operation != under_way_.rend(); ++operation) {
    for (const auto& [bucket, state] : (*operation)->before) {
      states.erase(bucket);
      if (state) states.emplace(bucket, *state);
    }
  }
  return states;
}

std::string Synchroniser::save() {
  ByteWriter out;
  out.put(kSyncMagic);
  out.put(kSyncVersion);
  put_text(out, machine_->save());
  put_values(out, parameters_);
  const auto vectors = replica_.vectors();
  out.put(static_cast<std::uint32_t>(vectors.size()));
  for (const auto& vector : vectors) put_values(out, *vector.values);
  put_text(out, save_states(*options_.codec, states_to_save()));
  if (shards_ == nullptr) return out.take();
  const auto pushed = codec::save(shards_->pushed());
  put_text(out, {reinterpret_cast<const char*>(pushed.data()), pushed.size()});
  const ShardState shard = shards_->state();
  put_text(out, shard.server.save());
  put_values(out, shard.shard);
  put_values(out, shard.buffer);
  out.put(shard.answers);
  return out.take();
}

Result<Synchroniser::Saved> Synchroniser::load(const std::string& bytes) const {
  ByteReader in(view_of(bytes));
  if (in.get<std::uint32_t>() != kSyncMagic || in.get<std::uint32_t>() != kSyncVersion) {
    return broken_sync("it is not one, or of another version");
  }
  Saved saved;
  saved.machine = get_text(in);
  saved.parameters = get_values(in);
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) saved.vectors.push_back(get_values(in));
  saved.reduce = get_text(in);
  std::string pushed;
  if (options_.mode.exchange == sync::Exchange::kServers) {
    pushed = get_text(in);
    saved.server = get_text(in);
    saved.shard = get_values(in);
    saved.buffer = get_values(in);
    saved.answers = in.get<std::uint64_t>();
  }
  if (!in.at_end()) {
    return broken_sync("it is cut short, has bytes to spare, or is of another kind of sync mode");
  }
  if (saved.parameters.size() != parameters_.size()) {
    return broken_sync(fmt::format("it has {} parameters, the model {}", saved.parameters.size(),
                                   parameters_.size()));
  }
  if (pushed.empty()) return saved;
  auto state = codec::restore(view_of(pushed));
  if (!state.ok()) return state.error();
  saved.pushed = std::move(*state);
  return saved;
}

// Where a rank that was not there begins under servers: with those that are the furthest behind.
// With backup workers and another number of ranks all begin from the newest update.
std::size_t Synchroniser::place_for(std::size_t rank,
                                    const std::vector<sync::Machine>& machines) const {
  const std::size_t before = machines.size(), ranks = members_.size();
  if (options_.mode.exchange != sync::Exchange::kServers) return rank % before;
  const auto behind = [](const sync::Machine& a, const sync::Machine& b) {
    return a.round() < b.round();
  };
  if (options_.mode.backup > 0 && before != ranks) {
    return static_cast<std::size_t>(std::max_element(machines.begin(), machines.end(), behind) -
                                    machines.begin());
  }
  if (rank < before) return rank;
  return static_cast<std::size_t>(std::min_element(machines.begin(), machines.end(), behind) -
                                  machines.begin());
}

Result<Synchroniser::Start> Synchroniser::start_from(const std::vector<Saved>& all) {
  const auto rank = static_cast<std::size_t>(group_->rank());
  std::vector<sync::Machine> machines;
  for (const Saved& one : all) {
    auto machine = sync::Machine::restore(one.machine, members_, static_cast<std::uint32_t>(rank));
    if (!machine.ok()) return machine.error();
    if (sync::mode_text(machine->mode()) != sync::mode_text(options_.mode)) {
      return broken_sync(fmt::format("it is of sync mode '{}', not '{}'",
                                     sync::mode_text(machine->mode()),
                                     sync::mode_text(options_.mode)));
    }
    machines.push_back(std::move(*machine));
  }
  const std::size_t place = place_for(rank, machines);
  Start start{machines[place], all[place].parameters, {}, {}, {}};
  const auto vectors = replica_.vectors();
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    std::vector<std::vector<float>> old;
    for (const Saved& one : all) {
      old.push_back(v < one.vectors.size() ? one.vectors[v] : std::vector<float>{});
      if (old.back().size() != vectors[v].values->size()) {
        return broken_sync(fmt::format("its '{}' does not fit the model", vectors[v].name));
      }
    }
    const bool own = !vectors[v].replicated && !vectors[v].values->empty();
    start.vectors.push_back(own ? sync::reshard_control(old, members_.size())[rank] : old[place]);
  }
  if (options_.mode.exchange == sync::Exchange::kServers) {
    if (Status status = start_shard(all, machines, start); !status.ok()) return status.error();
  }
  return start;
}

// Each rank's shard and what ranks have of it as they were; with another number of ranks the shards
// are put together and dealt out anew, and all have them. Who was there keeps the way it has gone
// since its last exchange.
Status Synchroniser::start_shard(const std::vector<Saved>& all,
                                 const std::vector<sync::Machine>& machines, Start& start) {
  const std::size_t size = parameters_.size(), ranks = members_.size();
  const auto rank = static_cast<std::size_t>(group_->rank());
  const bool as_before = all.size() == ranks;
  std::vector<float> whole, buffer;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto part =
        sync::part_of(size, static_cast<std::uint32_t>(all.size()), static_cast<std::uint32_t>(i));
    const std::size_t buffered = options_.mode.buffer > 0 ? part.size : 0;
    if (all[i].shard.size() != part.size || all[i].buffer.size() != buffered) {
      return broken_sync(fmt::format("the shard of rank {} has {} values, not {}", i,
                                     all[i].shard.size(), part.size));
    }
    whole.insert(whole.end(), all[i].shard.begin(), all[i].shard.end());
    buffer.insert(buffer.end(), all[i].buffer.begin(), all[i].buffer.end());
  }
  std::vector<sync::Member> members = members_;
  for (std::size_t r = 0; r < ranks; ++r)
    members[r].round = machines[place_for(r, machines)].round();
  auto server = sync::ShardServer::restore(all[std::min(rank, all.size() - 1)].server, members);
  if (!server.ok()) return server.error();
  if (options_.mode.backup > 0 && !as_before) {
    server = sync::ShardServer(options_.mode, {});
    server->change_members(members);
    server->settle(members[0].round);
  }
  const auto own =
      sync::part_of(size, static_cast<std::uint32_t>(ranks), static_cast<std::uint32_t>(rank));
  const auto cut = [&](const std::vector<float>& from) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(from.empty() ? 0 : own.from);
    return std::vector<float>(first,
                              from.empty() ? first : first + static_cast<std::ptrdiff_t>(own.size));
  };
  const std::size_t agreed = place_of_agreed();
  ShardState shard{cut(whole), cut(buffer), std::move(*server), {}, 0};
  if (as_before) shard.answers = all[rank].answers;
  for (std::size_t r = 0; r < ranks; ++r) {
    shard.has.push_back(cut(as_before ? all[r].vectors[agreed] : whole));
  }
  if (!as_before) {
    const bool keeps_way = rank < all.size() && options_.mode.backup == 0;
    for (std::size_t i = 0; i < size; ++i) {
      const float way = keeps_way ? start.parameters[i] - start.vectors[agreed][i] : 0.0F;
      start.parameters[i] = whole[i] + way;
    }
    start.vectors[agreed] = std::move(whole);
  }
  start.shard = std::move(shard);
  return start_pushed(all, start);
}

// What error feedback held back of pushes: each rank's own, or spread over another number of ranks.
Status Synchroniser::start_pushed(const std::vector<Saved>& all, Start& start) const {
  const auto rank = static_cast<std::size_t>(group_->rank());
  std::vector<codec::CodecState> pushed;
  for (const Saved& one : all) pushed.push_back(one.pushed);
  std::uint64_t step = 0;
  for (const auto& state : pushed) step = std::max(step, state.step);
  for (auto& state : pushed) state.step = step;
  auto spread = codec::spread(pushed, static_cast<std::uint32_t>(members_.size()));
  if (!spread.ok()) return spread.error();
  const std::size_t size = options_.codec->text() == "none" ? 0 : parameters_.size();
  if ((*spread)[rank].codec != options_.codec->text() || (*spread)[rank].size != size) {
    return broken_sync(fmt::format("its pushes are {} values of codec '{}', not {} of '{}'",
                                   (*spread)[rank].size, (*spread)[rank].codec, size,
                                   options_.codec->text()));
  }
  for (const codec::CodecState& state : pushed) {
    if (Status status = options_.codec->check(state); !status.ok()) return status;
  }
  start.pushed = all.size() == members_.size() ? all[rank].pushed : (*spread)[rank];
  return {};
}

Status Synchroniser::restore(const std::vector<std::string>& saved) {
  if (saved.empty()) return broken_sync("it is empty");
  std::vector<Saved> all;
  std::vector<std::string> reduces;
  for (const std::string& bytes : saved) {
    auto one = load(bytes);
    if (!one.ok()) return one.error();
    reduces.push_back(one->reduce);
    all.push_back(std::move(*one));
  }
  auto start = start_from(all);
  if (!start.ok()) return start.error();
  if (Status status = finish(); !status.ok()) return status;
  // From here on an error leaves nothing to go on from.
  failed_ = Error{ErrorKind::kInvalidInput, "a state was loaded in part", "load one again"};
  if (Status status = reduce_.restore(reduces); !status.ok()) return status;
  auto vectors = replica_.vectors();
  for (std::size_t v = 0; v < vectors.size(); ++v) *vectors[v].values = start->vectors[v];
  std::copy(start->parameters.begin(), start->parameters.end(), parameters_.begin());
  queue_.clear();
  proceeding_ = gradients_there_ = false;
  shards_.reset();
  const bool servers = start->shard.has_value();
  if (Status status = begin(std::move(start->machine), std::move(start->shard)); !status.ok()) {
    return status;
  }
  if (servers) shards_->pushed() = std::move(start->pushed);
  failed_.reset();
  return {};
}

}  // namespace weft::runtime

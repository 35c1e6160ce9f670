// What a Synchroniser saves and goes on from.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/net/bytes.h"
#include "runtime/training/sync_operation.h"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kMagic = 0x59534357, kVersion = 1;  // "WCSY"

Error broken(const std::string& what) {
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
  codec::CodecState pushed;                 // of shard servers

  // Which of them `rank` goes on from. Under servers all begin alike, with what one rank has of the
  // shards; with backup workers, who may be behind, one that has the newest update.
  static Result<std::size_t> place_for(std::size_t rank, const std::vector<Saved>& all,
                                       const std::vector<sync::Member>& members) {
    std::size_t newest = 0;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto machine = sync::Machine::restore(all[i].machine, members, members[0].rank);
      if (!machine.ok()) return machine.error();
      if (machine->mode().exchange != sync::Exchange::kServers) return rank % all.size();
      if (machine->mode().backup == 0) return std::size_t{0};
      if (machine->round() > most) newest = i, most = machine->round();
    }
    return newest;
  }
};

std::string Synchroniser::save() {
  ByteWriter out;
  out.put(kMagic);
  out.put(kVersion);
  put_text(out, machine_->save());
  put_values(out, parameters_);
  const auto vectors = replica_.vectors();
  out.put(static_cast<std::uint32_t>(vectors.size()));
  for (const auto& vector : vectors) put_values(out, *vector.values);
  put_text(out, reduce_.save());
  const auto pushed = shards_ ? codec::save(shards_->pushed()) : std::vector<std::byte>{};
  put_text(out, {reinterpret_cast<const char*>(pushed.data()), pushed.size()});
  return out.take();
}

Result<Synchroniser::Saved> Synchroniser::load(const std::string& bytes) {
  ByteReader in(view_of(bytes));
  if (in.get<std::uint32_t>() != kMagic || in.get<std::uint32_t>() != kVersion) {
    return broken("it is not one, or of another version");
  }
  Saved saved;
  saved.machine = get_text(in);
  saved.parameters = get_values(in);
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) saved.vectors.push_back(get_values(in));
  saved.reduce = get_text(in);
  const std::string pushed = get_text(in);
  if (!in.at_end()) return broken("it is cut short, or has bytes to spare");
  if (pushed.empty()) return saved;
  auto state = codec::restore(view_of(pushed));
  if (!state.ok()) return state.error();
  saved.pushed = std::move(*state);
  return saved;
}

Status Synchroniser::restore(const std::vector<std::string>& saved) {
  if (saved.empty()) return broken("it is empty");
  std::vector<Saved> all;
  std::vector<std::string> reduces;
  for (const std::string& bytes : saved) {
    auto one = load(bytes);
    if (!one.ok()) return one.error();
    if (one->parameters.size() != parameters_.size()) {
      return broken(fmt::format("it has {} parameters, the model {}", one->parameters.size(),
                                parameters_.size()));
    }
    reduces.push_back(one->reduce);
    all.push_back(std::move(*one));
  }
  const auto rank = static_cast<std::size_t>(group_->rank());
  const auto ranks = static_cast<std::size_t>(group_->size());
  const bool servers = options_.mode.exchange == sync::Exchange::kServers;
  const auto place = Saved::place_for(rank, all, members_);
  if (!place.ok()) return place.error();
  const Saved& mine = all[*place];
  auto machine = sync::Machine::restore(mine.machine, members_, static_cast<std::uint32_t>(rank));
  if (!machine.ok()) return machine.error();
  if (sync::mode_text(machine->mode()) != sync::mode_text(options_.mode)) {
    return broken(fmt::format("it is of sync mode '{}', not '{}'", sync::mode_text(machine->mode()),
                              sync::mode_text(options_.mode)));
  }
  if (Status status = finish(); !status.ok()) return status;
  std::vector<std::vector<float>> own;
  auto vectors = replica_.vectors();
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    if (v >= mine.vectors.size() && vectors[v].values->empty()) continue;
    if (v >= mine.vectors.size() || mine.vectors[v].size() != vectors[v].values->size()) {
      return broken(fmt::format("its '{}' does not fit the model", vectors[v].name));
    }
    *vectors[v].values = mine.vectors[v];
    if (vectors[v].replicated || vectors[v].values->empty()) continue;
    std::vector<std::vector<float>> old;
    for (const Saved& one : all) old.push_back(one.vectors.at(v));
    *vectors[v].values = sync::reshard_control(old, ranks)[rank];
  }
  const std::vector<float>& values = servers ? agreed() : mine.parameters;
  std::copy(values.begin(), values.end(), parameters_.begin());
  if (Status status = reduce_.restore(reduces); !status.ok()) return status;
  queue_.clear();
  proceeding_ = gradients_there_ = false;
  shards_.reset();
  if (Status status = begin(std::move(*machine)); !status.ok() || !servers) return status;
  return restore_pushed(all);
}

// What error feedback held back of pushes: each rank's own, or spread over another number of ranks.
Status Synchroniser::restore_pushed(const std::vector<Saved>& all) {
  const auto rank = static_cast<std::size_t>(group_->rank());
  const auto ranks = static_cast<std::size_t>(group_->size());
  std::vector<codec::CodecState> pushed;
  for (const Saved& one : all) pushed.push_back(one.pushed);
  std::uint64_t step = 0;
  for (const auto& state : pushed) step = std::max(step, state.step);
  for (auto& state : pushed) state.step = step;
  auto spread = codec::spread(pushed, static_cast<std::uint32_t>(ranks));
  if (!spread.ok()) return spread.error();
  if ((*spread)[rank].codec != options_.codec->text()) {
    return broken(fmt::format("its pushes are of codec '{}', not '{}'", (*spread)[rank].codec,
                              options_.codec->text()));
  }
  shards_->pushed() = all.size() == ranks ? all[rank].pushed : (*spread)[rank];
  return {};
}

}  // namespace weft::runtime

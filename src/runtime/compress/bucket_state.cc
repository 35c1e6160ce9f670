#include "runtime/compress/bucket_state.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/net/bytes.h"
#include "sync/replica.h"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kBucketMagic = 0x50434357, kBucketVersion = 1;  // "WCCP"
constexpr std::uint32_t kMostBuckets = 1U << 27;  // as many as have streams of a group

Error broken_buckets(const std::string& what) {
  return Error{ErrorKind::kInvalidInput, "saved compression state: " + what, ""};
}

void put_state(ByteWriter& out, const codec::CodecState& state) {
  const std::vector<std::byte> bytes = codec::save(state);
  out.put(static_cast<std::uint64_t>(bytes.size()));
  out.put_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The state that comes next, if `codec` may go on from it.
Result<codec::CodecState> get_state(const codec::Codec& codec, ByteReader& in) {
  const auto size = in.get<std::uint64_t>();
  if (!in.ok() || size > in.left()) return broken_buckets("it is cut short");
  auto state = codec::restore(view_of(in.get_text(size)));
  if (!state.ok()) return state;
  if (Status fits = codec.check(*state); !fits.ok()) return fits.error();
  return state;
}

bool same_place(const codec::Place& a, const codec::Place& b) {
  return a.rank == b.rank && a.ranks == b.ranks && a.seed == b.seed;
}
std::string place_text(const codec::Place& place) {
  return fmt::format("rank {} of {} with seed {}", place.rank, place.ranks, place.seed);
}

Result<BucketState> get_bucket(const codec::Codec& codec, ByteReader& in) {
  BucketState state;
  state.first = in.get<std::uint64_t>();
  auto sent = get_state(codec, in);
  if (!sent.ok()) return sent.error();
  state.sent = std::move(*sent);
  const auto* opaque = codec.opaque();
  const auto backs = in.get<std::uint8_t>(), allowed = std::uint8_t{opaque != nullptr};
  if (!in.ok()) return broken_buckets("it is cut short");
  if (backs != allowed) {
    return broken_buckets(
        fmt::format("it has {} states of the way back; '{}' has {}", backs, codec.text(), allowed));
  }
  const auto part = opaque == nullptr ? sync::Range{}
                                      : sync::part_of(state.sent.size, state.sent.place.ranks,
                                                      state.sent.place.rank);
  if (state.first != part.from) {
    return broken_buckets(
        fmt::format("its part begins at value {}; that of {} values for {} begins at {}",
                    state.first, state.sent.size, place_text(state.sent.place), part.from));
  }
  if (opaque == nullptr) return state;
  auto back = get_state(opaque->back(), in);
  if (!back.ok()) return back.error();
  if (back->size != part.size || !same_place(back->place, state.sent.place)) {
    return broken_buckets(
        fmt::format("its part has {} values and is of {}; it must have {} and be of {}", back->size,
                    place_text(back->place), part.size, place_text(state.sent.place)));
  }
  state.back = std::move(*back);
  return state;
}

// The owners' states of the whole bucket, with fresh ones where a part is missing.
Result<codec::CodecState> whole_back(const codec::OpaqueCodec& back, std::size_t size,
                                     std::vector<const BucketState*> owners) {
  std::sort(owners.begin(), owners.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  const codec::CodecState& model = *owners.front()->back;
  std::vector<codec::CodecState> slices;
  std::size_t reached = 0;
  const auto fill_to = [&](std::size_t end) {
    if (reached == end) return;
    slices.push_back(back.make_state(end - reached, model.place));
    slices.back().step = model.step;
    reached = end;
  };
  for (const BucketState* owner : owners) {
    if (owner->first < reached || owner->back->size > size - owner->first) {
      return broken_buckets(fmt::format("parts of a bucket overlap at value {}", owner->first));
    }
    fill_to(owner->first);
    slices.push_back(*owner->back);
    reached += owner->back->size;
  }
  fill_to(size);
  if (slices.empty()) return back.make_state(0, model.place);
  return codec::join(slices);
}

Result<BucketState> spread_bucket(const codec::Codec& codec,
                                  const std::vector<const BucketState*>& old,
                                  const codec::Place& place) {
  std::vector<codec::CodecState> sent;
  std::uint64_t step = 0;
  for (const BucketState* state : old) step = std::max(step, state->sent.step);
  for (const BucketState* state : old) {
    sent.push_back(state->sent);
    sent.back().step = step;  // when a rank is lost, some may have ended the step and others not
  }
  auto all = codec::spread(sent, place.ranks);
  if (!all.ok()) return all.error();
  BucketState mine;
  mine.sent = std::move((*all)[place.rank]);
  const auto* opaque = codec.opaque();
  if (opaque == nullptr) return mine;
  const auto part = sync::part_of(mine.sent.size, place.ranks, place.rank);
  mine.first = part.from;
  auto whole = whole_back(opaque->back(), mine.sent.size, old);
  if (!whole.ok()) return whole.error();
  mine.back = codec::slice(*whole, part.from, part.size);
  mine.back->place = place;
  return mine;
}

// This rank's own states where they are one of each rank, and as many as there are ranks now.
std::vector<BucketStates>::iterator find_own(std::vector<BucketStates>& old,
                                             const codec::Place& place) {
  auto own = old.end();
  std::vector<bool> seen(old.size());
  for (auto at = old.begin(); at != old.end(); ++at) {
    if (at->empty()) return old.end();
    const codec::Place& was = at->begin()->second.sent.place;
    if (was.ranks != place.ranks || was.ranks != old.size() || seen[was.rank]) return old.end();
    seen[was.rank] = true;
    if (was.rank == place.rank) own = at;
  }
  return own;
}

// Makes this rank's own states go on in step with those of the others, of the same size and seed:
// else ranks would draw or lead differently, and wait for each other in vain.
Status align(BucketStates& own, const std::vector<BucketStates>& all) {
  for (auto& [number, state] : own) {
    codec::CodecState& mine = state.sent;
    for (const BucketStates& one : all) {
      const auto at = one.find(number);
      if (at == one.end()) continue;
      const codec::CodecState& other = at->second.sent;
      if (other.size != mine.size || other.place.seed != mine.place.seed) {
        return broken_buckets(fmt::format("bucket {} has {} values on {}, and {} on {}", number,
                                          mine.size, place_text(mine.place), other.size,
                                          place_text(other.place)));
      }
      mine.step = std::max(mine.step, other.step);
    }
  }
  return {};
}

}  // namespace

BucketState make_bucket_state(const codec::Codec& codec, std::size_t size,
                              const codec::Place& place) {
  BucketState state;
  state.sent = codec.make_state(size, place);
  if (const auto* opaque = codec.opaque()) {
    const auto part = sync::part_of(size, place.ranks, place.rank);
    state.first = part.from;
    state.back = opaque->back().make_state(part.size, place);
  }
  return state;
}

std::string save_states(const codec::Codec& codec, const BucketStates& states) {
  ByteWriter out;
  out.put(kBucketMagic);
  out.put(kBucketVersion);
  out.put(static_cast<std::uint32_t>(codec.text().size()));
  out.put_bytes(codec.text());
  out.put(static_cast<std::uint32_t>(states.size()));
  for (const auto& [number, state] : states) {
    out.put(number);
    out.put(static_cast<std::uint64_t>(state.first));
    put_state(out, state.sent);
    out.put(static_cast<std::uint8_t>(state.back.has_value()));
    if (state.back) put_state(out, *state.back);
  }
  return out.take();
}

Result<BucketStates> load_states(const codec::Codec& codec, std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  if (in.get<std::uint32_t>() != kBucketMagic || in.get<std::uint32_t>() != kBucketVersion) {
    return broken_buckets("it is not one, or of another version");
  }
  const std::string text(in.get_text(in.get<std::uint32_t>()));
  if (text != codec.text()) {
    return broken_buckets(
        fmt::format("it is of codec '{}', not '{}'", text.substr(0, 100), codec.text()));
  }
  BucketStates saved;
  const auto buckets = in.get<std::uint32_t>();
  for (std::uint32_t b = 0; in.ok() && b < buckets; ++b) {
    const auto number = in.get<std::uint32_t>();
    if (number >= kMostBuckets || saved.contains(number)) {
      return broken_buckets(
          fmt::format("bucket {} after {} others; numbers are below {} and no two alike", number,
                      saved.size(), kMostBuckets));
    }
    auto state = get_bucket(codec, in);
    if (!state.ok()) {
      return Error{state.error().kind, fmt::format("bucket {}: {}", number, state.error().what),
                   state.error().hint};
    }
    const codec::Place& place = state->sent.place;
    if (!saved.empty() && !same_place(place, saved.begin()->second.sent.place)) {
      return broken_buckets(fmt::format("bucket {} is of {}, bucket {} of {}", number,
                                        place_text(place), saved.begin()->first,
                                        place_text(saved.begin()->second.sent.place)));
    }
    saved[number] = std::move(*state);
  }
  if (!in.at_end()) return broken_buckets("it is cut short, or has bytes to spare");
  return saved;
}

Result<BucketStates> spread_states(const codec::Codec& codec, std::vector<BucketStates> old,
                                   const codec::Place& place) {
  CHECK(!old.empty());
  if (const auto own = find_own(old, place); own != old.end()) {
    if (Status aligned = align(*own, old); !aligned.ok()) return aligned.error();
    return std::move(*own);
  }
  BucketStates mine;
  for (const auto& [number, state] : old.front()) {
    std::vector<const BucketState*> states;
    for (const BucketStates& one : old) {
      const auto at = one.find(number);
      if (at == one.end()) return broken_buckets(fmt::format("a rank lacks bucket {}", number));
      states.push_back(&at->second);
    }
    auto spread = spread_bucket(codec, states, place);
    if (!spread.ok()) return spread.error();
    mine[number] = std::move(*spread);
  }
  return mine;
}

}  // namespace weft::runtime

// What a rank remembers of one bucket that is averaged through a codec: the codec's state of what
// it sends and, as the owner of a part, of what it sends back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace weft::runtime {

struct BucketState {
  codec::CodecState sent;
  std::size_t first = 0;                  // of this rank's part
  std::optional<codec::CodecState> back;  // of this rank's part; only of opaque codecs
};
using BucketStates = std::map<std::uint32_t, BucketState>;  // by number of the bucket

// A fresh one. Cost: the memory of the codec's vectors.
BucketState make_bucket_state(const codec::Codec& codec, std::size_t size,
                              const codec::Place& place);

// Bytes of the states of one rank, and back. Layout: docs/training.md.
std::string save_states(const codec::Codec& codec, const BucketStates& states);
// Ensures: whatever save_states of an equal codec cannot have written is an error that names what
// is wrong; the codec may go on from every state (Codec::check), and parts are those of the ranks.
Result<BucketStates> load_states(const codec::Codec& codec, std::span<const std::byte> bytes);

// This rank's states from those of all ranks that there were, by their rank. With as many ranks as
// before each has its own again; else sums are kept but for rounding (codec/state.h), and parts of
// which the owner is missing begin anew. Requires: at least one.
Result<BucketStates> spread_states(const codec::Codec& codec, std::vector<BucketStates> old,
                                   const codec::Place& place);

}  // namespace weft::runtime

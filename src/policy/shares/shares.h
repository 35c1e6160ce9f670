// The sharers that policies are composed with.
#pragma once

#include <memory>

#include "policy/share.h"

namespace weft {

struct PackOptions {
  std::uint32_t max_devices = 8;    // larger gangs never share
  int budget = 2;                   // sum of the two packing classes
  double estimate_factor = 2;       // guest's estimate is at most this many times the host's
  Bytes device_memory = 24 * kGiB;  // of device types that do not state theirs
};

// Lucid's affine-jobpair binder (ASPLOS'23 §3): light jobs beside light or medium ones, never
// beyond the memory, only pairs that were measured, and a guest that does not outstay its host by
// much.
std::unique_ptr<Sharer> pack_share(const PackOptions& options);

// Muri's grouping (SIGCOMM'22 §4), of two: a step of a job uses the device for a part of its time
// and the host for the rest; two jobs interleave the better the closer their device parts sum to
// one. Pairs of no more than `min_efficiency` and pairs whose memory does not fit stay apart.
std::unique_ptr<Sharer> stage_share(double min_efficiency, Bytes device_memory);
// 1 over the length of an interleaved step of both, in steps of one alone (§4.1): 1 is perfect, 1/2
// is no better than taking turns.
double interleaving_efficiency(const ModelProfile& a, const ModelProfile& b);

// What every sharer asks: a measured pair whose memories fit one device of the type. Null if it may
// not be; `default_memory` is that of types which state none.
const PairSpeed* measured_pair(const State& state, TypeId type, ModelId first, ModelId second,
                               Bytes default_memory);
// The class that was told for the model, or what its measured use of the device suggests.
int packing_class(const ModelProfile& model);

}  // namespace weft

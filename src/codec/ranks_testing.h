// Several ranks in one process: their gradients through a codec, as live ranks exchange them.
#pragma once

#include <string>
#include <vector>

#include "codec/codec.h"

namespace weft::codec {

class TestRanks {
 public:
  // Requires: `text` is a codec.
  TestRanks(const std::string& text, std::uint32_t ranks, std::size_t size);

  // The decoded sum of one gradient from each rank; every rank must get the same. Counts the step.
  Result<std::vector<float>> sum(const std::vector<std::vector<float>>& gradients);
  // Sum over ranks of what is kept for later, of value i: residuals of ranks and of owners.
  double kept(std::size_t i);

  const Codec& codec() const { return *codec_; }
  std::vector<CodecState>& states() { return states_; }

 private:
  Result<std::vector<float>> sum_opaque(const std::vector<std::vector<float>>& gradients);
  Result<std::vector<float>> sum_linear(const std::vector<std::vector<float>>& gradients);
  std::size_t part_begin(std::size_t owner) const { return owner * size_ / states_.size(); }

  std::size_t size_;
  std::unique_ptr<Codec> codec_;
  std::vector<CodecState> states_;  // of each rank
  std::vector<CodecState> backs_;   // of each owner, for its part on the way back
};

// Encodes and decodes once, with a fresh state.
std::vector<float> through(const OpaqueCodec& codec, const std::vector<float>& values);

std::unique_ptr<Codec> must_make(const std::string& text);

}  // namespace weft::codec

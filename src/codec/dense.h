// Codecs that send every value in a few bits.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/dense_kernels.h"
#include "codec/envelope.h"

namespace weft::codec {

// What the bytes are and how they are made, and how the state keeps a residual: compact where what
// is left is small beside what is sent, as floats where it is as large.
struct DenseFormat {
  WireId id = WireId::kFloat32;
  DenseRule rule;
  ResidualForm residual = ResidualForm::kNone;
};

// The loops of a dense codec over whatever residual and key the caller has.
class DenseLoops {
 public:
  explicit DenseLoops(const DenseFormat& format);
  const DenseFormat& format() const { return format_; }
  std::size_t bytes(std::size_t count) const;
  // `first` is the place of the first value among the random numbers of `key`. The error names
  // values by their place in `values`. Requires: room for bytes().
  Result<std::size_t> encode(std::span<const float> values, const Residual& residual,
                             std::uint32_t key, std::size_t first, std::span<std::byte> out) const;
  Status decode(std::span<const std::byte> bytes, std::span<float> out, bool add) const;

 private:
  const DenseRule& rule() const { return format_.rule; }
  std::size_t scale_bytes(std::size_t count) const;
  std::size_t code_bytes(std::size_t count) const;
  Envelope envelope(std::size_t count) const;
  // Hands values [0, until) of a buffer of `count` to use(at, n, decoded), tile by tile.
  // Ensures: the place of the first tile that is not finite, else `until`.
  template <class Use>
  std::size_t decode_tiles(const std::byte* bytes, std::size_t count, std::size_t until,
                           const Use& use) const;
  Error take_back(std::span<const float> values, std::size_t until, const Residual& residual,
                  const std::byte* bytes) const;

  DenseFormat format_;
};

std::unique_ptr<OpaqueCodec> make_dense(std::string text, const DenseFormat& format);

}  // namespace weft::codec

// Gradient codecs: fewer bytes for (nearly) the same sum.
//
// A codec is an immutable description made by make_codec (codecs.h); what it remembers of a tensor
// is a CodecState that the caller keeps. There are two families:
//
//  - An opaque codec turns floats into bytes that only it can read. Ranks exchange parts (all to
//    all), each adds up its part in float32, encodes the sum with back() and spreads it
//    (all-gather), so that a value is quantised exactly twice whatever the number of ranks.
//  - A linear codec turns floats into numbers that any all-reduce may sum; the sum is decoded. It
//    may need several rounds, so it is driven as a small machine (LinearRun).
//
// Values are float32. NaN and infinity are refused with an error that names the first; the state is
// then as before, up to rounding. No values at all are fine everywhere. Denormals count as numbers.
// Results are the same to the bit on every processor. Thread-safety: codecs are shared freely, a
// state belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/state.h"

namespace weft::codec {

enum class Family : std::uint8_t { kOpaque, kLinear };

class OpaqueCodec;
class LinearCodec;

// What a state of a codec holds, in the form in which it is saved.
struct StateShape {
  std::size_t local = 0;                 // vectors, each of as many values as the tensor has
  std::vector<std::size_t> shared = {};  // lengths
};

class Codec {
 public:
  virtual ~Codec() = default;
  // The full text, with every parameter, that make_codec turns into an equal codec.
  const std::string& text() const { return text_; }
  virtual Family family() const = 0;
  // This codec as the family it is of, else null.
  virtual const OpaqueCodec* opaque() const { return nullptr; }
  virtual const LinearCodec* linear() const { return nullptr; }
  // A fresh state for a tensor of `size` values.
  virtual CodecState make_state(std::size_t size, const Place& place) const = 0;
  // What a state of this codec, of the size of `state`, must hold. Only codecs that are shaped()
  // look further than at the size; then what the state says of its matrices may be an error.
  virtual Result<StateShape> shape_of_state(const CodecState& state) const = 0;
  // Whether this codec may go on from `state`, which restore() made of bytes from any source.
  // Ensures: success only if it holds what shape_of_state() says and numbers that steps of this
  // codec can leave behind; else an error that names what is wrong. Requires: no compact residual.
  Status check(const CodecState& state) const;
  // Bytes that stand for `size` values on the wire, once, as expected for a late step: an estimate
  // where the data decide.
  virtual double wire_bytes(std::size_t size) const = 0;
  // The same where it is known which matrices the values hold (Place::matrices).
  virtual double shaped_bytes(std::size_t size, const std::vector<MatrixPlace>& matrices) const {
    (void)matrices;
    return wire_bytes(size);
  }
  // Whether all it remembers is a residual, and what it soon learns anew: then the residual may be
  // added to the gradients of another codec, and nothing is lost (runtime/compress).
  virtual bool movable() const { return true; }
  // Whether it looks at Place::matrices, and sends what is in none of them as it is.
  virtual bool shaped() const { return false; }
  // Ends the step: `mean` holds what was decoded, divided by the number of ranks. Only codecs that
  // contain an optimizer (1-bit Adam) look at it or change it. Counts the step.
  virtual void settle(std::span<float> mean, CodecState& state) const {
    (void)mean;
    ++state.step;
  }

 protected:
  explicit Codec(std::string text) : text_(std::move(text)) {}
  // What check() asks of the numbers of a state whose shape is right; all of them are finite.
  virtual Status check_numbers(const CodecState& state) const {
    (void)state;
    return {};
  }

 private:
  std::string text_;
};

class OpaqueCodec : public Codec {
 public:
  Family family() const override { return Family::kOpaque; }
  const OpaqueCodec* opaque() const override { return this; }

  // The most bytes that encode can write for `count` values.
  virtual std::size_t most_bytes(std::size_t count) const = 0;
  // Writes `values`, which stand at `first` in the tensor of the state, to `out` and gives back how
  // many bytes that took. Where the state has a residual it is added to the values first, and what
  // the bytes do not carry becomes the new residual, in one pass.
  // Requires: the state was made by an equal codec; the range lies in it; out has most_bytes().
  virtual Result<std::size_t> encode(std::span<const float> values, std::size_t first,
                                     CodecState& state, std::span<std::byte> out) const = 0;
  // Reads bytes of encode, from any source: whatever does not fit is an error, and then nothing may
  // be assumed of `out`. `decode` sets all of `out`, `decode_add` adds to it.
  virtual Status decode(std::span<const std::byte> bytes, std::span<float> out) const = 0;
  virtual Status decode_add(std::span<const std::byte> bytes, std::span<float> sum) const = 0;

  // The codec of the summed values on their way back; the owner of a part keeps a state of it too
  // (two-way error feedback: Tang et al., DoubleSqueeze, ICML 2019).
  virtual const OpaqueCodec& back() const { return *this; }

 protected:
  using Codec::Codec;
};

// What the ranks do with the numbers of one round.
enum class Element : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt32, kUint8 };
enum class Combine : std::uint8_t { kSum, kMax, kBroadcast };

struct Exchange {
  Element element = Element::kFloat32;
  Combine combine = Combine::kSum;
  std::uint32_t root = 0;     // of a broadcast
  std::span<std::byte> data;  // in place: every rank's numbers before, the result after
  std::size_t count = 0;      // numbers in `data`
};

// One tensor on its way through a linear codec, driven alike on every rank: while not done(), do
// the exchange() between all ranks and call next(); then finish().
class LinearRun {
 public:
  virtual ~LinearRun() = default;
  // True when no round is left and finish may be called.
  virtual bool done() const = 0;
  // The round to be done now. The memory belongs to the run and stays until next().
  // Requires: !done(). A round of no numbers needs no communication, but next() all the same.
  virtual Exchange exchange() = 0;
  // Takes the numbers that the round left in place. What cannot be (an index out of range, a table
  // that holds NaN) is an error that ends the run; the state is then as before it, up to rounding.
  // A run that ends without finish() or an error leaves a state that lacks what was to be sent.
  virtual Status next() = 0;
  // Writes the decoded sum over all ranks; `sum` may be the memory that begin() was given.
  // Requires: done(), once; sum has as many values as begin() was given.
  virtual void finish(std::span<float> sum) = 0;
};

class LinearCodec : public Codec {
 public:
  Family family() const override { return Family::kLinear; }
  const LinearCodec* linear() const override { return this; }

  // Starts a tensor. The run looks at `values` and `state` until it has finished.
  // Requires: values.size() == state.size; the state was made by an equal codec; states of all
  // ranks have the same seed and step.
  virtual Result<std::unique_ptr<LinearRun>> begin(std::span<const float> values,
                                                   CodecState& state) const = 0;

 protected:
  using Codec::Codec;
};

}  // namespace weft::codec

// The loop that all codecs share which send few values and keep the rest.
#pragma once

#include <string>

#include "codec/budget.h"
#include "codec/sparse.h"
#include "codec/sparse_kernels.h"
#include "codec/sparse_wire.h"
#include "codec/threshold.h"

namespace weft::codec {

// Calls visit(place in the tensor, index among the chosen) for every chosen value.
template <class Visit>
void for_each_chosen(const SparseValues& sparse, const Visit& visit) {
  std::size_t i = 0;
  for (std::size_t c = 0; c < sparse.counts.size(); ++c) {
    for (const std::size_t end = i + sparse.counts[c]; i < end; ++i) {
      visit(c * kChunk + sparse.offsets[i], i);
    }
  }
}

// What sparse codecs share: choosing goes chunk by chunk, and what the carrier loses of a
// chosen value stays in the residual.
class SparseCodec : public OpaqueCodec {
 public:
  SparseCodec(const std::string& text, Carrier carrier, std::size_t vectors)
      : OpaqueCodec(carrier == nullptr ? text : text + "+" + carrier->text()),
        carrier_(std::move(carrier)),
        vectors_(vectors) {}

  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state{text(), size, place, 0, {}, {}};
    state.local.assign(vectors_, std::vector<float>(size, 0.0F));
    return state;
  }
  Result<StateShape> shape_of_state(const CodecState&) const override {
    return StateShape{vectors_};
  }
  double wire_bytes(std::size_t size) const override {
    return static_cast<double>(most_sparse_bytes(size, expected(size), carrier_.get()));
  }
  std::size_t most_bytes(std::size_t count) const override {
    return most_sparse_bytes(count, most(count), carrier_.get());
  }
  Result<std::size_t> encode(std::span<const float> values, std::size_t first, CodecState& state,
                             std::span<std::byte> out) const override;
  Status decode(std::span<const std::byte> bytes, std::span<float> out) const override {
    return read_sparse(bytes, carrier_.get(), false, out);
  }
  Status decode_add(std::span<const std::byte> bytes, std::span<float> sum) const override {
    return read_sparse(bytes, carrier_.get(), true, sum);
  }

 protected:
  // A part of a tensor, with what the state keeps of it.
  struct Part {
    std::span<const float> values;
    float* residual = nullptr;
    float* velocity = nullptr;
    std::uint64_t key = 0;
    std::uint64_t step = 0;
    std::uint32_t ranks = 1;
    Budget* budget = nullptr;
    Budget::Piece piece = {};
  };
  // How many values are chosen as a rule, and at most.
  virtual std::size_t expected(std::size_t count) const = 0;
  virtual std::size_t most(std::size_t count) const = 0;
  // What one step needs to know before the first chunk.
  struct Plan {
    Threshold threshold;
    float scale = 1;
  };
  virtual Result<Plan> plan(const Part& part) const = 0;
  // Value i as it is looked at, before it has been handled.
  virtual float value(const Part& part, const Plan& plan, std::size_t i) const {
    (void)plan;
    return part.residual != nullptr ? part.values[i] + part.residual[i] : part.values[i];
  }
  // Chooses of values [at, at + count).  Ensures: how many values it handled; fewer when one that
  // follows is not finite, from where on nothing has changed.
  virtual std::size_t choose(const Part& part, const Plan& plan, std::size_t at, std::size_t count,
                             Chosen& chosen) const = 0;
  // Called when the bytes have been written.
  virtual void sent(const Part& part, const SparseValues& sparse) const {
    (void)part, (void)sparse;
  }
  // Called when they could not be: of values [0, residuals) the residual holds what was looked at,
  // of [0, velocities) the velocity has been changed. Ensures: both as before, up to rounding.
  virtual void undo(const Part& part, const Plan& plan, std::size_t residuals,
                    std::size_t velocities) const {
    (void)plan, (void)velocities;
    for (std::size_t i = 0; i < residuals; ++i) part.residual[i] -= part.values[i];
  }

 private:
  Error not_finite(const Part& part, const Plan& plan, std::size_t from) const;
  void take_back(const Part& part, const Plan& plan, const SparseValues& sparse,
                 std::size_t residuals, std::size_t velocities) const;
  Error named(Error error, const SparseValues& sparse, const CodecState& state,
              std::span<std::byte> out) const;

  Carrier carrier_;
  std::size_t vectors_;
};

}  // namespace weft::codec

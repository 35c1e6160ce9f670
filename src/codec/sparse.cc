#include "codec/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "codec/draw.h"
#include "codec/linear_parts.h"
#include "codec/sparse_kernels.h"
#include "codec/sparse_wire.h"
#include "codec/threshold.h"

namespace weft::codec {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string with_carrier(const std::string& text, const Carrier& carrier) {
  return carrier == nullptr ? text : text + "+" + carrier->text();
}

// What the codecs of this file share: choosing goes chunk by chunk, and what the carrier loses of a
// chosen value stays in the residual.
class SparseCodec : public OpaqueCodec {
 public:
  SparseCodec(const std::string& text, Carrier carrier, std::size_t vectors)
      : OpaqueCodec(with_carrier(text, carrier)), carrier_(std::move(carrier)), vectors_(vectors) {}

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
  // Chooses of values [at, at + count).  Ensures: how many values it handled; fewer when one that
  // follows is not finite, from where on nothing has changed.
  virtual std::size_t choose(const Part& part, const Plan& plan, std::size_t at, std::size_t count,
                             Chosen& chosen) const = 0;

  const Carrier& carrier() const { return carrier_; }

 private:
  Carrier carrier_;
  std::size_t vectors_;
};

Error not_finite(std::span<const float> values, const float* residual, std::size_t from) {
  std::size_t at = from;
  while (at + 1 < values.size() &&
         std::isfinite(residual != nullptr ? values[at] + residual[at] : values[at])) {
    ++at;
  }
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("value {} is {}; only finite gradients can be compressed", at, values[at]),
      "skip the step, or lower the loss scale"};
}

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

Result<std::size_t> SparseCodec::encode(std::span<const float> values, std::size_t first,
                                        CodecState& state, std::span<std::byte> out) const {
  const std::size_t count = values.size();
  CHECK(state.codec == text() && out.size() >= most_bytes(count));
  Part part{values,     state.residual(first, count).exact,
            nullptr,    own_key(state),
            state.step, state.place.ranks};
  if (state.local.size() > 1) part.velocity = state.local[1].data() + first;
  Plan planned;
  if (count > 0) {
    auto plan_or = plan(part);
    if (!plan_or.ok()) return plan_or.error();
    planned = *plan_or;
  }
  SparseValues sparse;
  std::vector<std::uint16_t> offsets(std::min(count, kChunk));
  std::vector<float> chosen_values(offsets.size());
  std::size_t room = most(count);
  sparse.offsets.reserve(expected(count));
  sparse.values.reserve(expected(count));
  for (std::size_t at = 0; at < count; at += kChunk) {
    const std::size_t n = std::min(kChunk, count - at);
    Chosen chosen{offsets.data(), chosen_values.data(), 0, room, planned.threshold.ties};
    const std::size_t handled = choose(part, planned, at, n, chosen);
    room = chosen.room;
    planned.threshold.ties = chosen.ties;
    sparse.counts.push_back(static_cast<std::uint32_t>(chosen.count));
    sparse.offsets.insert(sparse.offsets.end(), offsets.data(), offsets.data() + chosen.count);
    sparse.values.insert(sparse.values.end(), chosen_values.data(),
                         chosen_values.data() + chosen.count);
    if (handled == n) continue;
    // What was chosen goes back and the values out again: the state as before, up to rounding.
    if (part.residual != nullptr) {
      for_each_chosen(sparse,
                      [&](std::size_t i, std::size_t c) { part.residual[i] = sparse.values[c]; });
      for (std::size_t i = 0; i < at + handled; ++i) part.residual[i] -= values[i];
    }
    return not_finite(values, part.residual, at + handled);
  }
  const std::vector<float> exact =
      carrier_ != nullptr && part.residual != nullptr ? sparse.values : std::vector<float>();
  const auto bytes = write_sparse(sparse, count, carrier_.get(), state, out);
  if (!exact.empty() && bytes.ok()) {
    for_each_chosen(sparse, [&](std::size_t i, std::size_t c) {
      part.residual[i] += exact[c] - sparse.values[c];
    });
  }
  return bytes;
}

// Top-k (Aji and Heafield 2017; with memory: Stich, Cordonnier and Jaggi 2018): the given share of
// largest magnitudes, exactly, or by a threshold that a sample gives (as in Lin et al. 2018), which
// costs one pass; then at most twice the share goes, and what did not fit stays.
class TopK : public SparseCodec {
 public:
  TopK(const std::string& text, Carrier carrier, double rate, bool exact, bool feedback)
      : SparseCodec(text, std::move(carrier), feedback ? 1 : 0), rate_(rate), exact_(exact) {}

 protected:
  std::size_t expected(std::size_t count) const override { return kept_of(rate_, count); }
  std::size_t most(std::size_t count) const override {
    return exact_ ? expected(count) : std::min(count, 2 * expected(count));
  }
  Result<Plan> plan(const Part& part) const override {
    return plan_of(part, expected(part.values.size()));
  }
  Plan plan_of(const Part& part, std::size_t wanted) const {
    if (exact_) return Plan{exact_threshold(part.values, part.residual, wanted), 1};
    const auto value = [&](std::size_t i) {
      return part.residual != nullptr ? part.values[i] + part.residual[i] : part.values[i];
    };
    return Plan{sampled_threshold(value, part.values.size(), wanted, part.key), 1};
  }
  std::size_t choose(const Part& part, const Plan& plan, std::size_t at, std::size_t count,
                     Chosen& chosen) const override {
    return sparse_kernels().choose(part.values.data() + at,
                                   part.residual != nullptr ? part.residual + at : nullptr, count,
                                   plan.threshold.magnitude, chosen);
  }

 private:
  double rate_;
  bool exact_;
};

// Every value of at least the given magnitude (Strom 2015).
class FixedThreshold : public TopK {
 public:
  FixedThreshold(const std::string& text, Carrier carrier, float magnitude, bool feedback)
      : TopK(text, std::move(carrier), 1, true, feedback), magnitude_(magnitude) {}

 protected:
  Result<Plan> plan(const Part&) const override { return Plan{{magnitude_, kNoLimit}, 1}; }

 private:
  float magnitude_;
};

// The share falls exponentially from a quarter while warming up (Lin et al. 2018, section 3.3).
struct Falling {
  static constexpr double kFirst = 0.25;
  double rate = 0.001;
  std::int64_t warmup = 0;

  double at(std::uint64_t step) const {
    const auto steps = static_cast<std::uint64_t>(warmup);
    if (step >= steps || rate >= kFirst) return rate;
    return kFirst * std::pow(rate / kFirst, static_cast<double>(step) / static_cast<double>(steps));
  }
};

// The way back of deep gradient compression: as many values as the ranks send together, so that
// what they have chosen arrives in the same step, as in the paper, where all ranks get all.
class DgcBack : public TopK {
 public:
  DgcBack(const std::string& text, Carrier carrier, const Falling& share)
      : TopK(text, std::move(carrier), share.rate, false, true), share_(share) {}

 protected:
  std::size_t most(std::size_t count) const override { return count; }
  Result<Plan> plan(const Part& part) const override {
    const double rate = std::min(1.0, part.ranks * share_.at(part.step));
    return plan_of(part, kept_of(rate, part.values.size()));
  }

 private:
  Falling share_;
};

// Deep gradient compression (Lin et al. 2018): momentum is applied before choosing (correction),
// gradients are clipped by their norm to 1/√ranks of the limit. Masked, velocities of chosen values
// are forgotten (factor masking), so that what was held back for long is not driven on by a stale
// velocity; but values that are sent often then have no momentum, and steps are up to
// 1 - momentum times as long.
class Dgc : public SparseCodec {
 public:
  struct Options {
    Falling share;
    double momentum = 0.9, clip = 0;
    bool masked = false;
  };
  Dgc(const std::string& text, const Carrier& carrier, const Options& options)
      : SparseCodec(text, carrier, 2),
        options_(options),
        back_(text + "/back", carrier, options.share) {}
  const OpaqueCodec& back() const override { return back_; }
  bool movable() const override { return false; }  // velocities

 protected:
  std::size_t expected(std::size_t count) const override {
    return kept_of(options_.share.rate, count);
  }
  std::size_t most(std::size_t count) const override {
    return std::min(count, 2 * kept_of(options_.share.at(0), count));
  }
  Result<Plan> plan(const Part& part) const override {
    const double squares = sparse_kernels().sum_of_squares(part.values.data(), part.values.size());
    if (!std::isfinite(squares)) return not_finite(part.values, nullptr, 0);
    const double limit = options_.clip / std::sqrt(static_cast<double>(part.ranks));
    Plan plan;
    if (options_.clip > 0 && squares > limit * limit) {
      plan.scale = static_cast<float>(limit / std::sqrt(squares));
    }
    const auto momentum = static_cast<float>(options_.momentum);
    const auto value = [&](std::size_t i) {
      return part.residual[i] + (momentum * part.velocity[i] + plan.scale * part.values[i]);
    };
    const std::size_t wanted = kept_of(options_.share.at(part.step), part.values.size());
    plan.threshold = sampled_threshold(value, part.values.size(), wanted, part.key);
    return plan;
  }
  std::size_t choose(const Part& part, const Plan& plan, std::size_t at, std::size_t count,
                     Chosen& chosen) const override {
    return sparse_kernels().choose_velocity(part.values.data() + at, part.velocity + at,
                                            part.residual + at, count,
                                            static_cast<float>(options_.momentum), plan.scale,
                                            options_.masked, plan.threshold.magnitude, chosen);
  }

 private:
  Options options_;
  DgcBack back_;
};

// AdaComp (Chen et al. 2018): per bin, values that another step like this one would lift to the
// bin's largest; so busy bins send more.
class AdaComp : public SparseCodec {
 public:
  AdaComp(const std::string& text, Carrier carrier, std::size_t bin)
      : SparseCodec(text, std::move(carrier), 1), bin_(bin) {}

 protected:
  std::size_t expected(std::size_t count) const override {
    return (count + bin_ - 1) / bin_ * 4;  // a few per bin, as the paper's rates have it
  }
  std::size_t most(std::size_t count) const override { return count; }
  Result<Plan> plan(const Part& part) const override {
    const double squares = sparse_kernels().sum_of_squares(part.values.data(), part.values.size());
    if (!std::isfinite(squares)) return not_finite(part.values, nullptr, 0);
    return Plan{{0, kNoLimit}, 1};
  }
  std::size_t choose(const Part& part, const Plan&, std::size_t at, std::size_t count,
                     Chosen& chosen) const override {
    sparse_kernels().choose_bins(part.values.data() + at, part.residual + at, count, bin_, chosen);
    return count;
  }

 private:
  std::size_t bin_;
};

}  // namespace

std::unique_ptr<Codec> make_topk(Parameters& p, Carrier carrier) {
  const double rate = p.number("rate", 0.01, 1e-6, 1);
  const bool exact = p.flag("exact", false), feedback = p.flag("ef", true);
  return std::make_unique<TopK>(p.text(), std::move(carrier), rate, exact, feedback);
}

std::unique_ptr<Codec> make_threshold(Parameters& p, Carrier carrier) {
  const double magnitude = p.number("at", 0.001, 1e-30, 1e30);
  const bool feedback = p.flag("ef", true);
  return std::make_unique<FixedThreshold>(p.text(), std::move(carrier),
                                          static_cast<float>(magnitude), feedback);
}

std::unique_ptr<Codec> make_dgc(Parameters& p, Carrier carrier) {
  Dgc::Options options;
  options.share.rate = p.number("rate", options.share.rate, 1e-6, 1);
  options.momentum = p.number("momentum", options.momentum, 0, 0.9999);
  options.masked = p.flag("masking", options.masked);
  options.clip = p.number("clip", options.clip, 0, 1e30);
  options.share.warmup = p.integer("warmup", options.share.warmup, 0, 1'000'000'000);
  return std::make_unique<Dgc>(p.text(), carrier, options);
}

std::unique_ptr<Codec> make_adacomp(Parameters& p, Carrier carrier) {
  const auto bin = static_cast<std::size_t>(p.integer("bin", 512, 8, 65536));
  if (kChunk % bin != 0) p.complain("adacomp: bin must be a power of two");
  return std::make_unique<AdaComp>(p.text(), std::move(carrier), bin);
}

}  // namespace weft::codec

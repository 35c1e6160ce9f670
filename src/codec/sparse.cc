#include "codec/sparse.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/budget.h"
#include "codec/linear_parts.h"
#include "codec/sparse_codec.h"

namespace weft::codec {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// The error of values whose squares have no finite sum.
Error too_large(std::span<const float> values) {
  const auto none =
      std::find_if_not(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  const auto largest = none != values.end()
                           ? none
                           : std::max_element(values.begin(), values.end(), [](float a, float b) {
                               return std::abs(a) < std::abs(b);
                             });
  return Error{ErrorKind::kInvalidInput,
               fmt::format("value {} is {}; only finite gradients{} can be compressed",
                           largest - values.begin(), *largest,
                           none != values.end() ? "" : " with a finite sum of squares"),
               "skip the step, or lower the loss scale"};
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
    const auto at = [&](std::size_t i) { return value(part, {}, i); };
    return Plan{sampled_threshold(at, part.values.size(), wanted, part.key), 1};
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

// The share of largest magnitudes of all that a rank encodes in a step: pieces with larger values
// send a larger share of theirs (codec/budget.h). In the first step, and alone, every piece sends
// the same.
class BudgetTopK : public TopK {
 public:
  BudgetTopK(const std::string& text, Carrier carrier, double rate, bool feedback)
      : TopK(text, std::move(carrier), rate, false, feedback), rate_(rate) {}

 protected:
  std::size_t most(std::size_t count) const override {
    return std::min(count, Budget::kMostTimes * expected(count));
  }
  Result<Plan> plan(const Part& part) const override {
    const std::size_t count = part.values.size();
    std::vector<std::uint32_t> sample =
        sample_magnitudes([&](std::size_t i) { return value(part, {}, i); }, count, part.key);
    std::size_t wanted = expected(count);
    if (part.budget != nullptr) {
      if (const auto share = part.budget->share(part.step, rate_, part.piece)) {
        wanted = static_cast<std::size_t>(std::lround(*share * static_cast<double>(count)));
      }
      part.budget->add(part.piece, rate_, count, sample);
    }
    if (wanted == 0) return Plan{{std::numeric_limits<float>::max(), 0}, 1};
    return Plan{sampled_threshold(sample, count, wanted), 1};
  }

 private:
  double rate_;
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
    if (!std::isfinite(squares)) return too_large(part.values);
    const double limit = options_.clip / std::sqrt(static_cast<double>(part.ranks));
    Plan plan;
    if (options_.clip > 0 && squares > limit * limit) {
      plan.scale = static_cast<float>(limit / std::sqrt(squares));
    }
    const auto at = [&](std::size_t i) { return value(part, plan, i); };
    const std::size_t wanted = kept_of(options_.share.at(part.step), part.values.size());
    plan.threshold = sampled_threshold(at, part.values.size(), wanted, part.key);
    return plan;
  }
  float value(const Part& part, const Plan& plan, std::size_t i) const override {
    const auto momentum = static_cast<float>(options_.momentum);
    return part.residual[i] + (momentum * part.velocity[i] + plan.scale * part.values[i]);
  }
  std::size_t choose(const Part& part, const Plan& plan, std::size_t at, std::size_t count,
                     Chosen& chosen) const override {
    return sparse_kernels().choose_velocity(
        part.values.data() + at, part.velocity + at, part.residual + at, count,
        static_cast<float>(options_.momentum), plan.scale, plan.threshold.magnitude, chosen);
  }
  void sent(const Part& part, const SparseValues& sparse) const override {
    if (!options_.masked) return;
    for_each_chosen(sparse, [&](std::size_t i, std::size_t) { part.velocity[i] = 0; });
  }
  void undo(const Part& part, const Plan& plan, std::size_t residuals,
            std::size_t velocities) const override {
    for (std::size_t i = 0; i < residuals; ++i) part.residual[i] -= part.velocity[i];
    // Without momentum the old velocity counts for nothing.
    const auto momentum = static_cast<float>(options_.momentum);
    for (std::size_t i = 0; momentum > 0 && i < velocities; ++i) {
      const float kept = part.velocity[i] - plan.scale * part.values[i];
      part.velocity[i] = kept / momentum;
    }
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
    if (!std::isfinite(squares)) return too_large(part.values);
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

std::unique_ptr<Codec> make_budget(Parameters& p, Carrier carrier) {
  const double rate = p.number("rate", 0.01, 1e-6, 1);
  const bool feedback = p.flag("ef", true);
  return std::make_unique<BudgetTopK>(p.text(), std::move(carrier), rate, feedback);
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

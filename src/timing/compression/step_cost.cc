#include "timing/compression/step_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/check.h"
#include "timing/compression/overlap.h"

namespace weft {
namespace {

using collective::Operation;

struct BucketCost {
  AveragePasses passes;  // computed_s is the step's
  double sent_bytes = 0;
  std::string algorithm;
};

constexpr const char* kOpaqueExchange = "all-to-all, all-gather";

// All operations of one bucket. `algorithm`: of a linear codec's all-reduces; empty: what would
// run.
BucketCost cost_of(const ExchangeClock& clock, const CodecOffer& offer, std::size_t bucket,
                   const std::string& algorithm) {
  BucketCost cost;
  const double bytes = offer.wire_bytes[bucket];
  const auto add = [&](Operation operation, double part) {
    const auto costs = clock.costs(operation, part);
    CHECK(!costs.empty());
    const ExchangeCost* one = &costs.front();
    for (const ExchangeCost& other : costs) {
      if (other.algorithm == algorithm) one = &other;
    }
    cost.passes.wire.push_back(offer.slower * one->time_s);
    cost.sent_bytes += one->sent_bytes;
    cost.algorithm = one->algorithm;
  };
  if (offer.linear) {
    for (int round = 0; round < offer.rounds; ++round) {
      add(Operation::kAllReduce, bytes / offer.rounds);
    }
  } else {
    add(Operation::kAllToAll, bytes);
    add(Operation::kAllGather, bytes);
    cost.algorithm = kOpaqueExchange;
  }
  const CodingTime coding = offer.coding[bucket] * offer.slower;
  const std::size_t gaps = cost.passes.wire.size() - 1;
  cost.passes.coding = {coding.before_s};
  for (std::size_t gap = 0; gap < gaps; ++gap) {
    cost.passes.coding.push_back(coding.between_s / static_cast<double>(gaps));
  }
  cost.passes.coding.push_back(coding.after_s + (gaps == 0 ? coding.between_s : 0));
  return cost;
}

using CostAt = std::function<const BucketCost&(std::size_t)>;

// What the averages take and send, by themselves.
StepPrediction sums_of(std::size_t buckets, const CostAt& cost_at) {
  StepPrediction out;
  for (std::size_t i = 0; i < buckets; ++i) {
    const BucketCost& cost = cost_at(i);
    for (const Seconds pass : cost.passes.coding) out.coding_s += pass;
    for (const Seconds pass : cost.passes.wire) out.exchange_s += pass;
    out.sent_bytes += cost.sent_bytes;
  }
  return out;
}

// Of gradients that are averaged bucket by bucket.
StepPrediction pipelined(const TrainingStep& step, const CostAt& cost_at) {
  StepPrediction out = sums_of(step.buckets.size(), cost_at);
  std::vector<AveragePasses> passes;
  Seconds ready = 0;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    ready = std::max(ready, step.buckets[i].ready_s);
    passes.push_back(cost_at(i).passes);
    passes.back().computed_s = ready;
  }
  out.exposed_s = std::max(0.0, averages_end(passes) - ready - out.coding_s);
  out.step_s = step.compute_s + out.coding_s + out.exposed_s;
  return out;
}

StepPrediction at_once(const TrainingStep& step, const SyncOffer& sync,
                       const std::vector<BucketCost>& costs) {
  const CostAt cost_at = [&](std::size_t i) -> const BucketCost& { return costs[i]; };
  StepPrediction out = sums_of(costs.size(), cost_at);
  std::vector<AveragePasses> passes;
  for (const BucketCost& cost : costs) passes.push_back(cost.passes);
  const Seconds idle = std::max(0.0, averages_end(passes) - out.coding_s);
  out.exposed_s = sync.exchanges * std::max(0.0, idle - sync.hidden_steps * step.compute_s);
  out.coding_s *= sync.exchanges;
  out.exchange_s *= sync.exchanges;
  out.sent_bytes *= sync.exchanges;
  out.step_s = step.compute_s + out.coding_s + out.exposed_s;
  return out;
}

void set_efficiency(const CodecOffer& codec, const SyncOffer& sync, StepPrediction& out) {
  if (!codec.efficiency || !sync.efficiency) return;
  const auto& with = sync.codecs;
  if (!with.empty() && std::find(with.begin(), with.end(), codec.codec) == with.end()) return;
  out.efficiency = codec.efficiency->value * sync.efficiency->value;
  out.source = codec.efficiency->source;
  if (!sync.gradients) out.source += "; " + sync.efficiency->source;
}

// For a linear codec one for each algorithm; for another what would run.
std::vector<std::string> algorithms_of(const TrainingStep& step, const ExchangeClock& clock,
                                       const CodecOffer& codec) {
  if (!codec.linear || step.buckets.empty()) return {""};
  // Those of the largest message: small ones may have more to choose from.
  const double most = *std::max_element(codec.wire_bytes.begin(), codec.wire_bytes.end());
  std::vector<std::string> names;
  for (const auto& cost : clock.costs(Operation::kAllReduce, most / codec.rounds)) {
    if (cost.time_s != kNever) names.push_back(cost.algorithm);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

using Costs = std::vector<std::vector<BucketCost>>;  // by offer, then bucket

StepPrediction mixture(const TrainingStep& step, const std::vector<CodecOffer>& codecs,
                       const Costs& costs, const std::vector<std::size_t>& chosen) {
  StepPrediction out =
      pipelined(step, [&](std::size_t i) -> const BucketCost& { return costs[chosen[i]][i]; });
  double bytes = 0, useful = 0;
  bool known = true;
  std::set<std::size_t> named;
  std::set<std::string> algorithms;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const CodecOffer& codec = codecs[chosen[i]];
    bytes += step.buckets[i].bytes;
    known = known && codec.efficiency.has_value();
    if (known) useful += codec.efficiency->value * step.buckets[i].bytes;
    const std::string& algorithm = costs[chosen[i]][i].algorithm;
    if (algorithms.insert(algorithm).second) {
      out.algorithm += (out.algorithm.empty() ? "" : "; ") + algorithm;
    }
    if (!named.insert(chosen[i]).second) continue;
    out.codec += (out.codec.empty() ? "" : ", ") + codec.codec;
    if (codec.efficiency) {
      out.source += (out.source.empty() ? "" : "; ") + codec.efficiency->source;
    }
  }
  if (known) out.efficiency = bytes > 0 ? useful / bytes : 1;
  return out;
}

Costs costs_of(const TrainingStep& step, const ExchangeClock& clock,
               const std::vector<CodecOffer>& codecs) {
  Costs costs;
  for (const CodecOffer& codec : codecs) {
    CHECK(codec.wire_bytes.size() == step.buckets.size());
    CHECK(codec.coding.size() == step.buckets.size());
    costs.emplace_back();
    for (std::size_t i = 0; i < step.buckets.size(); ++i) {
      costs.back().push_back(cost_of(clock, codec, i, ""));
    }
  }
  return costs;
}

}  // namespace

TrainingStep even_step(double bytes, Seconds compute_s) {
  constexpr double kBucketBytes = 25e6, kForward = 1.0 / 3;
  const double buckets = std::min(std::ceil(bytes / kBucketBytes), double{kMostMixed});
  TrainingStep step{{}, compute_s};
  for (double i = 1; i <= buckets; ++i) {
    const double share = kForward + (1 - kForward) * i / buckets;
    step.buckets.push_back({bytes / buckets, share * compute_s});
  }
  return step;
}

std::vector<StepPrediction> predict_steps(const TrainingStep& step, const ExchangeClock& clock,
                                          const std::vector<CodecOffer>& codecs,
                                          const std::vector<SyncOffer>& syncs) {
  std::vector<StepPrediction> all;
  for (const CodecOffer& codec : codecs) {
    for (const std::string& algorithm : algorithms_of(step, clock, codec)) {
      std::vector<BucketCost> costs;
      for (std::size_t i = 0; i < step.buckets.size(); ++i) {
        costs.push_back(cost_of(clock, codec, i, algorithm));
      }
      for (const SyncOffer& sync : syncs) {
        StepPrediction one =
            sync.gradients
                ? pipelined(step, [&](std::size_t i) -> const BucketCost& { return costs[i]; })
                : at_once(step, sync, costs);
        one.codec = codec.codec;
        one.sync = sync.sync;
        one.algorithm = codec.linear ? algorithm : kOpaqueExchange;
        set_efficiency(codec, sync, one);
        all.push_back(std::move(one));
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const StepPrediction& a, const StepPrediction& b) {
    if (a.progress_s() != b.progress_s()) return a.progress_s() < b.progress_s();
    return a.step_s < b.step_s;
  });
  return all;
}

StepPrediction predict_mixture(const TrainingStep& step, const ExchangeClock& clock,
                               const std::vector<CodecOffer>& codecs,
                               const std::vector<std::size_t>& chosen) {
  CHECK(chosen.size() == step.buckets.size());
  return mixture(step, codecs, costs_of(step, clock, codecs), chosen);
}

BucketCodecs choose_codecs(const TrainingStep& step, const ExchangeClock& clock,
                           const std::vector<CodecOffer>& codecs, double worthwhile) {
  CHECK(!codecs.empty());
  constexpr double kBetter = 1 - 1e-6;  // ties stay with what came first
  const Costs costs = costs_of(step, clock, codecs);
  const auto tried = [&](std::vector<std::size_t> chosen) {
    StepPrediction predicted = mixture(step, codecs, costs, chosen);
    return BucketCodecs{std::move(chosen), std::move(predicted)};
  };
  const std::size_t buckets = step.buckets.size();
  const BucketCodecs plain = tried(std::vector<std::size_t>(buckets, 0));
  BucketCodecs best = plain;
  const auto improve = [&](const std::vector<std::size_t>& chosen) {
    BucketCodecs other = tried(chosen);
    if (other.predicted.progress_s() >= kBetter * best.predicted.progress_s()) return false;
    best = std::move(other);
    return true;
  };
  for (std::size_t c = 1; c < codecs.size(); ++c) {
    improve(std::vector<std::size_t>(buckets, c));
  }
  const BucketCodecs uniform = best;
  // A second sweep finds what the first made worthwhile; rarely more.
  const int sweeps = buckets <= kMostMixed ? 2 : 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool changed = false;
    for (std::size_t i = 0; i < buckets; ++i) {
      for (std::size_t c = 0; c < codecs.size(); ++c) {
        std::vector<std::size_t> other = best.codecs;
        other[i] = c;
        if (other != best.codecs) changed = improve(other) || changed;
      }
    }
    if (!changed) break;
  }
  const auto pays = [&](const BucketCodecs& one, const BucketCodecs& simpler) {
    return one.predicted.progress_s() <= worthwhile * simpler.predicted.progress_s();
  };
  if (!pays(best, uniform)) best = uniform;
  return pays(best, plain) ? best : plain;
}

}  // namespace weft

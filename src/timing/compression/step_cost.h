// What a training step costs with a codec, a synchronisation mode and a collective algorithm,
// predicted from measured speeds. Nothing here knows a codec or a mode by name: what each does to
// bytes, time and progress comes in as data, and what comes out are plain numbers, each stated.
//
// The model. A rank has one processor for computing and coding, so that coding makes a step longer,
// and one wire, which waits while a bucket is coded and no other has anything to send
// (timing/compression/overlap.h). While an average is under way after the last bucket is ready and
// the processor has nothing to do, the exchange is exposed. A mode that averages parameters does so
// after the step, everything at once, and may let it take some steps before it waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "collective/algorithms.h"

namespace weft {

// Gradients that are exchanged at once.
struct GradientBucket {
  double bytes = 0;     // of float32
  Seconds ready_s = 0;  // from the begin of the step, were nothing exchanged
};

struct TrainingStep {
  std::vector<GradientBucket> buckets;  // in the order in which they become ready
  Seconds compute_s = 0;                // of the whole step, were nothing exchanged
};

// Of so many buckets each may have a codec of its own; of more, all have the same: one bucket is
// then a small part of the step, and what a mixture costs takes long to say.
inline constexpr int kMostMixed = 64;

// A model of which no more is known: equal buckets of at most 25 MB, as PyTorch makes them, or
// larger ones where there would be more than kMostMixed, that become ready evenly during the
// backward pass, which is the last two thirds of the step.
TrainingStep even_step(double bytes, Seconds compute_s);

struct ExchangeCost {
  std::string algorithm;
  Seconds time_s = kNever;
  double sent_bytes = 0;   // by each rank
  double slice_bytes = 0;  // that it goes in; 0: whole
};
// How long operations take between the ranks.
class ExchangeClock {
 public:
  virtual ~ExchangeClock() = default;
  // `bytes`: of the whole data, as collective/schedule.h counts them. Ensures: at least one; the
  // first is the algorithm that would run.
  virtual std::vector<ExchangeCost> costs(collective::Operation operation, double bytes) const = 0;
};

// Progress per step beside a plain step, and who says so.
struct Efficiency {
  double value = 1;
  std::string source;
};

// Of a rank's processor, for one average: before anything is sent, between the exchanges, and after
// the last one.
struct CodingTime {
  Seconds before_s = 0, between_s = 0, after_s = 0;
  Seconds total_s() const { return before_s + between_s + after_s; }
  CodingTime operator*(double times) const {
    return {before_s * times, between_s * times, after_s * times};
  }
};

struct CodecOffer {
  std::string codec;
  bool linear = false;             // rounds of all-reduces; else an all-to-all and an all-gather
  int rounds = 1;                  // of a linear codec, each with an equal part of the bytes
  std::vector<double> wire_bytes;  // by bucket: what stands for its values, once
  std::vector<CodingTime> coding;  // by bucket
  double slower = 1;               // than predicted, where it was tried: coding and exchange
  std::optional<Efficiency> efficiency;
};

struct SyncOffer {
  std::string sync;
  bool gradients = true;  // every bucket as it becomes ready; else all at once, after the step
  double exchanges = 1;   // per step
  double hidden_steps = 0;
  std::optional<Efficiency> efficiency;
  std::vector<std::string> codecs = {};  // with which that holds; empty: all
};

// Means per step.
struct StepPrediction {
  std::string codec, sync, algorithm;
  double sent_bytes = 0;                 // by each rank
  Seconds coding_s = 0, exchange_s = 0;  // of them
  Seconds exposed_s = 0;                 // of the exchange: the rank waits for it
  Seconds step_s = 0;                    // compute + coding + exposed
  std::optional<double> efficiency;      // nothing: not known
  std::string source;                    // of the efficiency
  // Seconds for the progress of a plain step; kNever where the efficiency is not known.
  Seconds progress_s() const { return efficiency ? step_s / *efficiency : kNever; }
};

// Every offer of either kind with every algorithm, least progress_s first, then least step_s.
// Requires: every codec has a number for every bucket.
std::vector<StepPrediction> predict_steps(const TrainingStep& step, const ExchangeClock& clock,
                                          const std::vector<CodecOffer>& codecs,
                                          const std::vector<SyncOffer>& syncs);

struct BucketCodecs {
  std::vector<std::size_t> codecs;  // by bucket: which of the offers
  StepPrediction predicted;         // `codec`: the names of all, in order of appearance
};
// The codecs for a step that averages gradients, with the algorithms that would run. Offers whose
// efficiency is not known are not taken; that of a mixture is the mean by bytes. The first offer,
// which is to be the plain one, is left only where another promises at most `worthwhile` of its
// seconds, and one codec for all of at most kMostMixed buckets only where a mixture does:
// predictions err. Requires: at least one offer; every one has a number for every bucket.
BucketCodecs choose_codecs(const TrainingStep& step, const ExchangeClock& clock,
                           const std::vector<CodecOffer>& codecs, double worthwhile);

// What the mixture costs. Requires: as above, and a codec for every bucket.
StepPrediction predict_mixture(const TrainingStep& step, const ExchangeClock& clock,
                               const std::vector<CodecOffer>& codecs,
                               const std::vector<std::size_t>& chosen);

}  // namespace weft

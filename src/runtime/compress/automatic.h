// The automatic choice: what the cost model of the room `timing` needs to know of real codecs,
// modes and groups, and what it answers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "runtime/chooser.h"
#include "timing/compression/step_cost.h"

namespace weft::runtime {

// What is tried when the user names nothing, the plain one first. All of them can be left for
// another in the middle of training (Codec::movable()).
const std::vector<std::string>& automatic_codecs();
const std::vector<std::string>& automatic_modes();

// Seconds of a rank's processor for one average of `values` values among `ranks`, by doing it: for
// an opaque codec encoding all parts, adding up one's own part of every rank, encoding its mean and
// decoding all means. Cost: four times that; the first is not counted, the median of the others is.
Result<CodingTime> measure_coding(const codec::Codec& codec, std::size_t values, int ranks);

struct CodingSpeed {
  std::string codec;
  CodingTime value;   // for each value
  double slower = 1;  // than predicted, where it was tried (CodecOffer)
};

// Of automatic_codecs() on the machine of docs/benchmarks.md, for what must not hang on the machine
// it runs on; and measured here, one rank alone.
std::vector<CodingSpeed> usual_coding();
Result<std::vector<CodingSpeed>> measured_coding(std::size_t values, int ranks);

// Algorithms as the live chooser would take them. Keeps what it was asked.
class ChooserClock : public ExchangeClock {
 public:
  using Ask = std::function<Choice(collective::Operation, double bytes)>;
  ChooserClock(Ask ask, int ranks, int per_host)
      : ask_(std::move(ask)), ranks_(ranks), per_host_(per_host) {}
  std::vector<ExchangeCost> costs(collective::Operation operation, double bytes) const override;

 private:
  double sent_bytes(collective::Operation operation, const std::string& algorithm,
                    double bytes) const;

  const Ask ask_;
  const int ranks_, per_host_;
  mutable std::map<std::pair<collective::Operation, double>, std::vector<ExchangeCost>> known_;
};
// Of a group that need not exist.
ChooserClock clock_of(const GroupShape& shape);

struct AutomaticQuestion {
  TrainingStep step;
  int ranks = 2;
  std::vector<CodingSpeed> codecs;  // the plain one first
  std::vector<std::string> modes;   // one that averages gradients first
  std::optional<bool> adaptive;     // the optimizer, as in codec/efficiency.h
  // By bucket, the matrices that it holds; empty: not known.
  std::vector<std::vector<codec::MatrixPlace>> matrices = {};
};
struct AutomaticAnswer {
  std::string mode;
  std::vector<std::string> codecs;  // by bucket; a mode of parameters has one for all
  // By bucket, of a mode of gradients: how it is exchanged, and in slices of how many bytes of the
  // whole (0: at once).
  std::vector<ExchangeCost> exchanges;
  StepPrediction predicted, plain;
  std::vector<StepPrediction> considered;  // best first
};
// An error for a codec or mode that is not known, and for sizes that a codec does not serve.
// Cost: that of choose_codecs(), and of timing every operation once.
Result<AutomaticAnswer> choose_automatically(const AutomaticQuestion& question,
                                             const ExchangeClock& clock);

// A sentence: what it is, and why.
std::string in_words(const AutomaticAnswer& answer);
// An object: mode, codecs, predicted, plain, considered, reason.
std::string to_json(const AutomaticAnswer& answer);

}  // namespace weft::runtime

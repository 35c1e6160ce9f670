// One budget for everything that a rank sends in a step, however many pieces it is encoded in: at a
// given number of values the most energy goes if the smallest one sent is the same everywhere. A
// piece's share is what reached that magnitude in the step before: the share, not the magnitude,
// since residuals grow from step to step.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft::codec {

// Thread-safety: all methods. What shares come out as does not hang on the order of pieces.
class Budget {
 public:
  // A piece is known from step to step by whose it is and where it begins.
  using Piece = std::pair<const void*, std::size_t>;
  static constexpr std::size_t kMostTimes = 16;  // of its values that a piece may send, beside rate

  // The share of a piece's values that is to be sent, so that all pieces of the step before would
  // have sent the share `rate` together; nothing: the piece was not seen then. At most kMostTimes ·
  // rate. Cost: at the begin of a step, that of looking at all samples.
  std::optional<double> share(std::uint64_t step, double rate, const Piece& piece);
  // What a piece of `count` values holds in this step: bits of the magnitudes of a sample of them.
  // What is not finite does not count.
  void add(const Piece& piece, double rate, std::size_t count,
           std::span<const std::uint32_t> sample);

 private:
  struct Seen {
    double weight = 0;                   // values that one of the sample stands for
    std::size_t size = 0;                // of the sample
    std::vector<std::uint32_t> largest;  // of the sample
  };
  void divide(double rate);

  std::mutex mutex_;
  std::uint64_t step_ = 0;
  std::map<Piece, Seen> seen_;      // in this step
  std::map<Piece, double> shares_;  // by the step before
};

}  // namespace weft::codec

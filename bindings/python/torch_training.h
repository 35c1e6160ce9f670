// Codecs and synchronisation modes for torch: averages of tensors through a codec, and the
// parameters of a model under a mode.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bindings/python/torch_backend.h"
#include "runtime/compress/automatic.h"
#include "runtime/compress/compressed_reduce.h"
#include "runtime/training/synchroniser.h"

namespace weft::bindings {

using GroupHandle = c10::intrusive_ptr<TorchBackend>;

// Tensors are float32, dense, contiguous and in host memory; others are refused.
class Compressor {
 public:
  // Throws std::invalid_argument with make_codec's sentence.
  Compressor(GroupHandle group, const std::string& codec, std::uint64_t seed);

  // The mean over the ranks of today, in place. `exact`: first place and number of values that go
  // around the codec. `matrices`: first place, rows and columns.
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;
  using Matrices = std::vector<std::array<std::size_t, 3>>;
  c10::intrusive_ptr<TorchWork> average(std::uint32_t bucket, const at::Tensor& tensor,
                                        double priority, const Places& exact,
                                        const Matrices& matrices);
  bool shaped() const { return reduce_.codec().shaped(); }
  bool coarse() const { return reduce_.coarse(); }
  const std::string& codec() const { return reduce_.codec().text(); }
  bool movable() const { return reduce_.codec().movable(); }
  // What was held back of a bucket, which is then forgotten; of no values: nothing.
  at::Tensor take_residual(std::uint32_t bucket);
  std::string save() const { return reduce_.save(); }
  void restore(const std::vector<std::string>& saved);
  void regroup();
  void mark() { reduce_.mark(); }
  void go_back() { reduce_.go_back(); }

 private:
  const GroupHandle group_;
  runtime::CompressedReduce reduce_;
};

class TrainingSync {
 public:
  // `agreed`: parameters are the same on all ranks already. Throws std::invalid_argument with the
  // sentence of whatever does not go together.
  TrainingSync(GroupHandle group, const std::string& codec, const std::string& mode,
               const at::Tensor& parameters, std::uint64_t seed, double weight, std::uint32_t steps,
               bool agreed);

  bool needs_gradient() const { return sync_->needs_gradient(); }
  void before_step(const at::Tensor& gradient, double loss, double lr);
  void after_step(double loss, double lr);
  void will_meet();
  void leave();
  void finish();
  std::string save() { return sync_->save(); }
  void restore(const std::vector<std::string>& saved);
  std::uint64_t step() const { return sync_->machine().step(); }
  std::uint64_t round() const { return sync_->machine().round(); }
  std::uint64_t widest() const { return sync_->widest(); }

 private:
  const GroupHandle group_;
  const at::Tensor parameters_;  // keeps the memory
  std::unique_ptr<runtime::Synchroniser> sync_;
};

// What Python has to know of a mode. Throws std::invalid_argument.
struct ModeFacts {
  std::string text, codec;
  bool gradients = false;  // every step's gradients are averaged and nothing else
  bool needs_loss = false;
  bool needs_gradient = false;  // of some steps: it is averaged or corrected before the optimizer's
};
ModeFacts mode_facts(const std::string& mode);
// Throws std::invalid_argument where they do not go together on any group.
void check_together(const std::string& codec, const std::string& mode);
// The full text of a codec. Throws std::invalid_argument.
std::string codec_text(const std::string& codec);

// The examples of each rank (sync/sampling.h). Throws std::invalid_argument.
std::vector<std::vector<std::uint32_t>> split_data(const std::string& split,
                                                   const std::vector<std::uint32_t>& labels,
                                                   std::uint32_t ranks, std::uint64_t seed);

// Shares of a batch by speed, at least one each (sync/straggler.h). Throws std::invalid_argument.
std::vector<std::uint32_t> balance_batch(const std::vector<double>& speeds, std::uint32_t batch);

// For the automatic choice (runtime/compress/automatic.h): seconds of coding per value, measured
// (before, between and after the exchanges), and what the cost model answers, as JSON. Throw
// std::invalid_argument.
using CodingSeconds = std::array<double, 3>;
std::vector<CodingSeconds> coding_speeds(const std::vector<std::string>& codecs, std::size_t values,
                                         int ranks);
std::string choose(TorchBackend& group, runtime::AutomaticQuestion question);

// What every rank has, by rank.
std::vector<std::string> gather_texts(TorchBackend& group, const std::string& own);

}  // namespace weft::bindings

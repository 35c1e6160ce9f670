// Gives a model to every job of a trace that names none, the way Lucid's authors do.
#pragma once

#include <cstdint>

namespace weft {

// The stream of numpy's default_rng(0).integers(0, bound): a seed sequence, the 128-bit PCG XSL-RR
// generator (O'Neill 2014) and Lemire's bounded draw on halves of its output (2019). The same
// stream as theirs, so that a run here can be compared with theirs job by job.
class ModelDraw {
 public:
  explicit ModelDraw(std::uint32_t seed = 0);
  // Uniform in [0, bound). Requires: bound > 0.
  std::uint32_t below(std::uint32_t bound);

 private:
  __extension__ using Wide = unsigned __int128;

  void step();
  std::uint32_t next_half();

  Wide state_ = 0, increment_ = 0;
  std::uint32_t spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace weft

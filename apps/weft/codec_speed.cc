#include "codec_speed.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/stopwatch.h"

namespace weft {
namespace {

double best(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

// The middle one, or the later of the two middle ones.
double middle(std::vector<double> seconds) {
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

class Timer {
 public:
  double lap() {
    const std::int64_t now = monotonic_ns();
    const double seconds = 1e-9 * static_cast<double>(now - last_);
    last_ = now;
    return seconds;
  }

 private:
  std::int64_t last_ = monotonic_ns();
};

// One rank alone: a round of a linear codec leaves its numbers as they are.
Status run_linear(const codec::LinearCodec& codec, std::span<const float> values,
                  codec::CodecState& state, std::span<float> out, CodecSpeed& speed) {
  Timer timer;
  auto run = codec.begin(values, state);
  if (!run.ok()) return run.error();
  speed.wire_bytes = 0;
  while (!(*run)->done()) {
    speed.wire_bytes += static_cast<double>((*run)->exchange().data.size());
    if (const Status status = (*run)->next(); !status.ok()) return status;
  }
  speed.compress_s.push_back(timer.lap());
  (*run)->finish(out);
  speed.decompress_s.push_back(timer.lap());
  return {};
}

Status run_opaque(const codec::OpaqueCodec& codec, std::span<const float> values,
                  codec::CodecState& state, std::span<std::byte> bytes, std::span<float> out,
                  CodecSpeed& speed) {
  Timer timer;
  const auto used = codec.encode(values, 0, state, bytes);
  if (!used.ok()) return used.error();
  speed.compress_s.push_back(timer.lap());
  if (const Status status = codec.decode(bytes.first(*used), out); !status.ok()) return status;
  speed.decompress_s.push_back(timer.lap());
  speed.wire_bytes = static_cast<double>(*used);
  return {};
}

}  // namespace

double CodecSpeed::best_share() const {
  return best(memcpy_s) / (best(compress_s) + best(decompress_s));
}
double CodecSpeed::median_share() const {
  return middle(memcpy_s) / (middle(compress_s) + middle(decompress_s));
}

std::vector<float> gradients_like(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(0.001 * random.normal());
  return values;
}

Result<CodecSpeed> measure_codec(const codec::Codec& codec, std::span<const float> values,
                                 int rounds, std::span<float> out) {
  CodecSpeed speed;
  codec::CodecState state = codec.make_state(values.size(), {});
  const codec::OpaqueCodec* opaque = codec.opaque();
  std::vector<std::byte> bytes(opaque != nullptr ? opaque->most_bytes(values.size()) : 0);
  for (int round = 0; round <= rounds; ++round) {
    Timer timer;
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    speed.memcpy_s.push_back(timer.lap());
    const Status status = opaque != nullptr
                              ? run_opaque(*opaque, values, state, bytes, out, speed)
                              : run_linear(*codec.linear(), values, state, out, speed);
    if (!status.ok()) return status.error();
    ++state.step;
    if (round == 0) {  // touched every page for the first time
      for (auto* seconds : {&speed.memcpy_s, &speed.compress_s, &speed.decompress_s}) {
        seconds->clear();
      }
    }
  }
  return speed;
}

}  // namespace weft

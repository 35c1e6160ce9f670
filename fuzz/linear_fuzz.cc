// Whatever other ranks send in the rounds of a linear codec, a run ends in finite values or in an
// error, and leaves a state that can be saved and restored.
//
// An input is the number of a codec, the ranks, the rank, the step, the number of values; then the
// values and what the rounds bring, as they lie in memory.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "codec/codecs.h"

namespace {

using namespace weft::codec;

// The last has matrices of its own.
const std::vector<std::unique_ptr<Codec>>& codecs() {
  static const std::vector<std::unique_ptr<Codec>> all = [] {
    std::vector<std::unique_ptr<Codec>> made;
    for (const char* text :
         {"randomk:rate=0.2", "scalecom:rate=0.2", "sketch:rate=0.2,rows=3,width=2",
          "blocksparse:block=4", "thc:block=16", "thc:bits=8,block=8,round=random",
          "powersgd:rank=64", "powersgd:rank=1", "powersgd:rank=2"}) {
      made.push_back(make_codec(text).value());
    }
    return made;
  }();
  return all;
}

// Bytes of the input in turn, from the first again when they have run out.
class Source {
 public:
  explicit Source(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint8_t next() { return bytes_.empty() ? 0 : bytes_[at_++ % bytes_.size()]; }
  void fill(std::span<std::byte> to) {
    for (std::byte& byte : to) byte = std::byte{next()};
  }
  bool left() const { return at_ < bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

void run_once(const LinearCodec& codec, CodecState& state, Source& source) {
  std::vector<float> values(state.size);
  source.fill(std::as_writable_bytes(std::span(values)));
  auto run = codec.begin(values, state);
  CHECK(run.ok() || !run.error().what.empty());
  if (!run.ok()) return;
  CHECK(finite(values));
  while (!(*run)->done()) {
    const Exchange exchange = (*run)->exchange();
    // Some rounds stay as this rank began them.
    if (source.next() % 4 != 0) source.fill(exchange.data);
    if (!(*run)->next().ok()) return;
  }
  std::vector<float> sum(values.size());
  (*run)->finish(sum);
  CHECK(finite(sum));
  codec.settle(sum, state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source({data, size});
  const std::size_t number = source.next() % codecs().size();
  const Codec& codec = *codecs()[number];
  Place place;
  place.ranks = 1 + source.next() % 130;
  place.rank = source.next() % place.ranks;
  const std::uint64_t step = source.next();
  const std::size_t count = source.next();
  if (number + 1 == codecs().size() && count > 60) place.matrices = {{3, 8, 7}};
  CodecState state = codec.make_state(count, place);
  state.step = step;
  for (int steps = 0; steps < 3 && (steps == 0 || source.left()); ++steps) {
    run_once(*codec.linear(), state, source);
    const auto again = restore(save(state));
    CHECK(again.ok() && codec.check(*again).ok());
  }
  return 0;
}

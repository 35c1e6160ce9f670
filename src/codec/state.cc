#include "codec/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace weft::codec {
namespace {

constexpr std::uint32_t kStateMagic = 0x54534357, kStateVersion = 1;  // "WCST"
// No codec has more of either; a file that claims so is broken.
constexpr std::uint32_t kMostVectors = 8, kMostText = 4096;
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 48;  // a microsecond each: nine years

class Writer {
 public:
  template <typename T>
  void put(T value) {
    put(&value, sizeof value);
  }
  void put(const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // Zero, and good() false, when there are not enough bytes.
  template <typename T>
  T get() {
    T value{};
    get(&value, sizeof value);
    return value;
  }
  void get(void* to, std::size_t bytes) {
    good_ = good_ && bytes <= bytes_.size();
    if (!good_ || bytes == 0) return;
    std::memcpy(to, bytes_.data(), bytes);
    bytes_ = bytes_.subspan(bytes);
  }
  // Nothing is allocated for more floats than there are bytes.
  std::vector<float> floats(std::uint64_t count) {
    good_ = good_ && count <= bytes_.size() / sizeof(float);
    std::vector<float> values(good_ ? count : 0);
    get(values.data(), values.size() * sizeof(float));
    return values;
  }
  bool good() const { return good_; }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

Error broken(std::string what) {
  return Error{ErrorKind::kInvalidInput, "codec state refused: " + std::move(what), ""};
}

Status check_finite_vectors(const char* kind, const std::vector<std::vector<float>>& vectors) {
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    const auto bad = std::find_if_not(vectors[v].begin(), vectors[v].end(),
                                      [](float x) { return std::isfinite(x); });
    if (bad == vectors[v].end()) continue;
    return broken(fmt::format("value {} of {} vector {} is {}; all are finite",
                              bad - vectors[v].begin(), kind, v, *bad));
  }
  return {};
}

bool alike(const CodecState& a, const CodecState& b) {
  return a.codec == b.codec && a.size == b.size && a.place.seed == b.place.seed &&
         a.step == b.step && a.local.size() == b.local.size() &&
         std::equal(a.shared.begin(), a.shared.end(), b.shared.begin(), b.shared.end(),
                    [](const auto& x, const auto& y) { return x.size() == y.size(); });
}

std::vector<std::byte> save_wide(const CodecState& state) {
  Writer out;
  out.put(kStateMagic);
  out.put(kStateVersion);
  out.put(static_cast<std::uint32_t>(state.codec.size()));
  out.put(state.codec.data(), state.codec.size());
  out.put(static_cast<std::uint64_t>(state.size));
  out.put(state.place.rank);
  out.put(state.place.ranks);
  out.put(state.place.seed);
  out.put(state.step);
  out.put(static_cast<std::uint32_t>(state.local.size()));
  out.put(static_cast<std::uint32_t>(state.shared.size()));
  for (const auto& vector : state.local) out.put(vector.data(), vector.size() * sizeof(float));
  for (const auto& vector : state.shared) {
    out.put(static_cast<std::uint64_t>(vector.size()));
    out.put(vector.data(), vector.size() * sizeof(float));
  }
  return out.take();
}

CodecState slice_wide(const CodecState& state, std::size_t first, std::size_t count) {
  CodecState part{state.codec, count, state.place, state.step, {}, state.shared};
  for (const auto& vector : state.local) {
    const auto begin = vector.begin() + static_cast<std::ptrdiff_t>(first);
    part.local.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

}  // namespace

void CodecState::keep(ResidualForm form) {
  if (form == ResidualForm::kNone) return;
  if (form == ResidualForm::kFloat32) {
    if (local.empty()) local.emplace_back(size, 0.0F);
    return;
  }
  // -0 changes nothing that it is added to.
  if (!compact) compact.emplace(size, std::uint16_t{0x8000});
}

std::size_t CodecState::residual_bytes() const {
  if (compact) return sizeof(std::uint16_t);
  return local.empty() ? 0 : sizeof(float);
}

Residual CodecState::residual(std::size_t first, std::size_t count) {
  CHECK(count <= size && first <= size - count);
  Residual range;
  if (!local.empty()) range.exact = local.front().data() + first;
  if (compact) range.compact = compact->data() + first;
  return range;
}

void CodecState::took_up(std::size_t first, std::size_t count) {
  if (!compact || local.empty()) return;
  std::vector<float>& carried = local.front();
  std::fill_n(carried.begin() + static_cast<std::ptrdiff_t>(first), count, 0.0F);
  if (std::all_of(carried.begin(), carried.end(), [](float x) { return x == 0; })) local.clear();
}

void CodecState::forget(std::size_t first, std::size_t count) {
  CHECK(count <= size && first <= size - count);
  const auto begin = static_cast<std::ptrdiff_t>(first);
  for (auto& vector : local) std::fill_n(vector.begin() + begin, count, 0.0F);
  if (compact) std::fill_n(compact->begin() + begin, count, std::uint16_t{0});
}

bool operator==(const CodecState& a, const CodecState& b) {
  const CodecState x = widened(a), y = widened(b);
  return alike(x, y) && a.place.rank == b.place.rank && a.place.ranks == b.place.ranks &&
         x.local == y.local && a.shared == b.shared;
}

CodecState widened(CodecState state) {
  if (!state.compact) return state;
  std::vector<float> sum(state.size);
  const Residual residual = state.residual(0, state.size);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = residual.at(i);
  state.local.assign(1, std::move(sum));
  state.compact.reset();
  return state;
}

std::vector<std::byte> save(const CodecState& state) {
  return state.compact ? save_wide(widened(state)) : save_wide(state);
}

Result<CodecState> restore(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (in.get<std::uint32_t>() != kStateMagic) return broken("it does not begin as one");
  if (const auto version = in.get<std::uint32_t>(); version != kStateVersion) {
    return broken(fmt::format("its version is {}, this program reads {}", version, kStateVersion));
  }
  CodecState state;
  const auto text_size = in.get<std::uint32_t>();
  if (text_size > kMostText) return broken(fmt::format("a codec's name of {} bytes", text_size));
  state.codec.resize(std::min<std::size_t>(text_size, in.left()));
  in.get(state.codec.data(), text_size);
  state.size = in.get<std::uint64_t>();
  state.place.rank = in.get<std::uint32_t>();
  state.place.ranks = in.get<std::uint32_t>();
  state.place.seed = in.get<std::uint64_t>();
  state.step = in.get<std::uint64_t>();
  const auto locals = in.get<std::uint32_t>(), shared = in.get<std::uint32_t>();
  if (!in.good()) return broken("it is cut short");
  if (state.place.rank >= state.place.ranks) {
    return broken(fmt::format("its rank is {} of {}; it must be below the number of ranks",
                              state.place.rank, state.place.ranks));
  }
  if (state.step > kMostSteps) {
    return broken(fmt::format("its step is {}, at most {}", state.step, kMostSteps));
  }
  if (locals > kMostVectors || shared > kMostVectors) {
    return broken(fmt::format("{} + {} vectors, at most {} each", locals, shared, kMostVectors));
  }
  for (std::uint32_t i = 0; i < locals; ++i) state.local.push_back(in.floats(state.size));
  for (std::uint32_t i = 0; i < shared; ++i) {
    state.shared.push_back(in.floats(in.get<std::uint64_t>()));
  }
  if (!in.good()) return broken("it is cut short");
  if (in.left() > 0) return broken(fmt::format("{} bytes follow its end", in.left()));
  if (Status finite = check_finite_vectors("local", state.local); !finite.ok())
    return finite.error();
  if (Status finite = check_finite_vectors("shared", state.shared); !finite.ok())
    return finite.error();
  return state;
}

Result<std::vector<CodecState>> spread(std::span<const CodecState> states, std::uint32_t ranks) {
  CHECK(!states.empty() && ranks > 0);
  std::vector<CodecState> old;
  for (const CodecState& state : states) old.push_back(widened(state));
  for (const CodecState& state : old) {
    if (alike(state, old.front())) continue;
    return broken(fmt::format("rank {} has '{}' of {} values at step {}, rank {} '{}' of {} at {}",
                              old.front().place.rank, old.front().codec, old.front().size,
                              old.front().step, state.place.rank, state.codec, state.size,
                              state.step));
  }
  CodecState model = old.front();
  for (std::size_t v = 0; v < model.local.size(); ++v) {
    for (std::size_t i = 0; i < model.size; ++i) {
      double sum = 0;
      for (const CodecState& state : old) sum += static_cast<double>(state.local[v][i]);
      const double share = sum / ranks;
      if (!(std::abs(share) <= std::numeric_limits<float>::max())) {
        return broken(
            fmt::format("value {} of local vector {} is {} on each of {} ranks, which is "
                        "no float",
                        i, v, share, ranks));
      }
      model.local[v][i] = static_cast<float>(share);
    }
  }
  std::vector<CodecState> all(ranks, model);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all[rank].place = {rank, ranks, model.place.seed};
  }
  return all;
}

CodecState slice(const CodecState& state, std::size_t first, std::size_t count) {
  CHECK(count <= state.size && first <= state.size - count);
  return state.compact ? slice_wide(widened(state), first, count) : slice_wide(state, first, count);
}

Result<CodecState> join(std::span<const CodecState> slices) {
  CHECK(!slices.empty());
  CodecState whole = widened(slices.front());
  for (const CodecState& narrow : slices.subspan(1)) {
    const CodecState part = widened(narrow);
    if (part.codec != whole.codec || part.place.seed != whole.place.seed ||
        part.local.size() != whole.local.size()) {
      return broken(
          fmt::format("a part of '{}' cannot follow one of '{}'", part.codec, whole.codec));
    }
    whole.size += part.size;
    for (std::size_t v = 0; v < whole.local.size(); ++v) {
      whole.local[v].insert(whole.local[v].end(), part.local[v].begin(), part.local[v].end());
    }
  }
  return whole;
}

}  // namespace weft::codec

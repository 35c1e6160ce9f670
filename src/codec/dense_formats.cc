#include "codec/dense_formats.h"

#include <fmt/core.h>

#include <limits>

#include "codec/dense.h"

namespace weft::codec {
namespace {

// Below these no scale, norm or sum over a block overflows.
constexpr float kScaledLimit = 0x1p126F, kNormLimit = 0x1p57F, kMeanLimit = 0x1p115F;

std::uint32_t block_of(Parameters& p, std::int64_t otherwise) {
  const auto block = static_cast<std::uint32_t>(p.integer("block", otherwise, kPadding, kTile));
  if ((block & (block - 1)) == 0) return block;
  p.complain(fmt::format("{}: block is {}; it must be a power of two", p.name(), block));
  return static_cast<std::uint32_t>(otherwise);
}

// Whether the codec keeps a residual.
bool feedback_of(Parameters& p, bool otherwise) {
  const bool feedback = p.flag("ef", otherwise && !p.carrier());
  if (feedback && p.carrier()) {
    p.complain(fmt::format("{}: ef=1 after '+'; what it leaves over is kept before", p.name()));
  }
  return feedback;
}

// Whether a code leaves little beside what it sends. Coarse ones, and those of a norm, leave most
// of many values, which wait and add up: that wants floats.
bool is_fine(DenseKind kind) {
  switch (kind) {
    case DenseKind::kFloat16:
    case DenseKind::kBfloat16:
    case DenseKind::kInt8:
    case DenseKind::kInt8Random:
    case DenseKind::kE4m3:
    case DenseKind::kE5m2:
    case DenseKind::kNatural:
    case DenseKind::kNaturalRandom:
      return true;
    default:
      return false;
  }
}
DenseFormat format_of(WireId id, const DenseRule& rule, bool feedback) {
  if (!feedback) return {id, rule, ResidualForm::kNone};
  return {id, rule, is_fine(rule.kind) ? ResidualForm::kCompact : ResidualForm::kFloat32};
}

std::unique_ptr<Codec> unscaled(Parameters& p, WireId id, DenseKind kind, float limit) {
  const bool feedback = feedback_of(p, false);
  return make_dense(p.text(), format_of(id, {kind, 16, kTile, 0, limit, 0}, feedback));
}

// Error feedback wants a contraction: the error of one step must be smaller than the value, or
// residuals grow without end (Stich, Cordonnier and Jaggi 2018; Karimireddy et al. 2019). Rounding
// to nearest is one; rounding at random only where the levels are fine, so it must be asked for and
// `contracts` says whether it may be.
DenseKind rounding(Parameters& p, bool feedback, DenseKind nearest, DenseKind random,
                   bool contracts) {
  const std::string word = p.word("round", feedback ? "nearest" : "random", {"nearest", "random"});
  if (word == "nearest") return nearest;
  if (feedback && !contracts) {
    p.complain(
        fmt::format("{}: round=random with ef=1 lets residuals grow without end; choose "
                    "round=nearest or ef=0",
                    p.name()));
  }
  return random;
}

std::unique_ptr<Codec> integers(Parameters& p, WireId id, DenseKind nearest, DenseKind random,
                                std::uint32_t bits) {
  DenseRule rule{nearest, bits, block_of(p, 256), 1, kScaledLimit, 0};
  const bool feedback = feedback_of(p, true);
  if (p.word("round", "nearest", {"nearest", "random"}) == "random") rule.kind = random;
  return make_dense(p.text(), format_of(id, rule, feedback));
}

std::unique_ptr<Codec> signs(Parameters& p, WireId id, DenseKind kind, std::uint32_t scales,
                             std::uint32_t block) {
  DenseRule rule{kind, 1, block_of(p, block), scales, kMeanLimit, 0};
  const bool feedback = feedback_of(p, true);
  return make_dense(p.text(), format_of(id, rule, feedback));
}

}  // namespace

std::unique_ptr<Codec> make_none(Parameters& p) {
  const float infinity = std::numeric_limits<float>::infinity();
  return make_dense(p.text(), format_of(WireId::kFloat32,
                                        {DenseKind::kFloat32, 32, kTile, 0, infinity, 0}, false));
}
std::unique_ptr<Codec> make_fp16(Parameters& p) {
  return unscaled(p, WireId::kFloat16, DenseKind::kFloat16, 65520.0F);  // rounds to infinity
}
std::unique_ptr<Codec> make_bf16(Parameters& p) {
  return unscaled(p, WireId::kBfloat16, DenseKind::kBfloat16, 0x1.FFp127F);
}
std::unique_ptr<Codec> make_fp8(Parameters& p) {
  const bool e4m3 = p.word("format", "e4m3", {"e4m3", "e5m2"}) == "e4m3";
  DenseRule rule{
      e4m3 ? DenseKind::kE4m3 : DenseKind::kE5m2, 8, block_of(p, 256), 1, kScaledLimit, 0};
  const bool feedback = feedback_of(p, true);
  return make_dense(p.text(),
                    format_of(e4m3 ? WireId::kFloat8E4m3 : WireId::kFloat8E5m2, rule, feedback));
}
std::unique_ptr<Codec> make_int8(Parameters& p) {
  return integers(p, WireId::kInt8, DenseKind::kInt8, DenseKind::kInt8Random, 8);
}
std::unique_ptr<Codec> make_int4(Parameters& p) {
  return integers(p, WireId::kInt4, DenseKind::kInt4, DenseKind::kInt4Random, 4);
}

// QSGD (Alistarh et al. 2017): level |v| / norm · s, rounded up or down at random so that the mean
// is right. With s levels and blocks of d the variance is at most min(d / s², √d / s) times the
// squared norm (its lemma on variance), which is below 1 from s = √d on.
std::unique_ptr<Codec> make_qsgd(Parameters& p) {
  const auto bits = p.integer("bits", 8, 2, 8);
  if (bits != 2 && bits != 4 && bits != 8) {
    p.complain(fmt::format("qsgd: bits is {}; it must be 2, 4 or 8", bits));
  }
  DenseRule rule{
      DenseKind::kQsgd8, static_cast<std::uint32_t>(bits), block_of(p, 512), 1, kNormLimit, 0};
  const bool feedback = feedback_of(p, false);
  const auto levels = (std::uint32_t{1} << (bits - 1)) - 1;
  const bool contracts = levels * levels > rule.block;
  const bool random = rounding(p, feedback, DenseKind::kQsgd8, DenseKind::kQsgd8Random,
                               contracts) == DenseKind::kQsgd8Random;
  if (bits == 8) rule.kind = random ? DenseKind::kQsgd8Random : DenseKind::kQsgd8;
  if (bits == 4) rule.kind = random ? DenseKind::kQsgd4Random : DenseKind::kQsgd4;
  if (bits == 2) rule.kind = random ? DenseKind::kQsgd2Random : DenseKind::kQsgd2;
  return make_dense(p.text(), format_of(WireId::kQsgd, rule, feedback));
}

// TernGrad (Wen et al. 2017): sign · largest · coin(|v| / largest). Its clipping, to 2.5 standard
// deviations in the paper, keeps one large value from drowning a block; it is off unless asked for,
// since blocks are small here.
std::unique_ptr<Codec> make_terngrad(Parameters& p) {
  DenseRule rule{DenseKind::kTernaryRandom, 2, block_of(p, 256), 1, kNormLimit, 0};
  rule.clip = static_cast<float>(p.number("clip", 0, 0, 100));
  const bool feedback = feedback_of(p, false);
  rule.kind = rounding(p, feedback, DenseKind::kTernary, DenseKind::kTernaryRandom, false);
  return make_dense(p.text(), format_of(WireId::kTernGrad, rule, feedback));
}

// Variance is at most 1/8 of the square (Horváth et al. 2019), so both roundings contract.
std::unique_ptr<Codec> make_natural(Parameters& p) {
  DenseRule rule{DenseKind::kNaturalRandom, 8, block_of(p, 256), 1, kScaledLimit, 0};
  const bool feedback = feedback_of(p, false);
  rule.kind = rounding(p, feedback, DenseKind::kNatural, DenseKind::kNaturalRandom, true);
  return make_dense(p.text(), format_of(WireId::kNatural, rule, feedback));
}

std::unique_ptr<Codec> make_sign(Parameters& p) {
  const float infinity = std::numeric_limits<float>::infinity();
  return make_dense(p.text(),
                    format_of(WireId::kSign, {DenseKind::kSign, 1, kTile, 0, infinity, 0}, false));
}
std::unique_ptr<Codec> make_efsign(Parameters& p) {
  // Long blocks mix small and large layers under one magnitude and lose accuracy (docs/codecs.md).
  return signs(p, WireId::kScaledSign, DenseKind::kScaledSign, 1, 256);
}
std::unique_ptr<Codec> make_onebit(Parameters& p) {
  return signs(p, WireId::kOneBit, DenseKind::kOneBit, 2, 1024);
}

}  // namespace weft::codec

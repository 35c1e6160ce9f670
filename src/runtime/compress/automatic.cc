#include "runtime/compress/automatic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "base/stopwatch.h"
#include "codec/codecs.h"
#include "codec/efficiency.h"
#include "runtime/compress/codec_menu.h"
#include "sync/cost.h"
#include "sync/mode.h"

namespace weft::runtime {
namespace {

Result<CodecOffer> offer_of(const CodingSpeed& speed, const AutomaticQuestion& question) {
  auto codec = codec::make_codec(speed.codec);
  if (!codec.ok()) return codec.error();
  CodecOffer offer;
  offer.codec = speed.codec;
  offer.slower = speed.slower;
  const bool plain = (*codec)->text() == "none";
  offer.linear = plain || (*codec)->linear() != nullptr;
  if (!plain && offer.linear) offer.rounds = 2;  // PowerSGD's P and Q; others have one or two
  const std::vector<codec::MatrixPlace> unknown;
  for (std::size_t i = 0; i < question.step.buckets.size(); ++i) {
    const double bytes = question.step.buckets[i].bytes, values = bytes / sizeof(float);
    const auto& matrices = question.matrices.empty() ? unknown : question.matrices[i];
    offer.wire_bytes.push_back(
        plain ? bytes : (*codec)->shaped_bytes(static_cast<std::size_t>(values), matrices));
    offer.coding.push_back(plain ? CodingTime{} : speed.value * values);
  }
  if (const auto known = codec::codec_efficiency(**codec, question.adaptive)) {
    offer.efficiency = Efficiency{known->value, known->source};
  }
  return offer;
}

Result<SyncOffer> offer_of(const std::string& text, const AutomaticQuestion& question) {
  const auto mode = sync::parse_mode(text);
  if (!mode.ok()) return mode.error();
  const auto n = static_cast<std::uint32_t>(question.ranks);
  const sync::SyncCost cost = sync::sync_cost(*mode, n, n, 1);
  SyncOffer offer;
  offer.sync = text;
  offer.gradients = mode->exchange == sync::Exchange::kGradients;
  offer.exchanges = cost.exchanges;
  offer.hidden_steps = cost.hidden_steps;
  if (const auto known = sync::sync_efficiency(*mode, n, question.adaptive)) {
    offer.efficiency = Efficiency{known->value, known->source};
  }
  // Averages of parameters were measured with these.
  if (!offer.gradients) offer.codecs = {"none", "int8", "int4"};
  return offer;
}

// Of one bucket's first exchange.
ExchangeCost exchange_of(const CodecOffer& codec, std::size_t bucket, const ExchangeClock& clock) {
  const double bytes = codec.wire_bytes[bucket];
  return codec.linear ? clock.costs(collective::Operation::kAllReduce, bytes / codec.rounds).front()
                      : clock.costs(collective::Operation::kAllToAll, bytes).front();
}

nlohmann::ordered_json prediction_json(const StepPrediction& one) {
  nlohmann::ordered_json json = {{"codec", one.codec},         {"sync", one.sync},
                                 {"algorithm", one.algorithm}, {"sent_bytes", one.sent_bytes},
                                 {"coding_s", one.coding_s},   {"exchange_s", one.exchange_s},
                                 {"exposed_s", one.exposed_s}, {"step_s", one.step_s},
                                 {"efficiency", nullptr},      {"efficiency_source", "not known"},
                                 {"progress_s", nullptr}};
  if (one.efficiency) {
    json["efficiency"] = *one.efficiency;
    json["efficiency_source"] = one.source;
    json["progress_s"] = one.progress_s();
  }
  return json;
}

Seconds since(std::int64_t begin_ns) {
  return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
}

// Encodes, adds up, encodes what was added up and decodes, as runtime/compress does.
Result<CodingTime> code_once(const codec::OpaqueCodec& codec, std::span<const float> values,
                             std::size_t part, codec::CodecState& state, codec::CodecState& back,
                             std::vector<float>& out) {
  std::vector<std::byte> bytes(codec.most_bytes(values.size()));
  std::vector<std::byte> mean(codec.back().most_bytes(part));
  CodingTime took;
  std::int64_t begin = monotonic_ns();
  const auto used = codec.encode(values, 0, state, bytes);
  if (!used.ok()) return used.error();
  took.before_s = since(begin);
  const auto sent = std::span<const std::byte>(bytes).first(*used);
  begin = monotonic_ns();
  if (Status status = codec.decode_add(sent, out); !status.ok()) return status.error();
  if (const auto coded = codec.back().encode(values.first(part), 0, back, mean); !coded.ok()) {
    return coded.error();
  }
  took.between_s = since(begin);
  begin = monotonic_ns();
  if (Status status = codec.decode(sent, out); !status.ok()) return status.error();
  took.after_s = since(begin);
  return took;
}

Result<CodingTime> code_once(const codec::LinearCodec& codec, std::span<const float> values,
                             codec::CodecState& state, std::vector<float>& out) {
  CodingTime took;
  std::int64_t begin = monotonic_ns();
  auto run = codec.begin(values, state);
  if (!run.ok()) return run.error();
  took.before_s = since(begin);
  begin = monotonic_ns();
  while (!(*run)->done()) {
    if (Status status = (*run)->next(); !status.ok()) return status.error();
  }
  took.between_s = since(begin);
  begin = monotonic_ns();
  (*run)->finish(out);
  took.after_s = since(begin);
  return took;
}

}  // namespace

const std::vector<std::string>& automatic_codecs() {
  static const std::vector<std::string> codecs = {
      "none", "fp16", "int8", "int4", "onebit", "topk:rate=0.01", "powersgd:rank=4"};
  return codecs;
}

const std::vector<std::string>& automatic_modes() {
  static const std::vector<std::string> modes = {"bsp",
                                                 "local:period=2",
                                                 "local:period=4",
                                                 "local:period=8",
                                                 "local:period=16",
                                                 "local:period=32"};
  return modes;
}

Result<CodingTime> measure_coding(const codec::Codec& codec, std::size_t values, int ranks) {
  if (values == 0 || codec.text() == "none") return CodingTime{};
  std::vector<float> data(values), out(values);
  for (std::size_t i = 0; i < values; ++i) {  // of either sign and of several magnitudes
    data[i] = static_cast<float>(static_cast<int>(i * 2654435761U >> 16U & 0xFFFU) - 2048) * 1e-6F;
  }
  const std::size_t part =
      (values + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  codec::CodecState state = codec.make_state(values, {});
  const auto* opaque = codec.opaque();
  codec::CodecState back =
      opaque != nullptr ? opaque->back().make_state(part, {}) : codec::CodecState{};
  std::vector<CodingTime> took;
  for (int time = 0; time < 4; ++time) {
    const auto one = opaque != nullptr ? code_once(*opaque, data, part, state, back, out)
                                       : code_once(*codec.linear(), data, state, out);
    if (!one.ok()) return one.error();
    if (time > 0) took.push_back(*one);
    ++state.step;
    ++back.step;
  }
  std::sort(took.begin(), took.end(),
            [](const CodingTime& a, const CodingTime& b) { return a.total_s() < b.total_s(); });
  return took[took.size() / 2];
}

std::vector<CodingSpeed> usual_coding() {
  // `weft bench choose --training --json`, one rank alone on an idle core, 4 ranks.
  return {{"none", {}, 1},
          {"fp16", {0.147e-9, 0.224e-9, 0.144e-9}, 1},
          {"int8", {0.432e-9, 0.309e-9, 0.141e-9}, 1},
          {"int4", {0.356e-9, 0.304e-9, 0.145e-9}, 1},
          {"onebit", {0.438e-9, 0.327e-9, 0.175e-9}, 1},
          {"topk:rate=0.01", {0.736e-9, 0.63e-9, 0.087e-9}, 1},
          {"powersgd:rank=4", {0.368e-9, 0.16e-9, 0.427e-9}, 1}};
}

Result<std::vector<CodingSpeed>> measured_coding(std::size_t values, int ranks) {
  std::vector<CodingSpeed> speeds;
  for (const std::string& text : automatic_codecs()) {
    const auto codec = codec::make_codec(text);
    if (!codec.ok()) return codec.error();
    const auto took = measure_coding(**codec, values, ranks);
    if (!took.ok()) return took.error();
    speeds.push_back(
        {text, values == 0 ? CodingTime{} : *took * (1 / static_cast<double>(values)), 1});
  }
  return speeds;
}

double ChooserClock::sent_bytes(collective::Operation operation, const std::string& algorithm,
                                double bytes) const {
  const double n = ranks_, k = per_host_, hosts = n / k;
  if (operation == collective::Operation::kAllToAll && algorithm == "bruck") {
    return bytes * std::ceil(std::log2(n)) / 2;
  }
  if (operation != collective::Operation::kAllReduce) return bytes * (n - 1) / n;
  if (algorithm == "exchange") return bytes * (n - 1);
  if (algorithm == "hierarchical") {
    return 2 * bytes * ((k - 1) / k + (hosts - 1) / hosts / k);
  }
  return 2 * bytes * (n - 1) / n;
}

std::vector<ExchangeCost> ChooserClock::costs(collective::Operation operation, double bytes) const {
  const auto [at, fresh] = known_.try_emplace({operation, bytes});
  if (!fresh) return at->second;
  const Choice choice = ask_(operation, bytes);
  // Encoded parts differ in length, and such an all-to-all is always a direct one.
  const std::string first =
      operation == collective::Operation::kAllToAll ? "direct" : choice.algorithm;
  std::vector<ExchangeCost>& costs = at->second;
  for (const Candidate& one : choice.considered) {
    const bool runs = one.algorithm == choice.algorithm;
    const ExchangeCost cost{one.algorithm, one.expected_s,
                            sent_bytes(operation, one.algorithm, bytes),
                            runs ? static_cast<double>(choice.slice_bytes) : 0};
    costs.insert(one.algorithm == first ? costs.begin() : costs.end(), cost);
  }
  return costs;
}

ChooserClock clock_of(const GroupShape& shape) {
  const auto ask = [shape](collective::Operation operation, double bytes) {
    return timed_chooser().choose(operation, bytes, shape, {"", shape.ranks == 2, true});
  };
  return {ask, shape.ranks, shape.per_host};
}

Result<AutomaticAnswer> choose_automatically(const AutomaticQuestion& question,
                                             const ExchangeClock& clock) {
  std::vector<CodecOffer> codecs;
  for (const CodingSpeed& speed : question.codecs) {
    auto offer = offer_of(speed, question);
    if (!offer.ok()) return offer.error();
    codecs.push_back(std::move(*offer));
  }
  std::vector<SyncOffer> modes;
  for (const std::string& mode : question.modes) {
    auto offer = offer_of(mode, question);
    if (!offer.ok()) return offer.error();
    modes.push_back(std::move(*offer));
  }
  const auto best = choose_codecs(question.step, clock, codecs, kWorthCoding);
  const std::vector<std::size_t> none(question.step.buckets.size(), 0);
  AutomaticAnswer answer{modes.front().sync,
                         {},
                         {},
                         best.predicted,
                         predict_mixture(question.step, clock, codecs, none),
                         predict_steps(question.step, clock, codecs, modes)};
  for (std::size_t i = 0; i < best.codecs.size(); ++i) {
    const CodecOffer& codec = codecs[best.codecs[i]];
    answer.codecs.push_back(codec.codec);
    answer.exchanges.push_back(exchange_of(codec, i, clock));
  }
  answer.predicted.sync = answer.plain.sync = answer.mode;
  for (const StepPrediction& one : answer.considered) {
    if (one.sync == answer.mode) continue;
    // Another mode changes more than another codec does.
    if (one.progress_s() > kWorthCoding * answer.predicted.progress_s()) break;
    answer.mode = one.sync;
    answer.codecs = {one.codec};
    answer.exchanges = {};
    answer.predicted = one;
    break;
  }
  return answer;
}

std::string in_words(const AutomaticAnswer& answer) {
  const StepPrediction& it = answer.predicted;
  const std::string what = fmt::format("{} with {}", it.codec, it.sync);
  if (it.step_s >= answer.plain.step_s && it.codec == "none") {
    const auto& all = answer.considered;
    const auto other = std::find_if(all.begin(), all.end(), [](const StepPrediction& one) {
      return one.codec != "none" && one.efficiency;
    });
    if (other == all.end()) return what + ": nothing else was considered";
    return fmt::format(
        "{}: a step is expected to take {}, {} of it waiting; {} with {} would need {} for the "
        "same progress",
        what, seconds_text(it.step_s), seconds_text(it.exposed_s), other->codec, other->sync,
        seconds_text(other->progress_s()));
  }
  return fmt::format(
      "{}: a step is expected to take {} instead of {} ({} coding, {} waiting), {} instead of {} "
      "MB leave a rank, and a step is worth {:.2f} of a plain one ({})",
      what, seconds_text(it.step_s), seconds_text(answer.plain.step_s), seconds_text(it.coding_s),
      seconds_text(it.exposed_s), fmt::format("{:.3g}", it.sent_bytes * 1e-6),
      fmt::format("{:.3g}", answer.plain.sent_bytes * 1e-6), it.efficiency.value_or(0), it.source);
}

std::string to_json(const AutomaticAnswer& answer) {
  nlohmann::ordered_json json = {{"mode", answer.mode},
                                 {"codecs", answer.codecs},
                                 {"algorithms", nlohmann::ordered_json::array()},
                                 {"slice_bytes", nlohmann::ordered_json::array()},
                                 {"predicted", prediction_json(answer.predicted)},
                                 {"plain", prediction_json(answer.plain)},
                                 {"considered", nlohmann::ordered_json::array()},
                                 {"reason", in_words(answer)}};
  for (const ExchangeCost& exchange : answer.exchanges) {
    json["algorithms"].push_back(exchange.algorithm);
    json["slice_bytes"].push_back(exchange.slice_bytes);
  }
  for (const StepPrediction& one : answer.considered) {
    if (std::isfinite(one.step_s)) json["considered"].push_back(prediction_json(one));
  }
  return json.dump();
}

}  // namespace weft::runtime

#include "model/readers/shockwave_regimes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/delimited.h"

namespace weft {
namespace {

struct ModelFacts {
  std::string_view name;
  std::uint32_t samples;
  std::uint32_t largest_batch;  // 0: the batch size never changes
};

constexpr std::array<ModelFacts, 7> kModels = {{{"ResNet-18", 50000, 256},
                                                {"ResNet-50", 100000, 128},
                                                {"Transformer", 10000, 0},
                                                {"LM", 59675, 80},
                                                {"Recommendation", 117907, 8192},
                                                {"A3C", 4, 0},
                                                {"CycleGAN", 6287, 0}}};

const ModelFacts* facts_of(std::string_view model) {
  const auto it = std::find_if(kModels.begin(), kModels.end(),
                               [&](const ModelFacts& facts) { return facts.name == model; });
  return it == kModels.end() ? nullptr : &*it;
}

// Epochs from which a job under GNS runs at 2, 4, 8, 16 times its first batch size (0: never).
struct NoiseScaleRow {
  std::string_view model;
  std::uint32_t batch, scale;
  std::array<std::uint32_t, 4> doubled_at;
};

constexpr NoiseScaleRow kNoiseScale[] = {
    {"ResNet-18", 16, 1, {31, 41, 51, 71}},
    {"ResNet-18", 32, 1, {21, 31, 51, 0}},
    {"ResNet-18", 64, 1, {11, 31, 0, 0}},
    {"ResNet-18", 128, 1, {11, 0, 0, 0}},
    {"ResNet-18", 16, 2, {21, 31, 91, 111}},
    {"ResNet-18", 32, 2, {11, 21, 41, 0}},
    {"ResNet-18", 64, 2, {21, 41, 0, 0}},
    {"ResNet-18", 128, 2, {41, 0, 0, 0}},
    {"ResNet-18", 16, 4, {11, 21, 81, 91}},
    {"ResNet-18", 32, 4, {21, 31, 61, 0}},
    {"ResNet-18", 64, 4, {11, 61, 0, 0}},
    {"ResNet-18", 128, 4, {11, 0, 0, 0}},
    {"ResNet-50", 64, 1, {101, 0, 0, 0}},
    {"ResNet-50", 32, 2, {101, 111, 0, 0}},
    {"ResNet-50", 64, 2, {81, 0, 0, 0}},
    {"ResNet-50", 32, 4, {131, 221, 0, 0}},
    {"ResNet-50", 64, 4, {191, 0, 0, 0}},
    {"LM", 5, 1, {31, 41, 61, 71}},
    {"LM", 10, 1, {11, 21, 41, 0}},
    {"LM", 20, 1, {11, 41, 0, 0}},
    {"LM", 40, 1, {11, 0, 0, 0}},
    {"LM", 5, 2, {31, 51, 61, 71}},
    {"LM", 10, 2, {11, 31, 41, 0}},
    {"LM", 20, 2, {31, 41, 0, 0}},
    {"LM", 40, 2, {11, 0, 0, 0}},
    {"LM", 5, 4, {11, 31, 71, 91}},
    {"LM", 10, 4, {11, 31, 61, 0}},
    {"LM", 20, 4, {11, 61, 0, 0}},
    {"LM", 40, 4, {61, 0, 0, 0}},
    {"Recommendation", 512, 1, {21, 41, 71, 91}},
    {"Recommendation", 1024, 1, {21, 51, 91, 0}},
    {"Recommendation", 2048, 1, {21, 41, 0, 0}},
    {"Recommendation", 4096, 1, {41, 0, 0, 0}},
};

// Whether gradients still change too fast for a large batch, by Accordion's rule as measured.
bool is_critical(const BatchedModel& start, std::uint32_t epoch) {
  const auto in = [epoch](std::uint32_t from, std::uint32_t to) {
    return epoch >= from && epoch < to;
  };
  if (start.model == "ResNet-18") {
    return in(0, start.batch == 256 ? 20 : 10) || in(150, 160) || in(250, 260);
  }
  if (start.model == "ResNet-50") return epoch < 600 && epoch % 30 < 10;
  if (start.model == "LM") return in(0, 10);
  const std::uint32_t warm_up = start.batch <= 1024 ? 30 : start.batch == 2048 ? 40 : 10;
  return in(0, warm_up) || in(60, 70) || in(80, 90);
}

void add_regime(std::vector<BatchRegime>& regimes, std::uint32_t epoch, std::uint32_t batch) {
  if (regimes.back().batch != batch) regimes.push_back({epoch, batch});
}

}  // namespace

std::optional<BatchedModel> parse_batched_model(std::string_view job_type) {
  constexpr std::string_view kMiddle = " (batch size ";
  const std::size_t middle = job_type.find(kMiddle);
  if (middle == std::string_view::npos || !job_type.ends_with(")")) return std::nullopt;
  std::string_view digits = job_type.substr(middle + kMiddle.size());
  digits.remove_suffix(1);
  const auto batch = parse_integer(digits);
  if (!batch || *batch < 1 || *batch > 1'000'000) return std::nullopt;
  return BatchedModel{std::string(job_type.substr(0, middle)), static_cast<std::uint32_t>(*batch)};
}

std::string batched_model_text(const std::string& model, std::uint32_t batch) {
  return fmt::format("{} (batch size {})", model, batch);
}

std::uint32_t samples_per_epoch(std::string_view model) {
  const ModelFacts* const facts = facts_of(model);
  return facts == nullptr ? 0 : facts->samples;
}

std::vector<BatchRegime> batch_regimes(Adaptation adaptation, const BatchedModel& start,
                                       std::uint32_t scale, std::uint32_t epochs) {
  std::vector<BatchRegime> regimes = {{0, start.batch}};
  const ModelFacts* const facts = facts_of(start.model);
  if (facts == nullptr || facts->largest_batch <= start.batch) return regimes;
  if (adaptation == Adaptation::kAccordion) {
    // The first 30 % count as critical, to keep the accuracy of short jobs.
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      const bool early = epoch * 10 <= epochs * 3;
      add_regime(regimes, epoch,
                 early || is_critical(start, epoch) ? start.batch : facts->largest_batch);
    }
  }
  if (adaptation == Adaptation::kNoiseScale) {
    for (const NoiseScaleRow& row : kNoiseScale) {
      if (row.model != start.model || row.batch != start.batch || row.scale != scale) continue;
      std::uint32_t batch = start.batch;
      for (const std::uint32_t epoch : row.doubled_at) {
        if (epoch == 0 || epoch >= epochs) break;
        batch = std::min(batch * 2, facts->largest_batch);
        add_regime(regimes, epoch, batch);
      }
    }
  }
  return regimes;
}

}  // namespace weft

// Batch sizes over the epochs of a job that adapts them, as in the traces of Shockwave (Zheng et
// al., NSDI '23), whose authors measured when Accordion and GNS switch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload.h"

namespace weft {

// "ResNet-18 (batch size 16)" taken apart.
struct BatchedModel {
  std::string model;
  std::uint32_t batch = 0;
};
std::optional<BatchedModel> parse_batched_model(std::string_view job_type);
std::string batched_model_text(const std::string& model, std::uint32_t batch);

// Samples in an epoch of the model's data set; 0: not one of Shockwave's models.
std::uint32_t samples_per_epoch(std::string_view model);

// From epoch `epoch` (from 0) on, the batch size is `batch`.
struct BatchRegime {
  std::uint32_t epoch = 0;
  std::uint32_t batch = 0;
  bool operator==(const BatchRegime&) const = default;
};

// Ensures: at least one regime, the first at epoch 0; epochs ascend and lie below `epochs` (one
// regime when `epochs` is 0); neighbours differ.
std::vector<BatchRegime> batch_regimes(Adaptation adaptation, const BatchedModel& start,
                                       std::uint32_t scale, std::uint32_t epochs);

}  // namespace weft

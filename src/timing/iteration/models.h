// Published networks as layers: parameters and multiply-adds, derived from their architecture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ModelLayer {
  std::string name;
  double parameters = 0;
  double multiply_adds = 0;  // of the forward pass of one sample
};

struct NetworkModel {
  std::string_view name;
  std::string_view source;
  std::vector<ModelLayer> (*layers)();
};

// vgg16, resnet50, bert-large, gpt2-xl. Branches are put one after the other.
const std::vector<NetworkModel>& network_models();

}  // namespace weft

#include "timing/iteration/models.h"

#include <fmt/core.h>

namespace weft {
namespace {

double square(double x) { return x * x; }

// A convolution with `side` × `side` outputs. `extra` parameters per output channel: 1 bias, or 2
// of batch normalisation.
ModelLayer convolution(std::string name, double kernel, double in, double out, double side,
                       double extra) {
  const double weights = square(kernel) * in * out;
  return {std::move(name), weights + extra * out, weights * square(side)};
}

ModelLayer dense(std::string name, double in, double out) {
  return {std::move(name), in * out + out, in * out};
}

// Column D of table 1; 138,357,544 parameters.
std::vector<ModelLayer> vgg16() {
  struct Group {
    int convolutions;
    double channels, side;
  };
  std::vector<ModelLayer> layers;
  double in = 3;
  int group_number = 0;
  for (const Group group : {Group{2, 64, 224}, Group{2, 128, 112}, Group{3, 256, 56},
                            Group{3, 512, 28}, Group{3, 512, 14}}) {
    ++group_number;
    for (int i = 1; i <= group.convolutions; ++i) {
      layers.push_back(convolution(fmt::format("conv{}_{}", group_number, i), 3, in, group.channels,
                                   group.side, 1));
      in = group.channels;
    }
  }
  layers.push_back(dense("fc6", 512 * 7 * 7, 4096));
  layers.push_back(dense("fc7", 4096, 4096));
  layers.push_back(dense("fc8", 4096, 1000));
  return layers;
}

// The 50-layer column of table 1, the stride on the 3 × 3 convolution; 25,557,032 parameters.
std::vector<ModelLayer> resnet50() {
  std::vector<ModelLayer> layers = {convolution("conv1", 7, 3, 64, 112, 2)};
  const int blocks[] = {3, 4, 6, 3};
  double in = 64, width = 64, side = 56;
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string name = fmt::format("conv{}_{}", stage + 2, block + 1);
      const bool halves = stage > 0 && block == 0;
      layers.push_back(convolution(name + "a", 1, in, width, halves ? 2 * side : side, 2));
      layers.push_back(convolution(name + "b", 3, width, width, side, 2));
      layers.push_back(convolution(name + "c", 1, width, 4 * width, side, 2));
      if (block == 0) layers.push_back(convolution(name + "s", 1, in, 4 * width, side, 2));
      in = 4 * width;
    }
    width *= 2;
    side /= 2;
  }
  layers.push_back(dense("fc", 2048, 1000));
  return layers;
}

// One block: four projections of attention, two of the feed-forward part (4 h wide), two
// normalisations: 12 h² + 13 h parameters; attention itself adds 2 s² h multiply-adds.
ModelLayer transformer_block(int number, double hidden, double sequence) {
  return {fmt::format("block{}", number), 12 * square(hidden) + 13 * hidden,
          sequence * (12 * square(hidden) + 2 * sequence * hidden)};
}

// 24 blocks, 1,024 wide, sequences of 512; 335,141,888 parameters with the pooler.
std::vector<ModelLayer> bert_large() {
  constexpr double kHidden = 1024, kSequence = 512;
  std::vector<ModelLayer> layers = {{"embedding", (30522 + 512 + 2 + 2) * kHidden, 0}};
  for (int i = 1; i <= 24; ++i) layers.push_back(transformer_block(i, kHidden, kSequence));
  layers.push_back(dense("pooler", kHidden, kHidden));
  return layers;
}

// 48 blocks, 1,600 wide, contexts of 1,024; 1,557,611,200 parameters. The output layer uses the
// embedding's weights, which therefore have their gradient only when the backward pass ends.
std::vector<ModelLayer> gpt2_xl() {
  constexpr double kHidden = 1600, kSequence = 1024, kWords = 50257;
  std::vector<ModelLayer> layers = {{"embedding", (kWords + kSequence) * kHidden, 0}};
  for (int i = 1; i <= 48; ++i) layers.push_back(transformer_block(i, kHidden, kSequence));
  layers.push_back({"output", 2 * kHidden, kSequence * kWords * kHidden});
  return layers;
}

}  // namespace

const std::vector<NetworkModel>& network_models() {
  static const std::vector<NetworkModel> kModels = {
      {"vgg16", "Simonyan and Zisserman 2015, configuration D", vgg16},
      {"resnet50", "He et al. 2016, 50 layers", resnet50},
      {"bert-large", "Devlin et al. 2019, L=24, H=1024", bert_large},
      {"gpt2-xl", "Radford et al. 2019, 48 layers, 1600 wide", gpt2_xl},
  };
  return kModels;
}

}  // namespace weft

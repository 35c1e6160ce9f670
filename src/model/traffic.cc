#include "model/traffic.h"

#include <array>
#include <map>

#include "base/random.h"

namespace weft {
namespace {

// Images per second on 1, 2, 4, 8 P100 of one DGX-1, synthetic data, batch 64 (AlexNet 512) per
// device: TensorFlow's published benchmarks of May 2017. Parameters: Szegedy et al. 2016, He et al.
// 2016, Krizhevsky et al. 2012, Simonyan and Zisserman 2015.
ModelTraffic measured(const char* name, double parameters, double batch,
                      const std::array<double, 4>& images_per_s) {
  ModelTraffic model{name, parameters, {}};
  for (std::size_t i = 0; i < 4; ++i) {
    model.step_s[i] = batch * static_cast<double>(1 << i) / images_per_s[i];
  }
  return model;
}

// The forward pass is about a third of the arithmetic of a step: one multiplication per weight
// against two in the backward pass.
constexpr double kForwardPart = 1.0 / 3;

}  // namespace

std::span<const ModelTraffic> traffic_table() {
  static const std::array<ModelTraffic, 5> table = {
      measured("inception-v3", 23.8e6, 64, {142, 284, 569, 1131}),
      measured("resnet-50", 25.6e6, 64, {219, 422, 852, 1734}),
      measured("resnet-152", 60.2e6, 64, {91.8, 181, 356, 716}),
      measured("alexnet", 61.1e6, 512, {2987, 5658, 10509, 17822}),
      measured("vgg-16", 138.4e6, 64, {154, 295, 584, 1081}),
  };
  return table;
}

Seconds step_seconds(const ModelTraffic& model, std::uint32_t devices) {
  return model.step_s[devices >= 8 ? 3 : devices >= 4 ? 2 : devices >= 2 ? 1 : 0];
}

void draw_traffic(Trace& trace, std::uint64_t seed) {
  Random random(seed ^ 0x74726166666963ULL);
  std::map<std::pair<const Menu*, std::size_t>, std::shared_ptr<const Menu>> made;
  for (TraceJob& job : trace.jobs) {
    const auto table = traffic_table();
    const std::size_t pick = random.below(table.size());  // drawn for all, so jobs do not shift
    const Submission& old = *job.submission;
    bool silent = old.kind == WorkloadKind::kTraining;
    for (const Configuration& c : old.menu->configurations) {
      silent &= c.traffic.pattern == Traffic::Pattern::kNone;
    }
    if (!silent) continue;
    std::shared_ptr<const Menu>& menu = made[{old.menu.get(), pick}];
    if (menu == nullptr) {
      Menu filled = *old.menu;
      for (Configuration& c : filled.configurations) {
        c.traffic.pattern = Traffic::Pattern::kAllReduce;
        c.traffic.bytes_per_step = static_cast<Bytes>(4 * table[pick].parameters);
        c.traffic.phase = kForwardPart;
        if (c.seconds_per_step == 0) c.seconds_per_step = step_seconds(table[pick], c.devices);
      }
      menu = std::make_shared<const Menu>(std::move(filled));
    }
    Submission submission = old;
    submission.menu = menu;
    job.submission = std::make_shared<const Submission>(std::move(submission));
  }
}

}  // namespace weft

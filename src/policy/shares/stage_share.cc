#include <algorithm>

#include "policy/shares/shares.h"

namespace weft {
namespace {

class StageShare : public Sharer {
 public:
  StageShare(double min_efficiency, Bytes device_memory)
      : min_efficiency_(min_efficiency), device_memory_(device_memory) {}

  double gain(const State& state, const JobState& guest, const JobState& host) const override {
    const ModelId a = guest.spec->model, b = host.spec->model;
    if (state.pairs == nullptr || a == kNoModel || b == kNoModel) return 0;
    const std::vector<ModelProfile>& models = state.pairs->models;
    const TypeId type = state.cluster().type_of(host.held.devices.front().device);
    const Bytes stated = state.cluster().types[type].memory;
    const Bytes memory = stated > 0 ? stated : device_memory_;
    if (models[a].memory + models[b].memory >= memory) return 0;
    const double efficiency = interleaving_efficiency(models[a], models[b]);
    return efficiency > min_efficiency_ ? efficiency : 0;
  }
  double best_gain() const override { return 1; }
  bool matches() const override { return true; }

 private:
  double min_efficiency_;
  Bytes device_memory_;
};

}  // namespace

double interleaving_efficiency(const ModelProfile& a, const ModelProfile& b) {
  const double device = a.device_util + b.device_util;
  const double period = std::max({1.0, device, 2 - device});
  return 1 / period;
}

std::unique_ptr<Sharer> stage_share(double min_efficiency, Bytes device_memory) {
  return std::make_unique<StageShare>(min_efficiency, device_memory);
}

}  // namespace weft

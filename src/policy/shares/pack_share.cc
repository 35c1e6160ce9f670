#include <algorithm>

#include "policy/shares/shares.h"

namespace weft {
namespace {

class PackShare : public Sharer {
 public:
  explicit PackShare(const PackOptions& options) : options_(options) {}

  double gain(const State& state, const JobState& guest, const JobState& host) const override {
    if (guest.spec->requested().devices > options_.max_devices) return 0;
    const TypeId type = state.cluster().type_of(host.held.devices.front().device);
    if (measured_pair(state, type, guest.spec->model, host.spec->model, options_.device_memory) ==
        nullptr) {
      return 0;
    }
    const std::vector<ModelProfile>& models = state.pairs->models;
    const int together =
        packing_class(models[guest.spec->model]) + packing_class(models[host.spec->model]);
    if (together > options_.budget) return 0;
    return believed(guest) <= options_.estimate_factor * believed(host) ? 1 : 0;
  }
  double best_gain() const override { return 1; }

 private:
  static Seconds believed(const JobState& job) {
    return job.estimate.known() ? job.estimate.duration : kNever;
  }

  PackOptions options_;
};

}  // namespace

const PairSpeed* measured_pair(const State& state, TypeId type, ModelId first, ModelId second,
                               Bytes default_memory) {
  if (state.pairs == nullptr || state.pairs->empty() || first == kNoModel || second == kNoModel) {
    return nullptr;
  }
  const PairSpeed& pair = state.pairs->at(type, first, second);
  if (pair.first <= 0 || pair.second <= 0) return nullptr;
  const Bytes stated = state.cluster().types[type].memory;
  const Bytes memory = stated > 0 ? stated : default_memory;
  const Bytes needed = state.pairs->models[first].memory + state.pairs->models[second].memory;
  return needed < memory ? &pair : nullptr;
}

int packing_class(const ModelProfile& model) {
  if (model.packing_class >= 0) return model.packing_class;
  // Lucid learns a decision tree over these two; its tiny jobs use less than a third of the device
  // and its jumbo ones more than two thirds.
  const double use = std::max(model.device_util, model.memory_util);
  return use < 1.0 / 3 ? 0 : use < 2.0 / 3 ? 1 : 2;
}

std::unique_ptr<Sharer> pack_share(const PackOptions& options) {
  return std::make_unique<PackShare>(options);
}

}  // namespace weft

#include "sync/mode_table.h"

#include <algorithm>
#include <utility>

namespace weft::sync {
namespace {

constexpr double kMostSteps = 1'000'000;

// A parameter that is one member of Mode, `place` an expression on `m`.
#define WEFT_SYNC_MEMBER(place)                               \
  [](const Mode& m) { return static_cast<double>(m.place); }, \
      [](Mode& m, double value) { m.place = static_cast<decltype(m.place)>(value); }

std::vector<ModeParameter> make_parameters() {
  return {
      {"period", 1, kMostSteps, true, {}, WEFT_SYNC_MEMBER(period)},
      {"check", 1, kMostSteps, true, {}, WEFT_SYNC_MEMBER(period)},
      {"outer", 1, kMostSteps, true, {}, WEFT_SYNC_MEMBER(period)},
      {"inner", 1, kMostSteps, true, {}, WEFT_SYNC_MEMBER(inner)},
      {"group", 1, kMostSteps, true, {}, WEFT_SYNC_MEMBER(group)},
      {"warmup", 0, kMostSteps, true, {}, WEFT_SYNC_MEMBER(warmup)},
      {"adaptive", 0, 1, true, {"false", "true"}, WEFT_SYNC_MEMBER(adaptive)},
      {"threshold", 1e-12, 1e12, false, {}, WEFT_SYNC_MEMBER(threshold)},
      {"fragments", 1, 4096, true, {}, WEFT_SYNC_MEMBER(fragments)},
      {"overlap", 0, kMostSteps, true, {}, WEFT_SYNC_MEMBER(overlap)},
      {"mixing", 0, 1, false, {}, WEFT_SYNC_MEMBER(mixing)},
      {"eager", 0, 1, true, {"false", "true"}, WEFT_SYNC_MEMBER(eager)},
      {"outer_lr", 1e-9, 1e9, false, {}, WEFT_SYNC_MEMBER(outer.lr)},
      {"outer_momentum", 0, 0.9999, false, {}, WEFT_SYNC_MEMBER(outer.momentum)},
      {"beta2", 0, 0.999999, false, {}, WEFT_SYNC_MEMBER(outer.beta2)},
      {"epsilon", 1e-12, 1, false, {}, WEFT_SYNC_MEMBER(outer.epsilon)},
      {"mu", 0, 1e6, false, {}, WEFT_SYNC_MEMBER(proximal)},
      {"participation", 1e-6, 1, false, {}, WEFT_SYNC_MEMBER(participation)},
      {"seed", 0, 4294967295.0, true, {}, WEFT_SYNC_MEMBER(seed)},
      {"backup", 0, kMostSteps, true, {}, WEFT_SYNC_MEMBER(backup)},
      {"bound", 0, kMostSteps, true, {}, WEFT_SYNC_MEMBER(bound)},
      {"buffer", 1, 65536, true, {}, WEFT_SYNC_MEMBER(buffer)},
      {"graph", 0, 2, true, {"ring", "exponential", "one-peer"}, WEFT_SYNC_MEMBER(graph)},
      {"codec", 0, 0, false, {}, nullptr, nullptr, &Mode::codec},
  };
}
#undef WEFT_SYNC_MEMBER

Mode preset(std::string name, Exchange exchange, std::uint32_t period) {
  Mode mode;
  mode.name = std::move(name);
  mode.exchange = exchange;
  mode.period = period;
  return mode;
}

Mode with(Mode mode, void (*change)(Mode&)) {
  change(mode);
  return mode;
}

std::vector<ModeRow> cluster_rows() {
  using enum Exchange;
  using Kind = OuterRule::Kind;
  return {
      {"gradients averaged at every step",
       "Dean et al. 2012; backup: Chen et al. 2016",
       preset("bsp", kGradients, 1),
       {"backup"}},
      {"shard servers; nobody is more than `bound` steps ahead of the slowest",
       "Ho et al. 2013",
       with(preset("ssp", kServers, 1), [](Mode& m) { m.bound = 3; }),
       {"bound", "period"}},
      {"shard servers; nobody waits for anybody",
       "Dean et al. 2012",
       preset("asp", kServers, 1),
       {"period"}},
      {"parameters averaged every `period` steps; adaptive: `period` is the first one",
       "Stich 2019; adaptive: Wang and Joshi 2019",
       preset("local", kDeltas, 8),
       {"period", "adaptive", "overlap", "mixing", "codec"}},
      {"bsp for `warmup` steps, then local",
       "Lin et al. 2020",
       with(preset("post-local", kDeltas, 8), [](Mode& m) { m.warmup = 100; }),
       {"warmup", "period", "codec"}},
      {"averages in groups of `group` ranks every `inner` steps, over all every `outer`",
       "Lin et al. 2020",
       with(preset("hierarchical", kDeltas, 16), [](Mode& m) { m.inner = 4, m.group = 8; }),
       {"inner", "outer", "group", "codec"}},
      {"local steps, then a Nesterov step on their average; in fragments, overlapped, quantised",
       "Douillard et al. 2023; fragments, overlap, mixing: Douillard et al. 2025; eager: Kale, "
       "Douillard and Donchev 2025",
       with(preset("diloco", kDeltas, 50),
            [](Mode& m) { m.outer = {.kind = Kind::kNesterov, .lr = 0.7, .momentum = 0.9}; }),
       {"period", "outer_lr", "outer_momentum", "fragments", "overlap", "mixing", "eager",
        "codec"}},
      {"parameters mixed with those of neighbours, nothing over all ranks",
       "Lian et al. 2017; graphs: Ying et al. 2021",
       preset("gossip", kNeighbours, 1),
       {"graph", "period"}},
      {"averages only when some rank has drifted; a vote of one number every `check` steps",
       "Kamp et al. 2018",
       with(preset("lazy", kDeltas, 4), [](Mode& m) { m.threshold = 1e-4; }),
       {"threshold", "check", "codec"}},
      {"local steps, then a momentum step on their average",
       "Wang et al. 2020 (SlowMo)",
       with(preset("slowmo", kDeltas, 12),
            [](Mode& m) { m.outer.momentum = 0.7, m.outer.in_units_of_lr = true; }),
       {"period", "outer_lr", "outer_momentum", "codec"}},
  };
}

// Those that come from federated learning.
std::vector<ModeRow> federated_rows() {
  using enum Exchange;
  using Kind = OuterRule::Kind;
  return {
      {"local steps of sampled ranks, averaged by weight",
       "McMahan et al. 2017",
       preset("fedavg", kDeltas, 8),
       {"period", "outer_lr", "outer_momentum", "participation", "seed", "codec"}},
      {"fedavg with a pull of weight `mu` towards the agreed parameters",
       "Li et al. 2020",
       with(preset("fedprox", kDeltas, 8), [](Mode& m) { m.proximal = 0.01; }),
       {"period", "mu", "participation", "seed", "codec"}},
      {"ways per step averaged, so that ranks with more steps do not pull more",
       "Wang et al. 2020 (FedNova)",
       with(preset("fednova", kDeltas, 8), [](Mode& m) { m.outer.per_step = true; }),
       {"period", "outer_lr", "outer_momentum", "participation", "seed", "codec"}},
      {"local gradients corrected by control variates",
       "Karimireddy et al. 2020",
       with(preset("scaffold", kDeltas, 8), [](Mode& m) { m.control = true; }),
       {"period", "outer_lr", "participation", "seed"}},
      {"an Adam step on the averaged way",
       "Reddi et al. 2021",
       with(preset("fedadam", kDeltas, 8),
            [](Mode& m) { m.outer = {.kind = Kind::kAdam, .lr = 0.01, .momentum = 0.9}; }),
       {"period", "outer_lr", "outer_momentum", "beta2", "epsilon", "participation", "seed",
        "codec"}},
      {"shard servers that move once `buffer` ways have come; nobody waits",
       "Nguyen et al. 2022",
       with(preset("fedbuff", kServers, 8), [](Mode& m) { m.buffer = 4; }),
       {"buffer", "period", "outer_lr"}},
  };
}

std::vector<ModeRow> make_rows() {
  std::vector<ModeRow> rows = cluster_rows();
  for (ModeRow& row : federated_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

const std::vector<ModeParameter>& mode_parameters() {
  static const std::vector<ModeParameter> parameters = make_parameters();
  return parameters;
}

const std::vector<ModeRow>& mode_rows() {
  static const std::vector<ModeRow> rows = make_rows();
  return rows;
}

const ModeParameter& mode_parameter(std::string_view name) {
  const auto& all = mode_parameters();
  const auto at = std::find_if(all.begin(), all.end(), [&](const ModeParameter& parameter) {
    return parameter.name == name;
  });
  CHECK(at != all.end());
  return *at;
}

}  // namespace weft::sync

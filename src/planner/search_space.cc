#include "planner/search_space.h"

#include <algorithm>

namespace weft::planner {

std::vector<int> divisors(int n) {
  std::vector<int> low, high;
  for (int i = 1; long{i} * i <= n; ++i) {
    if (n % i != 0) continue;
    low.push_back(i);
    if (i != n / i) high.push_back(n / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

namespace {

using Visit = std::function<void(const Family&)>;

constexpr Recompute kRecomputes[] = {Recompute::kFull, Recompute::kSelective, Recompute::kNone};
constexpr TensorOverlap kOverlaps[] = {TensorOverlap::kNone, TensorOverlap::kRing,
                                       TensorOverlap::kPipe};

struct Exchange {
  TensorExchange exchange;
  bool gather_again;
};

std::vector<bool> either(bool possible) {
  return possible ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

// Splits `devices` into tensor, pipeline and data ranks and hands each on.
class SpaceWalker {
 public:
  SpaceWalker(const Workload& work, const SearchQuestion& question, const Visit& visit)
      : model_(work.model), work_(work), question_(question), visit_(visit) {}

  void walk() {
    const bool own = question_.space == SearchSpace::kOwn;
    for (const int tensor : divisors(question_.devices)) {
      if (model_.heads % tensor != 0 || model_.hidden % tensor != 0) continue;
      for (const int pipeline : divisors(question_.devices / tensor)) {
        if (pipeline > model_.layers || (!own && model_.layers % pipeline != 0)) continue;
        const int rest = question_.devices / tensor / pipeline;
        for (const int context : own ? divisors(rest) : std::vector<int>{1}) {
          // Ring attention gives each rank two pieces, one early and one late.
          if (context > 1 && model_.sequence % (2 * context) != 0) continue;
          split(tensor, pipeline, context, rest / context);
        }
      }
    }
  }

 private:
  void split(int tensor, int pipeline, int context, int data) {
    if (data > question_.batch) return;
    Layout l;
    l.tensor = tensor;
    l.pipeline = pipeline;
    l.context = context;
    l.data = data;
    l.global_batch = question_.batch / data * data;
    l.flash_attention = work_.framework.flash_attention;
    make_variants(l);
    const int local = l.global_batch / data;
    for (const int micro_batch : divisors(local)) {
      l.micro_batch = micro_batch;
      if (question_.space == SearchSpace::kOwn) {
        own_schedules(l);
      } else {
        calculon_schedules(l);
      }
    }
  }

  void make_variants(const Layout& l) {
    variants_.clear();
    const bool own = question_.space == SearchSpace::kOwn;
    const int node = work_.machines.device.node;
    for (const bool gradients : either(l.data * l.context > 1)) {
      for (const TensorOverlap overlap : kOverlaps) {
        if (l.tensor == 1 && overlap != TensorOverlap::kNone) continue;
        if (own) {
          variants_.push_back({gradients, overlap, usual_placement(l, node)});
          continue;
        }
        for (const bool t : either(l.tensor > 1)) {
          for (const bool p : either(l.pipeline > 1)) {
            for (const bool d : either(l.data > 1)) {
              // True: spread over nodes.
              variants_.push_back(
                  {gradients, overlap, {t ? 1 : l.tensor, d ? 1 : l.data, p ? 1 : l.pipeline}});
            }
          }
        }
      }
    }
  }

  void calculon_schedules(Layout l) {
    const int blocks = model_.layers / l.pipeline;
    for (const int chunks : l.pipeline > 1 ? divisors(blocks) : std::vector<int>{1}) {
      l.chunks = chunks;
      l.schedule = chunks > 1 ? PipelineKind::kInterleaved : PipelineKind::k1F1B;
      for (const Recompute recompute : kRecomputes) {
        l.recompute = recompute;
        for (const bool sharded : either(l.data > 1)) {
          l.zero = sharded ? 1 : 0;
          calculon_exchanges(l);
        }
      }
    }
  }

  void calculon_exchanges(Layout l) {
    static constexpr Exchange kAll[] = {{TensorExchange::kAllReduce, false},
                                        {TensorExchange::kReduceScatter, false},
                                        {TensorExchange::kSequence, false},
                                        {TensorExchange::kSequence, true}};
    const bool full = l.recompute == Recompute::kFull;
    for (const auto& [exchange, again] : kAll) {
      if (again && full) continue;  // recomputation gathers again anyway
      l.exchange = exchange;
      l.gather_again = again;
      for (const bool weights : {false, true}) {
        for (const bool activations : either(!full)) {
          for (const bool optimizer : {false, true}) {
            l.offload_weights = weights;
            l.offload_activations = activations;
            l.offload_optimizer = optimizer;
            visit_({l, &variants_});
          }
        }
      }
    }
  }

  void own_schedules(Layout l) {
    for (const PipelineKind kind :
         {PipelineKind::k1F1B, PipelineKind::kGPipe, PipelineKind::kInterleaved,
          PipelineKind::kZeroBubble1, PipelineKind::kZeroBubble2}) {
      l.schedule = kind;
      l.chunks = 1;
      if (kind == PipelineKind::k1F1B) own_memory(l);
      if (kind == PipelineKind::k1F1B || l.pipeline == 1) continue;
      if (kind != PipelineKind::kInterleaved) {
        own_memory(l);
        continue;
      }
      if (l.micro_batches() % l.pipeline != 0 || model_.layers % l.pipeline != 0) continue;
      for (const int chunks : divisors(model_.layers / l.pipeline)) {
        l.chunks = chunks;
        if (chunks > 1) own_memory(l);
      }
    }
  }

  void own_memory(Layout l) {
    static constexpr Exchange kAll[] = {{TensorExchange::kAllReduce, false},
                                        {TensorExchange::kSequence, true},
                                        {TensorExchange::kSequence, false}};
    for (const Recompute recompute : kRecomputes) {
      l.recompute = recompute;
      for (int zero = 0; zero <= (l.data * l.context > 1 ? 3 : 0); ++zero) {
        l.zero = zero;
        for (const auto& [exchange, again] : kAll) {
          if (l.tensor == 1 && exchange != TensorExchange::kAllReduce) continue;
          l.exchange = exchange;
          l.gather_again = again;
          own_experts(l);
        }
      }
    }
  }

  void own_experts(Layout l) {
    const int experts = model_.experts.count, ranks = l.data * l.context;
    for (const int expert : experts > 0 ? divisors(experts) : std::vector<int>{1}) {
      if (ranks % expert != 0) continue;
      l.expert = expert;
      for (const bool activations : either(l.recompute != Recompute::kFull)) {
        for (const bool optimizer : {false, true}) {
          l.offload_activations = activations;
          l.offload_optimizer = optimizer;
          visit_({l, &variants_});
        }
      }
    }
  }

  const Transformer& model_;
  const Workload& work_;
  const SearchQuestion& question_;
  const Visit& visit_;
  std::vector<Variant> variants_;
};

}  // namespace

void for_each_family(const Workload& work, const SearchQuestion& question, const Visit& visit) {
  SpaceWalker(work, question, visit).walk();
}

}  // namespace weft::planner

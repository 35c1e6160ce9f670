#include "planner/pools.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "planner/search_space.h"

namespace weft::planner {
namespace {

using Order = std::vector<std::size_t>;  // pools in the order of the pipeline

// Every choice of pools in every order.
std::vector<Order> orders(std::size_t pools) {
  std::vector<Order> all;
  for (std::size_t chosen = 1; chosen < std::size_t{1} << pools; ++chosen) {
    Order order;
    for (std::size_t i = 0; i < pools; ++i) {
      if (chosen >> i & 1) order.push_back(i);
    }
    do {
      all.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return all;
}

// One division into ranks on one order of pools; deals layers to its stages.
class Dealer {
 public:
  Dealer(const Transformer& model, const Framework& framework, const std::vector<Pool>& pools,
         const Order& order)
      : model_(model), framework_(framework), pools_(pools), order_(order) {}

  // Stages of `width` devices on each pool of the order; false: a pool is too small, or there are
  // more stages than layers.
  bool place(Layout& l) {
    pool_of_.clear();
    for (const std::size_t pool : order_) {
      const int stages = pools_[pool].devices / (l.tensor * l.data);
      if (stages == 0) return false;
      pool_of_.insert(pool_of_.end(), static_cast<std::size_t>(stages), pool);
      if (std::ssize(pool_of_) > model_.layers) return false;
    }
    l.pipeline = static_cast<int>(pool_of_.size());
    return true;
  }

  // The step's time is at least this.
  Seconds at_least(const Layout& layout) {
    measure(layout);
    double layers_per_s = 0;
    for (const std::size_t pool : pool_of_) {
      const StepParts& p = parts_[pool];
      layers_per_s += 1 / (model_.experts.count > 0 ? std::max(p.experts.total(), p.dense.total())
                                                    : p.dense.total());
    }
    // Layers with experts are the slow ones; where there are some, the bound counts them alone.
    const int layers =
        model_.experts.count > 0 ? model_.layers - model_.experts.dense_layers : model_.layers;
    return layout.micro_batches() * layers / layers_per_s;
  }

  // Requires: at_least() was called with the same layout. False: memory does not suffice.
  bool deal(const Layout& l, PoolPlan& plan) {
    find_caps(l);
    Seconds low = 0, high = 0;
    for (std::size_t s = 0; s < pool_of_.size(); ++s)
      high = std::max(high, time(s, 0, model_.layers));
    if (!cut(high)) return false;
    // A part in a thousand of a layer is less than any two stages differ by.
    const Seconds close = 1e-3 * high / model_.layers;
    while (high - low > close) {
      const Seconds middle = (low + high) / 2;
      (cut(middle) ? high : low) = middle;
    }
    cut(high);
    plan.layout = l;
    plan.stages = stages_;
    plan.memory.clear();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const PoolStage& stage = stages_[s];
      plan.memory.push_back(
          slice_memory(model_, framework_, l, static_cast<int>(s), stage.from, stage.layers));
      if (plan.memory.back().total() > machines(s).device.memory_bytes) return false;
    }
    put_time(plan);
    return true;
  }

  void solve(PoolPlan& plan) {
    measure_for(plan);
    pipeline::Request request;
    request.stages = plan.layout.pipeline;
    request.micro_batches = plan.layout.micro_batches();
    pipeline::Costs costs;
    const Seconds send = slowest_send(plan.layout);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const LayerTime one =
          slice_time(work(s), parts_[pool_of_[s]], stages_[s].from, stages_[s].layers);
      costs.chunks.push_back(
          {one.forward + send, one.backward_input + send, one.weight_gradient, 0});
    }
    const auto schedule = timed_pipeline("1f1b", request, costs);
    if (!schedule.ok()) return;
    const auto timeline = pipeline::solve(*schedule);
    if (!timeline.ok()) return;
    replace_passes(plan.time, timeline->makespan);
    plan.exact = true;
  }

 private:
  const Machines& machines(std::size_t stage) const { return pools_[pool_of_[stage]].machines; }
  Workload work(std::size_t stage) const { return {model_, machines(stage), framework_}; }
  Layout placed(Layout l, const Machines& on) const {
    l.placement = usual_placement(l, on.device.node);
    return l;
  }
  Seconds time(std::size_t s, int from, int count) const {
    return slice_time(work(s), parts_[pool_of_[s]], from, count).total();
  }

  void measure(const Layout& l) {
    parts_.resize(pools_.size());
    for (const std::size_t pool : order_) {
      const Machines& on = pools_[pool].machines;
      parts_[pool] = step_parts({model_, on, framework_}, placed(l, on));
    }
  }

  void measure_for(const PoolPlan& plan) {
    stages_ = plan.stages;
    pool_of_.clear();
    for (const PoolStage& stage : stages_) pool_of_.push_back(stage.pool);
    measure(plan.layout);
  }

  // The most layers that each stage has memory for.
  void find_caps(const Layout& l) {
    caps_.clear();
    for (std::size_t s = 0; s < pool_of_.size(); ++s) {
      const bool last = s + 1 == pool_of_.size();
      int low = 0, high = model_.layers;
      while (low < high) {
        const int count = (low + high + 1) / 2;
        const int inside = std::min(model_.experts.dense_layers + 1, model_.layers - count);
        const int from = s == 0 ? 0 : last ? model_.layers - count : inside;
        const double bytes =
            slice_memory(model_, framework_, l, static_cast<int>(s), from, count).total();
        if (bytes <= machines(s).device.memory_bytes) {
          low = count;
        } else {
          high = count - 1;
        }
      }
      caps_.push_back(low);
    }
  }

  // Whether layers can be dealt with no stage above `limit`: each takes as many as it can, but
  // leaves one for every stage after it.
  bool cut(Seconds limit) {
    stages_.clear();
    int from = 0;
    for (std::size_t s = 0; s < pool_of_.size(); ++s) {
      const int after = static_cast<int>(pool_of_.size() - s) - 1;
      const int most = std::min(caps_[s], model_.layers - from - after);
      int count = 0;
      while (count < most && time(s, from, count + 1) <= limit) ++count;
      if (count == 0) return false;
      stages_.push_back({pool_of_[s], from, count});
      from += count;
    }
    return from == model_.layers;
  }

  Seconds slowest_send(const Layout& l) const {
    Seconds slowest = 0;
    for (const std::size_t pool : order_) {
      const Machines& on = pools_[pool].machines;
      slowest = std::max(slowest, send_time({model_, on, framework_}, placed(l, on)));
    }
    return slowest;
  }

  void put_time(PoolPlan& plan) const {
    const Layout& l = plan.layout;
    const double m = l.micro_batches();
    LayerTime slowest;
    Seconds all = 0;
    StepTime& t = plan.time;
    t = {};
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Layout on = placed(l, machines(s));
      const LayerTime one =
          slice_time(work(s), parts_[pool_of_[s]], stages_[s].from, stages_[s].layers);
      all += one.total();
      if (one.total() > slowest.total()) slowest = one;
      const double weights = slice_weights(model_, l, stages_[s].from, stages_[s].layers);
      t.data = std::max(t.data, data_time(work(s), on, one, weights));
      t.optimizer = std::max(t.optimizer, optimizer_time(work(s), on, weights));
    }
    t.compute = m * slowest.compute;
    t.recompute = m * slowest.recompute;
    t.tensor = m * slowest.tensor;
    t.expert = m * slowest.expert;
    t.host = m * slowest.host;
    t.bubble = all - slowest.total();
    t.pipeline = 2 * slowest_send(l) * (m + l.pipeline - 1);
    t.other = framework_.step_s;
  }

  const Transformer& model_;
  const Framework& framework_;
  const std::vector<Pool>& pools_;
  const Order& order_;
  std::vector<std::size_t> pool_of_;  // by stage
  std::vector<int> caps_;
  std::vector<StepParts> parts_;  // by pool
  std::vector<PoolStage> stages_;
};

class PoolSearcher {
 public:
  PoolSearcher(const Transformer& model, const Framework& framework, const std::vector<Pool>& pools,
               int batch, int keep)
      : model_(model), framework_(framework), pools_(pools), batch_(batch), keep_(keep) {}

  PoolAnswer run() {
    for (const Order& order : orders(pools_.size())) visit(order);
    for (auto& [key, plan] : best_) answer_.ranked.push_back(std::move(plan));
    sort();
    if (std::ssize(answer_.ranked) > keep_) {
      answer_.ranked.resize(static_cast<std::size_t>(keep_));
    }
    for (PoolPlan& plan : answer_.ranked) {
      Order order;
      for (const PoolStage& stage : plan.stages) {
        if (order.empty() || order.back() != stage.pool) order.push_back(stage.pool);
      }
      Dealer(model_, framework_, pools_, order).solve(plan);
    }
    sort();
    return std::move(answer_);
  }

 private:
  static double per_sample(const PoolPlan& plan) {
    return plan.seconds() / plan.layout.global_batch;
  }

  void sort() {
    std::stable_sort(
        answer_.ranked.begin(), answer_.ranked.end(),
        [](const PoolPlan& a, const PoolPlan& b) { return per_sample(a) < per_sample(b); });
  }

  void visit(const Order& order) {
    Dealer dealer(model_, framework_, pools_, order);
    int node = pools_[order[0]].machines.device.node;
    std::set<int> widths;
    for (const std::size_t pool : order) {
      node = std::min(node, pools_[pool].machines.device.node);
      for (const int width : divisors(pools_[pool].devices)) widths.insert(width);
    }
    for (const int tensor : divisors(model_.heads)) {
      if (tensor > node || model_.hidden % tensor != 0) continue;
      for (const int width : widths) {
        if (width % tensor != 0 || width / tensor > batch_) continue;
        Layout l;
        l.tensor = tensor;
        l.data = width / tensor;
        l.global_batch = batch_ / l.data * l.data;
        l.flash_attention = framework_.flash_attention;
        if (dealer.place(l)) divide(order, dealer, l);
      }
    }
  }

  void divide(const Order& order, Dealer& dealer, Layout l) {
    for (const int micro_batch : divisors(l.global_batch / l.data)) {
      l.micro_batch = micro_batch;
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        l.recompute = recompute;
        for (int zero = 0; zero <= (l.data > 1 ? 1 : 0); ++zero) {
          l.zero = zero;
          for (int knobs = 0; knobs < 8; ++knobs) {
            const bool sequence = knobs & 1, ring = knobs & 2, gradients = knobs & 4;
            if ((l.tensor == 1 && (sequence || ring)) || (l.data == 1 && gradients)) continue;
            l.exchange = sequence ? TensorExchange::kSequence : TensorExchange::kAllReduce;
            l.overlap = ring ? TensorOverlap::kRing : TensorOverlap::kNone;
            l.overlap_gradients = gradients;
            consider(order, dealer, l);
          }
        }
      }
    }
  }

  void consider(const Order& order, Dealer& dealer, const Layout& l) {
    ++answer_.configurations;
    PoolPlan& best = best_of(order, l);
    const double bound = dealer.at_least(l) / l.global_batch;
    if (!best.stages.empty() && bound >= per_sample(best)) {
      ++answer_.rejected["slower than another whatever the layers' places"];
      return;
    }
    PoolPlan plan;
    if (!dealer.deal(l, plan)) {
      ++answer_.rejected["device memory"];
      if (best.stages.empty()) best_.erase(key_of(order, l));
      return;
    }
    ++answer_.feasible;
    if (best.stages.empty() || per_sample(plan) < per_sample(best)) best = std::move(plan);
  }

  using Key = std::tuple<Order, int, int>;
  static Key key_of(const Order& order, const Layout& l) { return {order, l.tensor, l.data}; }
  PoolPlan& best_of(const Order& order, const Layout& l) { return best_[key_of(order, l)]; }

  const Transformer& model_;
  const Framework& framework_;
  const std::vector<Pool>& pools_;
  const int batch_, keep_;
  PoolAnswer answer_;
  std::map<Key, PoolPlan> best_;
};

}  // namespace

Result<PoolAnswer> search_pools(const Transformer& model, const Framework& framework,
                                const std::vector<Pool>& pools, int batch, int keep) {
  if (const Status status = check(model); !status.ok()) return status.error();
  PoolAnswer answer = PoolSearcher(model, framework, pools, batch, keep).run();
  if (answer.configurations == 0) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("{} heads, {} layers and a batch of {} leave no layout for these pools",
                    model.heads, model.layers, batch),
        "use numbers of devices with more divisors, or a larger batch"};
  }
  return answer;
}

std::string describe_stages(const std::vector<Pool>& pools, const PoolPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.stages.size();) {
    std::size_t end = i;
    const auto same = [&](const PoolStage& stage) {
      return stage.pool == plan.stages[i].pool && stage.layers == plan.stages[i].layers;
    };
    while (end < plan.stages.size() && same(plan.stages[end])) ++end;
    const std::string& name = pools[plan.stages[i].pool].machines.device.name;
    text += fmt::format("{}{} x {} layers on {}", text.empty() ? "" : ", ", end - i,
                        plan.stages[i].layers, name);
    i = end;
  }
  return text;
}

}  // namespace weft::planner

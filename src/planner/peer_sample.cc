#include "planner/peer_sample.h"

#include <algorithm>
#include <cmath>

#include "planner/hardware.h"

namespace weft::planner {
namespace {

constexpr double kNear = 1.2;

// Everything that decides about one row.
struct Setting {
  Transformer model;
  Machines machines;
  Framework framework;
  Layout layout;
  bool hidden_sends = false;      // between stages
  bool any_interleaving = false;  // also where micro-batches are no multiple of the stages
  bool lean_memory = false;       // buffers, working set and allowance are not counted
  bool bare_offload = false;      // nothing of what is offloaded stays
  bool lean_gradients = false;    // 2 bytes, sharded with the optimizer

  Workload work() const { return {model, machines, framework}; }
};

Seconds seconds_of(const Setting& s) {
  StepTime time = step_time(s.work(), s.layout);
  if (s.hidden_sends) time.pipeline = 0;
  return time.total();
}

// Why it does not fit; empty: it does.
std::string refusal(const Setting& s) {
  const Layout& l = s.layout;
  const Placement& p = l.placement;
  if (long{p.tensor} * p.data * p.pipeline > s.machines.device.node) return "node";
  if (l.chunks > 1 && l.micro_batches() % l.pipeline != 0 && !s.any_interleaving) {
    return "interleaving";
  }
  const MemoryUse use = most_memory(s.model, s.framework, l);
  double bytes = use.total();
  if (s.lean_memory) bytes -= use.working + use.allowance;
  if (s.bare_offload && l.offload_activations) bytes -= use.activations;
  if (s.bare_offload && l.offload_optimizer) bytes -= use.optimizer;
  if (s.lean_gradients) {
    bytes -= use.gradients * (1 - 2 / s.framework.kept_gradient_bytes / (l.zero > 0 ? l.data : 1));
  }
  if (bytes > s.machines.device.memory_bytes) return "device memory";
  return use.host > s.machines.host_memory_bytes ? "host memory" : "";
}

struct Term {
  const char* name;
  void (*take_over)(Setting&);
  bool only_slows = false;  // ours hides what it may, theirs less
};

// What Calculon assumes in place of what we measured; its published A100 system file has the
// numbers.
constexpr Term kTimeTerms[] = {
    {"matrix products: 95 % of the peak, no tiles or waves",
     [](Setting& s) {
       s.machines.device.tile_efficiency = {0.95, 0.95, 0.95};
       s.machines.device.processors = 1;
     }},
    {"other kernels: 90 % of memory bandwidth",
     [](Setting& s) { s.machines.device.memory_efficiency = 0.9; }},
    {"no kernel start-up, no host",
     [](Setting& s) {
       s.machines.device.kernel_s = 0;
       s.framework.host_forward_s = s.framework.host_backward_s = s.framework.step_s = 0;
     }},
    {"no embedding and no output layer", [](Setting& s) { s.model.vocab = s.layout.tensor; }},
    {"links in a node: 195 GB/s, 10 us",
     [](Setting& s) {
       s.machines.device.link_bytes_per_s = 195e9;
       s.machines.device.link_base_s = 10e-6;
       s.machines.device.link_rank_s = s.machines.device.link_floor_s = 0;
     }},
    {"all-reduces between nodes move their bytes once",
     [](Setting& s) {
       if (!s.layout.sequence_parallel()) s.machines.network.card_bytes_per_s *= 2;
     }},
    {"network steps of 20 us", [](Setting& s) { s.machines.network.latency_s = 20e-6; }},
    {"way to the host: 30 GB/s, shared by none",
     [](Setting& s) {
       s.machines.device.host_bytes_per_s = 30e9;
       s.machines.device.host_sharers = 1;
     }},
    {"sends between stages cost nothing", [](Setting& s) { s.hidden_sends = true; }},
    {"tensor ranks' exchanges cannot hide",
     [](Setting& s) { s.layout.overlap = TensorOverlap::kNone; }, true},
    {"data ranks' exchanges cannot hide", [](Setting& s) { s.layout.overlap_gradients = false; },
     true},
    {"transfers to the host all hide",
     [](Setting& s) { s.machines.device.host_bytes_per_s = 1e15; }},
    {"gradients are added up for nothing", [](Setting& s) { s.framework.accumulate_bytes = 0; }},
};

constexpr Term kFitTerms[] = {
    {"80 GiB on a device, not 80 GB",
     [](Setting& s) { s.machines.device.memory_bytes *= kGiBytes / 1e9; }},
    {"512 GiB of the host for each device, not 128 GB",
     [](Setting& s) { s.machines.host_memory_bytes = 512 * kGiBytes; }},
    {"interleaving without a multiple of the stages in micro-batches",
     [](Setting& s) { s.any_interleaving = true; }},
    {"no embedding, no logits", [](Setting& s) { s.model.vocab = s.layout.tensor; }},
    {"no working set, no buffers, no allowance", [](Setting& s) { s.lean_memory = true; }},
    {"offloaded optimizer and activations leave nothing",
     [](Setting& s) { s.bare_offload = true; }},
    {"gradients of 2 bytes, sharded with the optimizer",
     [](Setting& s) { s.lean_gradients = true; }},
    {"gathered inputs of tensor ranks are not kept",
     [](Setting& s) { s.layout.gather_again = true; }},
    {"sequence parallelism splits no checkpoints of full recomputation",
     [](Setting& s) {
       if (s.layout.recompute == Recompute::kFull) s.layout.exchange = TensorExchange::kAllReduce;
     }},
};

constexpr const char* kNoTerm = "none of these";

double distance(double ours, double theirs) { return std::abs(std::log(ours / theirs)); }

struct Verdict {
  std::string term;
  double ratio = 1, ratio_without = 1;
};

Verdict blame_time(const Setting& setting, Seconds theirs) {
  const Seconds ours = seconds_of(setting);
  Verdict verdict{kNoTerm, ours / theirs, ours / theirs};
  double least = 0.9 * distance(ours, theirs);
  for (const Term& term : kTimeTerms) {
    Setting changed = setting;
    term.take_over(changed);
    const Seconds after = seconds_of(changed);
    if (distance(after, theirs) >= least) continue;
    least = distance(after, theirs);
    verdict.term = term.name;
    verdict.ratio_without = after / theirs;
  }
  return verdict;
}

// One term, or two together: what a single one of several refusals hides behind another.
std::string blame_fit(const Setting& setting, bool theirs) {
  const auto agrees = [&](const Term& a, const Term& b) {
    Setting changed = setting;
    a.take_over(changed);
    if (&a != &b) b.take_over(changed);
    return refusal(changed).empty() == theirs;
  };
  for (const Term& term : kFitTerms) {
    if (agrees(term, term)) return term.name;
  }
  for (const Term& a : kFitTerms) {
    for (const Term& b : kFitTerms) {
      if (&a < &b && agrees(a, b)) return std::string(a.name) + "; " + b.name;
    }
  }
  return kNoTerm;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Verdicts = std::map<std::string, std::vector<Verdict>>;

std::vector<Blamed> sorted(const Verdicts& verdicts) {
  std::vector<Blamed> all;
  for (const auto& [term, rows] : verdicts) {
    std::vector<double> before, after;
    for (const Verdict& one : rows) {
      before.push_back(one.ratio);
      after.push_back(one.ratio_without);
    }
    all.push_back({term, std::ssize(rows), median(before), median(after)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Blamed& a, const Blamed& b) { return a.rows > b.rows; });
  return all;
}

}  // namespace

PeerComparison compare_with_peer(const Workload& work, const std::vector<PeerRow>& rows) {
  PeerComparison out;
  Verdicts time, fit;
  std::vector<double> ratios, taken_over;
  for (const PeerRow& row : rows) {
    ++out.rows;
    Setting setting{work.model, work.machines, work.framework, row.layout};
    const bool ours = refusal(setting).empty();
    if (ours != row.feasible) {
      ++(ours ? out.ours_alone_fits : out.theirs_alone_fits);
      const std::string term =
          (ours ? "for us alone: " : "for them alone: ") + blame_fit(setting, row.feasible);
      fit[term].push_back({term});
      continue;
    }
    ++(ours ? out.both_fit : out.neither_fits);
    if (!ours) continue;
    const double ratio = seconds_of(setting) / row.seconds;
    ratios.push_back(ratio);
    if (std::abs(std::log(ratio)) <= std::log(kNear)) {
      ++out.near;
    } else {
      const Verdict verdict = blame_time(setting, row.seconds);
      time[verdict.term].push_back(verdict);
    }
    for (const Term& term : kTimeTerms) {
      if (!term.only_slows) term.take_over(setting);
    }
    taken_over.push_back(seconds_of(setting) / row.seconds);
  }
  out.median_ratio = median(ratios);
  out.all_taken_over = median(taken_over);
  out.time = sorted(time);
  out.fit = sorted(fit);
  return out;
}

namespace {

class PeerReader {
 public:
  PeerReader(const TextFile& file, Complaints& complaints) : table_(file, {}, complaints) {}

  std::vector<PeerRow> read() {
    std::vector<PeerRow> rows;
    const bool whole = table_.require({"tensor_par",
                                       "pipeline_par",
                                       "data_par",
                                       "tensor_par_net",
                                       "pipeline_par_net",
                                       "data_par_net",
                                       "batch_size",
                                       "microbatch_size",
                                       "activation_recompute",
                                       "pipeline_interleaving",
                                       "optimizer_sharding",
                                       "tensor_par_comm_type",
                                       "tensor_par_overlap",
                                       "seq_par_ag_redo",
                                       "data_par_overlap",
                                       "weight_offload",
                                       "activations_offload",
                                       "optimizer_offload",
                                       "feasible",
                                       "total_time_s"});
    while (whole && table_.next()) {
      PeerRow row;
      Layout& l = row.layout;
      l.tensor = integer("tensor_par");
      l.pipeline = integer("pipeline_par");
      l.data = integer("data_par");
      l.micro_batch = integer("microbatch_size");
      l.global_batch = integer("batch_size");
      l.chunks = integer("pipeline_interleaving");
      l.schedule = l.chunks > 1 ? PipelineKind::kInterleaved : PipelineKind::k1F1B;
      l.recompute =
          static_cast<Recompute>(word("activation_recompute", {"none", "attn_only", "full"}));
      l.exchange =
          static_cast<TensorExchange>(word("tensor_par_comm_type", {"ar", "p2p_rs_ag", "rs_ag"}));
      l.overlap = static_cast<TensorOverlap>(word("tensor_par_overlap", {"none", "pipe", "ring"}));
      l.zero = yes("optimizer_sharding") ? 1 : 0;
      l.gather_again = yes("seq_par_ag_redo");
      l.overlap_gradients = yes("data_par_overlap");
      l.offload_weights = yes("weight_offload");
      l.offload_activations = yes("activations_offload");
      l.offload_optimizer = yes("optimizer_offload");
      l.placement = {together("tensor_par_net", l.tensor), together("data_par_net", l.data),
                     together("pipeline_par_net", l.pipeline)};
      row.feasible = integer_from("feasible", 0) == 1;
      if (row.feasible) row.seconds = table_.number(table_.column("total_time_s"), {0, 1e12, true});
      rows.push_back(row);
    }
    return rows;
  }

 private:
  int integer_from(const char* column, int least) {
    return static_cast<int>(table_.integer(table_.column(column), least, 10'000'000));
  }
  int integer(const char* column) { return integer_from(column, 1); }
  int together(const char* column, int members) {
    return integer_from(column, 0) == 0 ? members : 1;
  }
  int word(const char* column, const std::vector<std::string_view>& words) {
    const std::string_view text = table_.text(table_.column(column));
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    table_.complain(std::string(column) + " is not one of Calculon's words");
    return 0;
  }
  bool yes(const char* column) { return word(column, {"False", "True"}) == 1; }

  TableReader table_;
};

}  // namespace

Result<std::vector<PeerRow>> read_peer_rows(const TextFile& file) {
  Complaints complaints;
  std::vector<PeerRow> rows = PeerReader(file, complaints).read();
  if (complaints.empty() && rows.empty()) {
    return Error{ErrorKind::kInvalidInput, file.path + " has no rows", ""};
  }
  if (!complaints.empty()) return complaints.error("docs/planner.md says which file this is");
  return rows;
}

}  // namespace weft::planner

#include "planner/rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/files.h"
#include "planner/hardware.h"

namespace weft::planner {
namespace {

constexpr std::int64_t kMostInRow = 10'000'000;
constexpr int kUsualVocab = 51200, kUsualSequence = 2048;
constexpr std::uint64_t kMaxRowsBytes = std::uint64_t{64} << 20;
constexpr Limits kMeasured{0, 1e12, true};

// What both forms share: the columns that any file may add.
class RunReader {
 public:
  RunReader(const TextFile& file, Complaints& complaints)
      : table_(file, {}, complaints), complaints_(complaints) {}

  std::vector<TrainingRun> read() {
    vtrain_ = table_.column("hidden size") >= 0;
    const bool whole =
        vtrain_ ? table_.require({"# GPUs", "global batch", "micro batch", "hidden size",
                                  "attention heads", "# layers", "sequence length",
                                  "tensor parallelism", "data parallelism", "pipeline parallelism"})
                : table_.require({"model_B", "hidden", "heads", "layers", "gpu", "n_gpus", "tp",
                                  "pp", "dp", "n_microbatch_or_gbs"});
    std::vector<TrainingRun> runs;
    while (whole && table_.next()) {
      TrainingRun run;
      run.line = table_.line();
      const long before = complaints_.count();
      vtrain_ ? read_vtrain(run) : read_published(run);
      if (complaints_.count() == before) finish(run);
      if (complaints_.count() == before) runs.push_back(std::move(run));
    }
    if (complaints_.empty() && runs.empty()) table_.complain("the file has no rows");
    return runs;
  }

 private:
  int integer(const char* column) {
    return static_cast<int>(table_.integer(table_.column(column), 1, kMostInRow));
  }
  int integer_or(const char* column, int usual) {
    return static_cast<int>(
        table_.optional_integer(table_.column(column), 1, kMostInRow).value_or(usual));
  }
  std::string text(const char* column) { return std::string(table_.text(table_.column(column))); }
  std::string text_or(const char* column, const char* usual) {
    const std::string found = text(column);
    return found.empty() ? usual : found;
  }

  // "column is 'value'; it must be `wanted`", also of columns that the file does not have.
  void refuse(const char* column, const char* wanted) {
    const int at = table_.column(column);
    if (at >= 0) return table_.refuse(at, wanted);
    table_.complain(fmt::format("{} is missing; it must be {}", column, wanted));
  }

  void read_vtrain(TrainingRun& run) {
    run.set = text_or("set", kNoSet);
    const int heads = integer("attention heads"), hidden = integer("hidden size");
    run.model = gpt("gpt", integer("# layers"), hidden, heads, integer("sequence length"),
                    integer_or("vocab", kUsualVocab));
    run.label = fmt::format("h{} L{}", hidden, run.model.layers);
    devices_ = integer("# GPUs");
    Layout& l = run.layout;
    l.tensor = integer("tensor parallelism");
    l.data = integer("data parallelism");
    l.pipeline = integer("pipeline parallelism");
    l.micro_batch = integer("micro batch");
    l.global_batch = integer("global batch");
    l.recompute = Recompute::kFull;
    const int time = table_.column("iteration time (ms)");
    if (const auto ms = table_.optional_number(time, kMeasured)) run.measured_s = *ms * 1e-3;
    put_machines(run, text_or("gpu", "a100-80"), text_or("network", "4xhdr"));
    put_framework(run, text_or("framework", "megatron-deepspeed"));
  }

  void read_published(TrainingRun& run) {
    run.set = text_or("set", kNoSet);
    run.label = text("model_B");
    put_shape(run);
    Layout& l = run.layout;
    devices_ = integer_or("n_gpus", 0);
    if (text("hidden").empty() && text("tp").empty()) {
      put_formula_layout(run);
    } else {
      l.tensor = integer("tp");
      l.pipeline = integer("pp");
      l.data = integer("dp");
      l.context = integer_or("cp", 1);
      l.micro_batch = integer_or("microbatch", 1);
      put_batch(run);
    }
    put_recompute(run, text("recompute"));
    put_schedule(run, text("schedule"));
    const std::string gpu = text("gpu");
    put_machines(run, gpu, text("network"));
    put_framework(
        run, text_or("framework", gpu.starts_with("A") || gpu.starts_with("a") ? "megatron-lm"
                                                                               : "megatron-core"));
    put_measured(run, text("metric"), text("value"));
  }

  // "7 (Llama2)" names a model of the catalogue; a row without a shape is one of four papers' own.
  void put_shape(TrainingRun& run) {
    const std::string& label = run.label;
    if (const auto open = label.find('('); open != std::string::npos) {
      const std::string name = label.substr(open + 1, label.find(')', open) - open - 1) + "-" +
                               std::string(trimmed(label.substr(0, open))) + "b";
      const auto found = find_transformer(name);
      if (!found.ok()) return table_.complain(found.error().what);
      run.model = *found;
      run.model.sequence = integer_or("seq", kUsualSequence);
      return;
    }
    if (text("hidden").empty()) {
      const auto* known = published(label);
      if (known == nullptr) return table_.complain("hidden, heads and layers are empty");
      run.model = *find_transformer(known->name);
      return;
    }
    run.model = gpt(label, integer("layers"), integer("hidden"), integer("heads"),
                    integer_or("seq", kUsualSequence), integer_or("vocab", kUsualVocab));
  }

  struct Published {
    const char* label;
    const char* name;
    int pipeline, micro_batch, chunks, batch;
  };
  // Korthikanti et al. 2022, their four models with tensor parallel size 8.
  static const Published* published(const std::string& label) {
    static constexpr Published kModels[] = {{"22", "megatron-22b", 1, 4, 1, 4},
                                            {"175", "gpt3-175b", 8, 1, 3, 64},
                                            {"530", "turing-530b", 35, 1, 3, 280},
                                            {"1008", "megatron-1t", 64, 1, 1, 512}};
    const auto* found = std::find_if(std::begin(kModels), std::end(kModels),
                                     [&](const Published& one) { return label == one.label; });
    return found == std::end(kModels) ? nullptr : found;
  }

  void put_formula_layout(TrainingRun& run) {
    const Published* known = published(run.label);
    if (known == nullptr) return table_.complain("tp, pp and dp are empty");
    Layout& l = run.layout;
    l.tensor = 8;
    l.pipeline = known->pipeline;
    l.micro_batch = known->micro_batch;
    l.global_batch = known->batch;
    l.chunks = known->chunks;
    if (l.chunks > 1) l.schedule = PipelineKind::kInterleaved;
    devices_ = l.devices();
  }

  void put_batch(TrainingRun& run) {
    Layout& l = run.layout;
    const std::string batch = text("n_microbatch_or_gbs");
    const auto sign = batch.find('=');
    const auto count = parse_integer(sign == std::string::npos ? batch : batch.substr(sign + 1));
    if (!count || *count < 1 || *count > kMostInRow) {
      return refuse("n_microbatch_or_gbs", "gbs=BATCH or m=MICRO_BATCHES");
    }
    const std::int64_t all = batch.starts_with("m=") ? *count * l.data * l.micro_batch : *count;
    if (all > kMostInRow) return table_.complain("the batch is above 10 million samples");
    l.global_batch = static_cast<int>(all);
  }

  void put_recompute(TrainingRun& run, const std::string& word) {
    Layout& l = run.layout;
    if (word.starts_with("full")) l.recompute = Recompute::kFull;
    if (word.starts_with("selective")) l.recompute = Recompute::kSelective;
    if (word.ends_with("SP")) l.exchange = TensorExchange::kSequence;
    if (!word.empty() && !word.starts_with("full") && !word.starts_with("selective") &&
        !word.starts_with("none")) {
      refuse("recompute", "none, selective or full, with +SP or not");
    }
  }

  // "1F1B", "1F1B v=3", and the names of the zero-bubble paper's tables.
  void put_schedule(TrainingRun& run, const std::string& word) {
    Layout& l = run.layout;
    if (word == "ZB1p") l.schedule = PipelineKind::kZeroBubble1;
    if (word == "ZB2p") l.schedule = PipelineKind::kZeroBubble2;
    if (word == "GPipe") l.schedule = PipelineKind::kGPipe;
    if (word == "F1B1I") l.chunks = stage_layers(run.model, l.pipeline).middle;
    if (const auto at = word.find("v="); at != std::string::npos) {
      const auto chunks = parse_integer(word.substr(at + 2));
      if (!chunks || *chunks < 1 || *chunks > 1000) {
        return refuse("schedule", "a schedule with v=CHUNKS");
      }
      l.chunks = static_cast<int>(*chunks);
    }
    if (l.chunks > 1) l.schedule = PipelineKind::kInterleaved;
  }

  void put_machines(TrainingRun& run, const std::string& device, const std::string& network) {
    auto machines = find_machines(device, network);
    if (!machines.ok()) return table_.complain(machines.error().what);
    run.machines = std::move(*machines);
  }

  void put_framework(TrainingRun& run, const std::string& name) {
    auto framework = find_framework(name);
    if (!framework.ok()) return table_.complain(framework.error().what);
    run.framework = std::move(*framework);
    Layout& l = run.layout;
    const auto zero = table_.optional_integer(table_.column("zero"), 0, 3);
    l.zero = static_cast<int>(zero.value_or(run.framework.shards_optimizer ? 1 : 0));
    l.flash_attention = run.framework.flash_attention;
    l.overlap_gradients = run.framework.overlaps_gradients;
  }

  void put_measured(TrainingRun& run, const std::string& metric, const std::string& cell) {
    if (cell.empty()) return;
    const auto second = cell.find(';');
    const auto value = parse_number(cell.substr(0, second));
    if (!value || *value <= 0) {
      return refuse("value", "a number above 0, or two with ';'");
    }
    const Layout& l = run.layout;
    if (metric == "iter_time_s") {
      run.measured_s = *value;
    } else if (metric.starts_with("TFLOPs_per_GPU")) {
      run.measured_s = formula_flops(run) / (*value * kTera * l.devices());
    } else if (metric.starts_with("samples_per_GPU_s")) {
      run.measured_s = l.global_batch / (*value * l.devices());
      const auto memory =
          second == std::string::npos ? std::nullopt : parse_number(cell.substr(second + 1));
      if (memory && *memory > 0) run.measured_memory_bytes = *memory * kGB;
    } else if (metric.starts_with("memory_GB")) {
      run.measured_memory_bytes = *value * kGB;
    } else if (metric.starts_with("weights+grads+optimizer_GiB")) {
      put_formula(run, *value, MemoryPart::kWeights);
    } else if (metric.starts_with("activations_GiB")) {
      put_formula(run, *value, MemoryPart::kActivations);
      put_recompute(run, std::string(trimmed(metric.substr(metric.find(' ') + 1))));
    } else {
      refuse("metric", "iter_time_s, TFLOPs_per_GPU, samples_per_GPU_s or memory_GB");
    }
  }

  static void put_formula(TrainingRun& run, double value, MemoryPart part) {
    run.measured_memory_bytes = value * kGiBytes;
    run.memory_part = part;
    run.formula = true;
  }

  // Narayanan et al. 2021: operations of one step with full recomputation.
  static double formula_flops(const TrainingRun& run) {
    const Transformer& m = run.model;
    const double h = m.hidden, s = m.sequence, layers = m.layers;
    return 96 * run.layout.global_batch * s * layers * h * h *
           (1 + s / (6 * h) + m.vocab / (16 * layers * h));
  }

  void finish(TrainingRun& run) {
    Layout& l = run.layout;
    if (const Status status = check(run.model); !status.ok()) {
      return table_.complain(status.error().what);
    }
    if (const Status status = check(l, run.model); !status.ok()) {
      return table_.complain(status.error().what);
    }
    const double ranks = double(l.tensor) * l.pipeline * l.data * l.context;
    if (ranks != devices_) {
      return table_.complain(
          fmt::format("{} devices, but the parallel sizes make {:.0f}", devices_, ranks));
    }
    l.placement = usual_placement(l, run.machines.device.node);
  }

  TableReader table_;
  Complaints& complaints_;
  bool vtrain_ = false;
  int devices_ = 0;
};

}  // namespace

Result<std::vector<TrainingRun>> parse_runs(const TextFile& file) {
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  Complaints complaints;
  std::vector<TrainingRun> runs = RunReader(file, complaints).read();
  if (!complaints.empty()) return complaints.error("docs/planner.md lists the columns");
  return runs;
}

Result<std::vector<TrainingRun>> read_runs(const std::string& path) {
  const auto text = read_file(path, kMaxRowsBytes);
  if (!text.ok()) return text.error();
  return parse_runs({path, *text});
}

}  // namespace weft::planner

#include "timing/iteration/job_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/files.h"
#include "flow/partition.h"
#include "model/readers/yaml_fields.h"
#include "timing/iteration/generators.h"
#include "timing/iteration/models.h"

namespace weft {
namespace {

constexpr std::size_t kMostFileLinks = 1000, kMostJobs = 100, kMostLayers = 1000;
constexpr double kMegabyte = 1e6, kMilli = 1e-3, kMicro = 1e-6;
constexpr Limits kGigabitLimits{0, 1e6, true};
constexpr Limits kMilliLimits{0, 1e7};
constexpr Limits kMicroLimits{0, 1e7};
constexpr Limits kMegabyteLimits{0, 1e7};

class TrainingReader {
 public:
  explicit TrainingReader(const TextFile& file) : report_(file.path, complaints_) {}

  Result<TrainingFile> read(const YAML::Node& root) {
    YamlFields fields(report_, root, "the file");
    fields.require("links");
    fields.require("jobs");
    for (const YAML::Node& link : fields.list("links")) read_link(link);
    for (const YAML::Node& job : fields.list("jobs")) read_job(job);
    fields.done();
    if (complaints_.empty() && out_.jobs.empty()) fields.complain("jobs needs at least one job");
    if (complaints_.empty()) check_guarantees(fields);
    if (!complaints_.empty()) {
      return complaints_.error("the keys are described in docs/formats.md");
    }
    return std::move(out_);
  }

 private:
  // False, with a complaint, when a list is as long as it may be.
  bool fits(const YAML::Node& node, const char* what, std::size_t count, std::size_t most) {
    if (count < most) return true;
    if (count == most) report_.complain(node, fmt::format("there are more than {} {}", most, what));
    return false;
  }

  void read_link(const YAML::Node& node) {
    if (!fits(node, "links", out_.link_names.size(), kMostFileLinks)) return;
    YamlFields fields(report_, node, "links");
    if (!fields.is_map()) return;
    fields.require("name");
    fields.require("gbit_s");
    const std::string name = fields.text("name");
    const double rate = kGigabit * fields.number("gbit_s", 1, kGigabitLimits);
    fields.done();
    const auto id = static_cast<LinkId>(out_.link_names.size());
    if (!links_.emplace(name, id).second) {
      return fields.complain(fmt::format("two links are named {}", shown(name)));
    }
    out_.link_names.push_back(name);
    out_.link_bytes_per_s.push_back(rate);
  }

  std::vector<LinkId> read_path(YamlFields& fields, const char* key) {
    std::vector<LinkId> path;
    for (const YAML::Node& node : fields.list(key)) {
      const std::string name = node.IsScalar() ? node.Scalar() : "";
      const auto link = links_.find(name);
      if (link == links_.end()) {
        std::vector<std::string> known;
        for (const auto& [other, id] : links_) known.push_back(other);
        report_.complain(node, fmt::format("{} names {}, which is not one of the links{}", key,
                                           shown(name), did_you_mean(name, known)));
      } else if (std::find(path.begin(), path.end(), link->second) != path.end()) {
        report_.complain(node, fmt::format("{} has {} twice", key, shown(name)));
      } else {
        path.push_back(link->second);
      }
    }
    return path;
  }

  void require_path(YamlFields& fields, const char* key, const std::vector<LinkId>& path,
                    const char* why) {
    if (path.empty()) fields.complain(fmt::format("{} needs at least one link: {}", key, why));
  }

  TrainingNetwork read_network(YamlFields& fields) {
    TrainingNetwork network;
    network.exchange = static_cast<Exchange>(
        fields.choice("communication", {"all-reduce", "parameter-server"}, 0));
    constexpr std::int64_t kMost = 1'000'000;
    network.workers = static_cast<std::uint32_t>(fields.integer("workers", 2, 1, kMost));
    network.servers =
        static_cast<std::uint32_t>(fields.integer("servers", network.workers, 1, kMost));
    network.tensor_workers =
        static_cast<std::uint32_t>(fields.integer("tensor_workers", 1, 1, kMost));
    network.path = read_path(fields, "path");
    network.back_path = read_path(fields, "back_path");
    network.tensor_path = read_path(fields, "tensor_path");
    network.latency = kMicro * fields.number("latency_us", 0, kMicroLimits);
    network.overhead = kMicro * fields.number("overhead_us", 0, kMicroLimits);
    return network;
  }

  void read_job(const YAML::Node& node) {
    if (!fits(node, "jobs", out_.jobs.size(), kMostJobs)) return;
    YamlFields fields(report_, node, "job");
    if (!fields.is_map()) return;
    fields.require("name");
    TrainingJob job;
    job.name = fields.text("name");
    for (const TrainingJob& other : out_.jobs) {
      if (other.name == job.name) {
        fields.complain(fmt::format("two jobs are named {}", shown(job.name)));
      }
    }
    const TrainingNetwork network = read_network(fields);
    job.start = kMilli * fields.number("start_ms", 0, kMilliLimits);
    job.iterations_done = fields.number("iterations_done", 0, {0, 1e12});
    job.iterations_total =
        fields.number("iterations_total", 0, {std::max(1.0, job.iterations_done), 1e12});
    job.share.guarantee = kGigabit * fields.number("guarantee_gbit_s", 0, {0, 1e6});
    job.share.limit =
        kGigabit * fields.number("limit_gbit_s", kNoLimit,
                                 {job.share.guarantee / kGigabit, 1e6, job.share.guarantee == 0});
    const long before = complaints_.count();
    read_body(fields, network, job);
    job.devices = fields.number("devices",
                                std::max<double>(network.workers * network.tensor_workers,
                                                 static_cast<double>(job.graph.devices.size())),
                                {1, 1e7});
    fields.done();
    if (complaints_.count() == before) check_body(fields, job);
    out_.jobs.push_back(std::move(job));
  }

  void read_body(YamlFields& fields, const TrainingNetwork& network, TrainingJob& job) {
    int bodies = 0;
    for (const char* const key : {"model", "layers", "pipeline", "operations"}) {
      bodies += fields.has(key) ? 1 : 0;
    }
    if (bodies != 1) {
      return fields.complain(fmt::format(
          "job has {} of model, layers, pipeline and operations; it needs exactly one", bodies));
    }
    if (fields.has("pipeline")) {
      if (const YAML::Node* const node = fields.get("pipeline")) {
        job.graph = read_pipeline(*node, network);
      }
    } else if (fields.has("operations")) {
      job.graph = read_operations(fields, network);
    } else {
      const long before = complaints_.count();
      const std::vector<LayerSpec> layers =
          fields.has("model") ? read_model(fields) : read_layers(fields);
      if (network.workers > 1) require_path(fields, "path", network.path, "gradients cross it");
      if (network.workers > 1 && network.exchange == Exchange::kParameterServer) {
        require_path(fields, "back_path", network.back_path, "parameters are pulled over it");
      }
      if (network.tensor_workers > 1) {
        require_path(fields, "tensor_path", network.tensor_path, "activations cross it");
      }
      if (complaints_.count() == before && paths_known(network)) {
        job.graph = layers_graph(layers, network, out_.link_bytes_per_s);
      }
    }
  }

  // A path that was complained of may be shorter than it was meant to be, but it is valid.
  static bool paths_known(const TrainingNetwork& network) {
    const bool gradients = network.workers == 1 || !network.path.empty();
    return gradients && (network.tensor_workers == 1 || !network.tensor_path.empty());
  }

  std::vector<LayerSpec> read_model(YamlFields& fields) {
    std::vector<std::string> names;
    for (const NetworkModel& model : network_models()) names.emplace_back(model.name);
    const int which = fields.choice("model", names, 0);
    fields.require("tflops");
    const double batch = fields.number("batch", 32, {0, 1e9, true});
    const double speed = 1e12 * fields.number("tflops", 1, {0, 1e6, true});
    const double width = fields.number("bytes_per_parameter", 4, {0, 64, true});
    std::vector<LayerSpec> layers;
    for (const ModelLayer& layer : network_models()[static_cast<std::size_t>(which)].layers()) {
      LayerSpec spec;
      spec.name = layer.name;
      // Two operations for each multiply-add; the backward pass does each twice, for the gradients
      // of the input and of the weights.
      spec.forward = 2 * layer.multiply_adds * batch / speed;
      spec.backward = 2 * spec.forward;
      spec.gradient_bytes = width * layer.parameters;
      if (!layers.empty()) spec.after = {static_cast<std::uint32_t>(layers.size() - 1)};
      layers.push_back(std::move(spec));
    }
    return layers;
  }

  std::vector<LayerSpec> read_layers(YamlFields& fields) {
    std::vector<LayerSpec> layers;
    std::map<std::string, std::uint32_t, std::less<>> names;
    for (const YAML::Node& node : fields.list("layers")) {
      if (!fits(node, "layers", layers.size(), kMostLayers)) break;
      YamlFields values(report_, node, "layers");
      LayerSpec layer;
      layer.name = values.text("name", fmt::format("layer{}", layers.size()));
      layer.forward = kMilli * values.number("forward_ms", 0, kMilliLimits);
      layer.backward = kMilli * values.number("backward_ms", 0, kMilliLimits);
      layer.gradient_bytes = kMegabyte * values.number("gradient_mb", 0, kMegabyteLimits);
      layer.activation_bytes = kMegabyte * values.number("activation_mb", 0, kMegabyteLimits);
      if (!values.has("after") && !layers.empty()) {
        layer.after = {static_cast<std::uint32_t>(layers.size() - 1)};
      }
      layer.after = values.has("after") ? read_names(values, "after", names) : layer.after;
      values.done();
      if (!names.emplace(layer.name, static_cast<std::uint32_t>(layers.size())).second) {
        values.complain(fmt::format("two layers are named {}", shown(layer.name)));
      }
      layers.push_back(std::move(layer));
    }
    if (layers.empty()) fields.complain("layers needs at least one layer");
    return layers;
  }

  // Earlier entries by name.
  std::vector<std::uint32_t> read_names(
      YamlFields& fields, const char* key,
      const std::map<std::string, std::uint32_t, std::less<>>& names) {
    std::vector<std::uint32_t> found;
    for (const YAML::Node& node : fields.list(key)) {
      const std::string name = node.IsScalar() ? node.Scalar() : "";
      const auto at = names.find(name);
      if (at == names.end()) {
        report_.complain(
            node, fmt::format("{} names {}, which does not stand before it", key, shown(name)));
      } else if (std::find(found.begin(), found.end(), at->second) == found.end()) {
        found.push_back(at->second);
      }
    }
    return found;
  }

  IterationGraph read_pipeline(const YAML::Node& node, const TrainingNetwork& network) {
    YamlFields fields(report_, node, "pipeline");
    if (!fields.is_map()) return {};
    fields.require("stages");
    fields.require("microbatches");
    const auto batches =
        static_cast<std::uint32_t>(fields.integer("microbatches", 1, 1, kMostIterationOps / 2));
    const auto order = static_cast<PipelineOrder>(fields.choice("order", {"gpipe", "1f1b"}, 1));
    const long before = complaints_.count();
    std::vector<StageSpec> stages;
    for (const YAML::Node& element : fields.list("stages")) {
      if (!fits(element, "stages", stages.size(), kMostIterationOps)) break;
      YamlFields values(report_, element, "stages");
      StageSpec stage;
      stage.forward = kMilli * values.number("forward_ms", 0, kMilliLimits);
      stage.backward = kMilli * values.number("backward_ms", 0, kMilliLimits);
      stage.activation_bytes = kMegabyte * values.number("activation_mb", 0, kMegabyteLimits);
      stage.path = values.has("path") ? read_path(values, "path") : network.path;
      stage.back_path =
          values.has("back_path") ? read_path(values, "back_path") : network.back_path;
      values.done();
      stages.push_back(std::move(stage));
    }
    fields.done();
    if (stages.empty()) fields.complain("stages needs at least one stage");
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
      if (!stages[s].path.empty() && !stages[s].back_path.empty()) continue;
      fields.complain(fmt::format("stage {} has no path and back_path to the next stage", s));
    }
    if (stages.size() * batches * 4 > kMostIterationOps) {
      fields.complain(fmt::format("{} stages and {} micro-batches make more than {} operations",
                                  stages.size(), batches, kMostIterationOps));
    }
    if (complaints_.count() > before) return {};
    return pipeline_graph(stages, batches, order, network, out_.link_bytes_per_s);
  }

  // Any graph. Transfers share one wire for each path.
  IterationGraph read_operations(YamlFields& fields, const TrainingNetwork& network) {
    IterationGraph graph;
    std::map<std::string, std::uint32_t, std::less<>> names, devices;
    std::map<std::vector<LinkId>, std::uint32_t> wires;
    for (const YAML::Node& node : fields.list("operations")) {
      if (!fits(node, "operations", graph.ops.size(), kMostIterationOps)) break;
      YamlFields values(report_, node, "operations");
      if (!values.is_map()) continue;
      values.require("name");
      IterationOp op;
      op.name = values.text("name");
      op.needs = read_names(values, "needs", names);
      op.is_transfer = values.has("mb");
      if (op.is_transfer) {
        op.amount = kMegabyte * values.number("mb", 1, {0, 1e7, true});
        std::vector<LinkId> path = values.has("path") ? read_path(values, "path") : network.path;
        if (path.empty()) {
          values.complain(fmt::format("operation {} has no path", shown(op.name)));
          continue;
        }
        const auto [at, fresh] = wires.emplace(path, graph.wires.size());
        op.place = at->second;
        if (fresh) {
          graph.wires.push_back(make_wire(fmt::format("wire {}", op.place), std::move(path), 1,
                                          network.overhead, network.latency,
                                          out_.link_bytes_per_s));
        }
      } else {
        op.amount = kMilli * values.number("ms", 0, kMilliLimits);
        const std::string device = values.text("device", "device");
        const auto [at, fresh] = devices.emplace(device, graph.devices.size());
        op.place = at->second;
        if (fresh) graph.devices.push_back(device);
      }
      values.done();
      if (!names.emplace(op.name, static_cast<std::uint32_t>(graph.ops.size())).second) {
        values.complain(fmt::format("two operations are named {}", shown(op.name)));
      }
      graph.ops.push_back(std::move(op));
    }
    return graph;
  }

  void check_body(YamlFields& fields, const TrainingJob& job) {
    double work = 0;
    for (const IterationOp& op : job.graph.ops) work += op.amount;
    if (work > 0) return;
    fields.complain(fmt::format("an iteration of {} takes no time", shown(job.name)));
  }

  void check_guarantees(YamlFields& fields) {
    std::vector<double> promised(out_.link_names.size());
    for (const TrainingJob& job : out_.jobs) {
      for (const IterationWire& wire : job.graph.wires) {
        for (LinkId link : wire.path) promised[link] += job.share.guarantee;
      }
    }
    for (std::size_t l = 0; l < promised.size(); ++l) {
      if (promised[l] <= out_.link_bytes_per_s[l] * (1 + 1e-9)) continue;
      fields.complain(fmt::format("guarantees on link {} add up to {} Gbit/s; it has {}",
                                  shown(out_.link_names[l]), promised[l] / kGigabit,
                                  out_.link_bytes_per_s[l] / kGigabit));
    }
  }

  Complaints complaints_;
  YamlReport report_;
  TrainingFile out_;
  std::map<std::string, LinkId, std::less<>> links_;
};

}  // namespace

Result<TrainingFile> parse_training_file(const TextFile& file) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    return TrainingReader(file).read(*root);
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

Result<TrainingFile> read_training_file(const std::string& path) {
  auto text = read_file(path, kMaxYamlBytes);
  if (!text.ok()) return text.error();
  return parse_training_file({path, *text});
}

}  // namespace weft

#include "model/readers/weft_yaml_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/readers/load_reader.h"
#include "model/readers/model_names.h"
#include "model/readers/trace_builder.h"
#include "model/readers/yaml_menu.h"

namespace weft {
namespace {

constexpr std::size_t kMostConfigurations = 10'000;

class YamlReader {
 public:
  YamlReader(const TextFile& file, const Cluster& cluster, std::shared_ptr<const PairTable> pairs)
      : path_(file.path),
        cluster_(cluster),
        builder_(file.path, "weft-yaml"),
        report_(file.path, builder_.complaints()),
        models_(std::move(pairs)) {}

  Result<Trace> read(const YAML::Node& root) {
    YamlFields fields(report_, root, "the trace");
    fields.require("jobs");
    for (const YAML::Node& job : fields.list("jobs")) read_job(job);
    fields.done();
    builder_.set_pairs(models_.pairs());
    return builder_.finish("the keys are described in docs/formats.md");
  }

 private:
  void read_job(const YAML::Node& node) {
    YamlFields fields(report_, node, "job");
    if (!fields.is_map()) return;
    for (const char* const key : {"name", "submit_s", "menu"}) fields.require(key);
    Submission job;
    job.name = fields.text("name");
    job.kind = static_cast<WorkloadKind>(fields.choice("kind", {"training", "service", "task"}, 0));
    job.tenant = builder_.tenant(fields.text("tenant"), node.Mark().line + 1);
    job.priority =
        static_cast<std::int32_t>(fields.integer("priority", 0, -1'000'000'000, 1'000'000'000));
    job.weight = fields.number("weight", 1, kWeightLimits);
    job.submit = fields.number("submit_s", 0, kTimeLimits);
    job.deadline = fields.number("deadline_s", kNever, {job.submit, 2 * kMaxDuration, true});
    job.declared_work = fields.number("declared_work", 0, {0, kRateLimits.high});
    job.preemptible = fields.flag("preemptible", true);
    job.spot_ok = fields.flag("spot_ok", true);
    job.menu = read_menu(fields);
    job.elastic = fields.flag("elastic", job.menu->configurations.size() > 1);
    read_model(fields, job);
    Truth truth;
    truth.user_estimate = fields.number("estimate_s", truth.user_estimate, kDurationLimits);
    if (job.kind == WorkloadKind::kService) {
      read_service(fields, job, truth);
    } else {
      read_work(fields, job, truth);
    }
    fields.done();
    builder_.add(node.Mark().line + 1, std::move(job), std::move(truth));
  }

  std::shared_ptr<const Menu> read_menu(YamlFields& fields) {
    Menu menu;
    for (const YAML::Node& node : fields.list("menu")) {
      if (menu.configurations.size() == kMostConfigurations) {
        report_.complain(
            node, fmt::format("a menu has more than {} configurations", kMostConfigurations));
        break;
      }
      menu.configurations.push_back(read_yaml_configuration(report_, node, cluster_));
    }
    if (menu.configurations.empty()) {
      if (fields.has("menu")) fields.complain("job.menu needs at least one configuration");
      menu.configurations.emplace_back();
    }
    return builder_.menus().share(std::move(menu));
  }

  void read_model(YamlFields& fields, Submission& job) {
    const std::string name = fields.text("model");
    if (name.empty()) return;
    job.model = models_.find(name);
    if (job.model == kNoModel) fields.complain(models_.complaint(name));
  }

  void read_work(YamlFields& fields, const Submission& job, Truth& truth) {
    const auto work = fields.optional_number("work", kRateLimits);
    const auto duration = fields.optional_number("duration_s", kDurationLimits);
    if (fields.has("work") == fields.has("duration_s")) {
      fields.complain("job needs either 'work' or 'duration_s', not both");
    }
    const double rate = job.menu->configurations.front().rate;
    truth.work = work.value_or(duration.value_or(1) * rate);
    if (truth.work / rate > kMaxDuration) {
      fields.complain(
          fmt::format("job takes {:g} s on its first configuration; the limit is {:g} s",
                      truth.work / rate, kMaxDuration));
    }
    read_phases(fields, truth);
  }

  void read_phases(YamlFields& fields, Truth& truth) {
    for (const YAML::Node& node : fields.list("phases")) {
      YamlFields phase(report_, node, "phase");
      phase.require("from");
      phase.require("speed");
      const double from = phase.number("from", 0, {0, 1}) * truth.work;
      truth.phases.push_back({from, phase.number("speed", 1, {0, 1e6, true})});
      const std::size_t count = truth.phases.size();
      const bool ascends = count == 1 ? from == 0 : from > truth.phases[count - 2].from_work;
      if (!ascends) phase.complain("phases must begin with 'from: 0' and ascend");
      phase.done();
    }
  }

  void read_service(YamlFields& fields, Submission& job, Truth& truth) {
    job.min_replicas = static_cast<std::uint32_t>(fields.integer("min_replicas", 1, 0, 1'000'000));
    const std::uint32_t least = std::max(job.min_replicas, 1U);
    job.max_replicas =
        static_cast<std::uint32_t>(fields.integer("max_replicas", least, least, 1'000'000));
    job.latency_objective = fields.number("latency_objective_s", 0, kTimeLimits);
    const auto duration = fields.optional_number("duration_s", kDurationLimits);
    if (duration) truth.service_end = job.submit + *duration;
    if (fields.has("load") == fields.has("load_file")) {
      fields.complain("a service needs either 'load' or 'load_file', not both");
    }
    if (const std::string name = fields.text("load_file"); !name.empty()) {
      Result<std::vector<LoadStep>> load = read_load(path_, name);
      if (load.ok()) {
        truth.load = std::move(*load);
      } else {
        fields.complain("job.load_file: " + load.error().what);
      }
    }
    for (const YAML::Node& node : fields.list("load")) {
      YamlFields step(report_, node, "load");
      step.require("at_s");
      step.require("requests_per_s");
      const double at = step.number("at_s", 0, kTimeLimits);
      if (!truth.load.empty() && at <= truth.load.back().at) step.complain("load.at_s must ascend");
      truth.load.push_back({at, step.number("requests_per_s", 0, kLoadLimits)});
      step.done();
    }
  }

  const std::string& path_;
  const Cluster& cluster_;
  TraceBuilder builder_;
  YamlReport report_;
  ModelNames models_;
};

}  // namespace

Result<Trace> parse_weft_yaml(const TextFile& file, const Cluster& cluster,
                              std::shared_ptr<const PairTable> pairs) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    return YamlReader(file, cluster, std::move(pairs)).read(*root);
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

}  // namespace weft

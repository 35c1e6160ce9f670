#include "live/job/job_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/delimited.h"
#include "base/quantity.h"
#include "codec/codecs.h"
#include "live/job/job_fields.h"
#include "live/job/job_text.h"
#include "live/job/submission.h"
#include "runtime/training/synchroniser.h"
#include "sync/mode.h"

namespace weft::live {
namespace {

class Checker {
 public:
  explicit Checker(const JobSpec& job) : job_(job) {}

  std::vector<JobProblem> run() {
    check_names();
    check_accelerators();
    check_workers();
    check_elastic();
    check_in_place();
    check_service();
    check_times();
    check_sharing();
    check_labels("sync", job_.sync);
    check_labels("codec", job_.codec);
    check_pairs();
    check_automatic();
    check_dependencies();
    check_array();
    check_envs();
    check_menu();
    return std::move(problems_);
  }

 private:
  // Ensures: the sentence is "FIELD WHAT".
  void add(std::string field, std::string_view what, std::vector<std::string> others = {}) {
    std::string sentence = fmt::format("{} {}", field, what);
    problems_.push_back({std::move(field), std::move(sentence), std::move(others)});
  }

  void check_names() {
    constexpr std::string_view kWanted =
        "it must be 1 to 100 letters, digits, '.', '_' or '-', and begin with none of '.' and '-'";
    if (!is_plain_name(job_.name)) add("name", fmt::format("is {}; {}", shown(job_.name), kWanted));
    if (is_uuid(job_.name)) add("name", "looks like the uuid of a job; take another");
    if (!is_plain_name(job_.queue)) {
      add("queue", fmt::format("is {}; {}", shown(job_.queue), kWanted));
    }
    if (trimmed(job_.run).empty()) add("run", "is missing or empty; it must be a command");
  }

  void check_accelerators() {
    const auto& choices = job_.resources.accelerators;
    if (choices.empty() || choices.size() > kMaxAlternatives) {
      return add("resources.accelerators", fmt::format("has {} alternatives; it must have 1 to {}",
                                                       choices.size(), kMaxAlternatives));
    }
    std::set<std::string> types;
    for (const AcceleratorChoice& choice : choices) {
      if (choice.type.empty() && choices.size() > 1) {
        add("resources.accelerators", "has 'any' among alternatives; it must stand alone");
      } else if (!types.insert(choice.type).second) {
        add("resources.accelerators", fmt::format("has {} twice", shown(choice.type)));
      }
      if (choice.count != choices.front().count) {
        add("resources.accelerators",
            fmt::format("has {} beside {}; alternatives must have the same count",
                        accelerator_text(choice), accelerator_text(choices.front())));
      }
    }
    if (!job_.resources.notice_signal.empty() && !job_.resources.use_spot) {
      add("resources.notice_signal", "is of no use without use_spot: true", {"resources.use_spot"});
    }
  }

  void check_workers() {
    const std::uint64_t most = kMaxWorkers;
    if (!job_.resources.accelerators.empty() &&
        std::uint64_t{job_.num_nodes} * std::max(job_.devices_per_node(), job_.ranks_per_node()) >
            most) {
      add("num_nodes",
          fmt::format("is {}, each with {} devices and {} workers; the limit is {} of either",
                      job_.num_nodes, job_.devices_per_node(), job_.ranks_per_node(), most),
          {"resources.accelerators", "workers_per_node"});
    }
    if (job_.workers_per_node == 0 || job_.resources.accelerators.empty()) return;
    const std::uint32_t devices = job_.devices_per_node(), workers = job_.workers_per_node;
    if (devices % workers == 0 || workers % devices == 0) return;
    add("workers_per_node",
        fmt::format("is {}, which does not share out the {} devices of a node evenly; it must "
                    "divide their number or be a multiple of it",
                    workers, devices),
        {"resources.accelerators"});
  }

  void check_in_place() {
    if (job_.resize == Resizing::kRestart) return;
    if (!job_.elastic()) {
      add("resize", "is in_place, which is for elastic jobs", {"min_workers", "max_workers"});
    }
    if (job_.ranks_per_node() != job_.devices_per_node()) {
      add("workers_per_node", "of a job that is resized in place must be one for each device",
          {"resize", "resources.accelerators"});
    }
    if (job_.checkpoint.preempt == Preemption::kFreeze) {
      add("checkpoint.preempt", "is freeze, which is not for jobs that are resized in place",
          {"resize"});
    }
  }

  void check_elastic() {
    const std::uint32_t low = job_.min_workers, high = job_.max_workers;
    if (low == 0 && high == 0) return;
    if (low == 0 || high == 0) {
      return add(low == 0 ? "max_workers" : "min_workers",
                 fmt::format("stands alone; an elastic job needs {} too",
                             low == 0 ? "min_workers" : "max_workers"),
                 {"min_workers", "max_workers"});
    }
    if (job_.kind != WorkloadKind::kTraining) {
      return add("min_workers", "is for training jobs; services have service.replica_policy",
                 {"kind"});
    }
    if (job_.resources.accelerators.empty()) return;
    if (job_.ranks_per_node() > job_.devices_per_node()) {
      add("workers_per_node", "of an elastic job must not exceed the devices of a node",
          {"resources.accelerators"});
    }
    const std::uint64_t asked = std::uint64_t{job_.num_nodes} * job_.ranks_per_node();
    if (low > high || asked < low || asked > high) {
      add("min_workers",
          fmt::format("is {} and max_workers is {}; the {} workers asked for must lie between them",
                      low, high, asked),
          {"max_workers", "num_nodes", "workers_per_node", "resources.accelerators"});
    }
  }

  void check_service() {
    const ServiceRule& service = job_.service;
    if (job_.kind != WorkloadKind::kService) {
      if (service != ServiceRule{}) {
        add("service",
            fmt::format("is given, but kind is {}; leave one of them out",
                        kKindNames[static_cast<int>(job_.kind)]),
            {"kind"});
      }
      return;
    }
    if (service.min_replicas > service.max_replicas) {
      add("service.replica_policy.min_replicas",
          fmt::format("is {}, above max_replicas, {}", service.min_replicas, service.max_replicas),
          {"service"});
    }
    if (service.min_replicas < service.max_replicas && service.target_qps_per_replica == 0) {
      add("service.replica_policy",
          "has a range of replicas; it needs target_qps_per_replica to choose among them",
          {"service"});
    }
    const auto refuse = [this](bool given, const char* field) {
      if (given) add(field, "is not for services, which serve until they are taken down", {"kind"});
    };
    refuse(job_.deadline.kind != JobDeadline::Kind::kNone, "deadline");
    refuse(job_.time > 0, "time");
    refuse(!job_.array.ranges.empty(), "array");
    refuse(!job_.sync.empty(), "sync");
    refuse(!job_.codec.empty(), "codec");
    if (job_.checkpoint.preempt == Preemption::kFreeze) {
      add("checkpoint.preempt", "is freeze, which is not for services: their callers would wait",
          {"kind", "service"});
    }
  }

  void check_times() {
    if (job_.deadline.kind != JobDeadline::Kind::kNone && job_.deadline.seconds <= 0) {
      add("deadline", "must be later than the submission");
    }
    if (job_.retries.backoff > job_.retries.max_backoff) {
      add("retries.backoff",
          fmt::format("is {:g} s, above max_backoff, {:g} s", job_.retries.backoff,
                      job_.retries.max_backoff),
          {"retries"});
    }
  }

  void check_sharing() {
    const BandwidthRule& bandwidth = job_.bandwidth;
    if (bandwidth.limit > 0 && bandwidth.guarantee > bandwidth.limit) {
      add("bandwidth.guarantee",
          fmt::format("is {}, above the limit, {}", bytes_per_s_text(bandwidth.guarantee),
                      bytes_per_s_text(bandwidth.limit)),
          {"bandwidth"});
    }
    if (job_.topology.required && job_.topology.level == Level::kNode && job_.num_nodes > 1) {
      add("topology.required", fmt::format("is node, but num_nodes is {}", job_.num_nodes),
          {"num_nodes"});
    }
  }

  void check_labels(const std::string& field, const std::vector<std::string>& labels) {
    if (labels.size() > kMaxLabels) {
      return add(field, fmt::format("has {} labels; the limit is {}", labels.size(), kMaxLabels));
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::string& label = labels[i];
      const std::string place = labels.size() == 1 ? field : fmt::format("{}.{}", field, i);
      if (!seen.insert(label).second) add(place, fmt::format("is {} again", shown(label)));
      std::string why;
      if (label == kAutomatic) {
        if (labels.size() > 1) add(place, "is auto beside others; it stands alone");
      } else if (field == "sync") {
        if (const auto mode = sync::parse_mode(label); !mode.ok()) why = mode.error().text();
      } else {
        if (const auto codec = codec::make_codec(label); !codec.ok()) why = codec.error().text();
      }
      if (!why.empty()) add(place, fmt::format("is {}: {}", shown(label), why));
    }
  }

  // Every codec is offered with every mode.
  void check_pairs() {
    for (const std::string& codec_text : job_.codec) {
      const auto codec = codec::make_codec(codec_text);
      for (const std::string& sync_text : job_.sync) {
        const auto mode = sync::parse_mode(sync_text);
        if (!codec.ok() || !mode.ok()) continue;  // told already, or auto
        const Status together = runtime::Synchroniser::check(*mode, **codec);
        if (!together.ok()) {
          add("codec",
              fmt::format("is {}, with sync {}: {}", shown(codec_text), shown(sync_text),
                          together.error().what),
              {"sync"});
        }
      }
    }
  }

  // What weft.torch.wrap() takes, too.
  void check_automatic() {
    const ModelRule& model = job_.model;
    const bool stated = model != ModelRule{};
    if (job_.automatic_sync() && !job_.automatic_codec()) {
      add("sync", "is auto, but codec is not: the two are chosen together", {"codec"});
    }
    if (job_.automatic_codec() && !job_.automatic_sync() && !job_.sync.empty() &&
        (job_.sync.size() > 1 || job_.sync.front() != "bsp")) {
      add("codec",
          fmt::format("is auto, which goes with sync bsp or auto, not {}",
                      shown(job_.sync.front())),
          {"sync"});
    }
    if (stated && (model.parameters <= 0 || model.compute <= 0)) {
      add("model", "must have parameters and compute, both above 0");
    }
    if (stated && !job_.automatic_codec()) {
      add("model", "is for codec: auto, which chooses by it", {"codec"});
    }
  }

  void check_dependencies() {
    if (job_.depends_on.size() > kMaxDependencies) {
      return add("depends_on", fmt::format("has {} jobs; the limit is {}", job_.depends_on.size(),
                                           kMaxDependencies));
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < job_.depends_on.size(); ++i) {
      const std::string& name = job_.depends_on[i].job;
      const std::string place = fmt::format("depends_on.{}", i);
      if (!is_plain_name(name)) {
        add(place,
            fmt::format("is {}, which is neither the name of a job nor a uuid", shown(name)));
      } else if (!seen.insert(name).second) {
        add(place, fmt::format("is {} again", shown(name)));
      }
    }
  }

  void check_array() {
    constexpr std::size_t kLongestIndex = 8;  // ".4000000"
    if (!job_.array.ranges.empty() && !is_array_member(job_) &&
        job_.name.size() + kLongestIndex > kMaxNameBytes) {
      add("name",
          fmt::format("has {} bytes; that of an array may have {}, for members add their "
                      "index to it",
                      job_.name.size(), kMaxNameBytes - kLongestIndex),
          {"array"});
    }
    if (member_count(job_.array) > kMaxArrayMembers) {
      return add("array", fmt::format("has more than {} members", kMaxArrayMembers));
    }
    std::set<std::uint32_t> seen;
    for (const ArrayRange& range : job_.array.ranges) {
      for (std::uint64_t i = range.first; i <= range.last; i += range.step) {
        if (seen.insert(static_cast<std::uint32_t>(i)).second) continue;
        return add("array", fmt::format("has the index {} twice", i));
      }
    }
  }

  void check_envs() {
    std::size_t bytes = 0;
    for (const auto& [name, value] : job_.envs) {
      bytes += name.size() + value.size();
      if (!is_variable_name(name)) {
        add("envs", fmt::format("has {}, which is no name of a variable", shown(name)));
      }
    }
    if (job_.envs.size() > kMaxEnvs || bytes > kMaxEnvBytes) {
      add("envs", fmt::format("has {} variables of {} bytes; the limits are {} and {}",
                              job_.envs.size(), bytes, kMaxEnvs, kMaxEnvBytes));
    }
  }

  // Policies look at every configuration of every job in each decision.
  void check_menu() {
    const std::size_t sizes = problems_.empty() ? elastic_sizes(job_).size() : 1;
    const std::size_t types = job_.resources.accelerators.size();
    const std::size_t labels =
        std::max<std::size_t>(1, job_.sync.size()) * std::max<std::size_t>(1, job_.codec.size());
    if (sizes * types * labels <= kMaxConfigurations) return;
    add("job",
        fmt::format("offers {} sizes, {} types and {} pairs of sync and codec, which makes {} "
                    "configurations; the limit is {}",
                    sizes, types, labels, sizes * types * labels, kMaxConfigurations));
  }

  const JobSpec& job_;
  std::vector<JobProblem> problems_;
};

}  // namespace

bool UnreadFields::touch(const JobProblem& problem) const {
  const auto within = [](std::string_view path, std::string_view part) {
    return part.starts_with(path) && (part.size() == path.size() || part[path.size()] == '.');
  };
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
    const auto meets = [&](const std::string& field) {
      return within(path, field) || within(field, path);
    };
    return meets(problem.field) || std::any_of(problem.others.begin(), problem.others.end(), meets);
  });
}

std::vector<JobProblem> check_job(const JobSpec& job) { return Checker(job).run(); }

std::string text_problem(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fmt::format("has {} bytes; the limit is {}", text.size(), max_bytes);
  }
  if (const auto bad = find_bad_byte(text)) {
    return fmt::format("holds {}, which no text does", bad->what);
  }
  return "";
}

}  // namespace weft::live

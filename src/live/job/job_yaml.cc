#include <fmt/core.h>

#include <charconv>
#include <memory>

#include "base/quantity.h"
#include "live/job/job_check.h"
#include "live/job/job_fields.h"
#include "live/job/job_file.h"
#include "live/job/job_text.h"
#include "model/readers/yaml_fields.h"

namespace weft::live {
namespace {

constexpr const char* kHint = "the fields are described in docs/jobs.md";

// The visitor of visit_job() that fills a job from YAML. A field that is not there, or not
// readable, keeps its default.
class YamlJob {
 public:
  // Requires: all outlive this object; the report's complaints go to `complaints`.
  YamlJob(YamlReport& report, const Complaints& complaints, const YAML::Node& root)
      : report_(report), complaints_(complaints), root_(root) {
    enter("job", root);
  }

  bool is_map() const { return at().is_map(); }
  bool has(std::string_view key) const { return at().has(key); }
  void finish() { leave(); }
  const UnreadFields& unread() const { return unread_; }

  void text(const char* key, std::string& out, std::size_t max_bytes) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    if (const std::string why = text_problem(*value, max_bytes); !why.empty()) {
      return complain(key, why);
    }
    out = *value;
  }

  template <typename Number>
  void integer(const char* key, Number& out, std::int64_t low, std::int64_t high) {
    const Watch watch(*this, key);
    out = static_cast<Number>(at().integer(key, out, low, high));
  }

  void number(const char* key, double& out, double low, double high) {
    const Watch watch(*this, key);
    out = at().number(key, out, {low, high});
  }

  void flag(const char* key, bool& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    if (*value == "true" || *value == "True" || *value == "false" || *value == "False") {
      out = value->front() == 't' || value->front() == 'T';
    } else {
      at().refuse(key, "true or false");
    }
  }

  template <typename Choice, std::size_t size>
  void choice(const char* key, Choice& out, const char* const (&names)[size]) {
    const Watch watch(*this, key);
    out = static_cast<Choice>(at().choice(key, {names, names + size}, static_cast<int>(out)));
  }

  void seconds(const char* key, Seconds& out, Seconds high) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const auto duration = parse_duration(*value);
    if (duration && *duration <= high) {
      out = *duration;
    } else {
      at().refuse(key, fmt::format("{}, of at most {:g} s", kDurationWanted, high));
    }
  }

  void cores(const char* key, double& out, bool& or_more) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const AtLeast written = split_at_least(*value);
    const auto cpus = parse_number(written.text);
    if (!cpus || *cpus < 0.001 || *cpus > kMaxCpus) {
      return at().refuse(key, "a number from 0.001 to 1e6, with or without '+', such as 4 or 4+");
    }
    out = *cpus;
    or_more = written.or_more;
  }

  void amount(const char* key, Bytes& out, bool& or_more) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const AtLeast written = split_at_least(*value);
    const auto bytes = parse_memory(written.text);
    if (!bytes) return at().refuse(key, fmt::format("{}, with or without '+'", kMemoryWanted));
    out = static_cast<Bytes>(*bytes);
    or_more = written.or_more;
  }

  void size(const char* key, Bytes& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    if (const auto bytes = parse_memory(*value)) {
      out = static_cast<Bytes>(*bytes);
    } else {
      at().refuse(key, kMemoryWanted);
    }
  }

  void rate(const char* key, double& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const auto rate = parse_bytes_per_s(*value);
    if (rate && *rate > 0 && *rate <= kMaxBandwidth) {
      out = *rate;
    } else {
      at().refuse(key, kBytesPerSecondWanted);
    }
  }

  void signal(const char* key, std::string& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const std::string name = signal_name(*value);
    if (name.empty()) return at().refuse(key, signal_wanted());
    out = name;
  }

  void deadline(const char* key, JobDeadline& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    const auto deadline = parse_deadline(*value);
    if (!deadline || (deadline->kind == JobDeadline::Kind::kAfterSubmission &&
                      deadline->seconds > kMaxDuration)) {
      return at().refuse(key, kDeadlineWanted);
    }
    out = *deadline;
  }

  void array(const char* key, JobArray& out) {
    const Watch watch(*this, key);
    const std::string* const value = scalar(key);
    if (value == nullptr) return;
    Result<JobArray> array = parse_array(*value);
    if (!array.ok()) {
      return complain(
          key, fmt::format("is {}: {}; {}", shown(*value), array.error().what, array.error().hint));
    }
    out = std::move(*array);
  }

  // H100:8, [H100:8, A100:8], {H100:8, A100:8} (a set), {H100: 8}.
  void accelerators(const char* key, std::vector<AcceleratorChoice>& out) {
    const Watch watch(*this, key);
    const YAML::Node* const value = at().get(key);
    if (value == nullptr) return;
    out.clear();
    const auto add = [&](const YAML::Node& node, const std::string& text) {
      const auto choice = parse_accelerator(text);
      if (choice) return out.push_back(*choice);
      report_.complain(node, fmt::format("resources.accelerators is {}; it must be {}", shown(text),
                                         kAcceleratorWanted));
    };
    if (value->IsMap()) {
      for (const auto& pair : *value) {
        if (!pair.first.IsScalar() || !(pair.second.IsScalar() || pair.second.IsNull())) {
          report_.complain(*value, "resources.accelerators: a set holds TYPE:COUNT only");
          continue;
        }
        add(pair.first,
            pair.first.Scalar() + (pair.second.IsNull() ? "" : ":" + pair.second.Scalar()));
      }
    } else {
      for (const YAML::Node& node : at().list(key)) {
        add(node, node.IsScalar() ? node.Scalar() : "");
      }
    }
    // What was unreadable has been complained of; a job has at least one choice everywhere.
    if (out.empty() && (value->IsMap() || value->IsSequence()) && value->size() == 0) {
      complain(key, "is empty; leave it out for one device of any type");
    }
    if (out.empty()) out.emplace_back();
  }

  void envs(const char* key, std::map<std::string, std::string>& out) {
    const Watch watch(*this, key);
    const YAML::Node* const value = at().get(key);
    if (value == nullptr) return;
    YamlFields fields(report_, *value, key);
    for (const std::string& name : fields.keys()) {
      const YAML::Node* const variable = fields.get(name);
      if (variable == nullptr) return;
      if (!variable->IsScalar()) {
        fields.refuse(name, "a single value; write \"\" for an empty one");
      } else if (const auto why = text_problem(variable->Scalar(), kMaxEnvBytes); !why.empty()) {
        report_.complain(*variable, fmt::format("envs.{} {}", name, why));
      } else {
        out[name] = variable->Scalar();
      }
    }
  }

  void topology(const char* key, TopologyRule& out) {
    group(key, [&] {
      for (const char* const strength : {"required", "preferred"}) {
        const Watch watch(*this, strength);
        const bool again = out.level.has_value();
        if (!at().has(strength)) {
          at().get(strength);
          continue;
        }
        out.level = static_cast<Level>(
            at().choice(strength, {std::begin(kLevelNames), std::end(kLevelNames)}, 0));
        out.required = !again && strength[0] == 'r';
        if (again) complain(strength, "stands beside required; a job has one of them");
      }
    });
  }

  void labels(const char* key, std::vector<std::string>& out) {
    const Watch watch(*this, key);
    for (const YAML::Node& node : at().list(key)) {
      if (node.IsScalar() && text_problem(node.Scalar(), kMaxLabelBytes).empty()) {
        out.push_back(node.Scalar());
      } else {
        report_.complain(node, fmt::format("{} must be a label or a list of labels, each of at "
                                           "most {} bytes",
                                           key, kMaxLabelBytes));
      }
    }
  }

  // `a`, `[a, b]`, `[{job: a, when: any}]`.
  void dependencies(const char* key, std::vector<JobDependency>& out) {
    const Watch watch(*this, key);
    for (const YAML::Node& node : at().list(key)) {
      JobDependency& dependency = out.emplace_back();
      if (node.IsScalar()) {
        dependency.job = node.Scalar();
        continue;
      }
      YamlFields fields(report_, node, key);
      fields.require("job");
      dependency.job = fields.text("job");
      dependency.when = static_cast<DependencyCondition>(
          fields.choice("when", {std::begin(kConditionNames), std::end(kConditionNames)}, 0));
      fields.done();
    }
  }

  void fixed_replicas(const char* key, std::uint32_t& low, std::uint32_t& high) {
    const Watch watch(*this, key);
    if (!at().has(key)) return void(at().get(key));
    if (at().has("replica_policy")) complain(key, "stands beside replica_policy; leave one out");
    integer(key, low, 1, kMaxReplicas);
    high = low;
  }

  template <typename Visit>
  void group(const char* key, Visit visit) {
    const YAML::Node* const value = at().get(key);
    if (value == nullptr) return;
    enter(stack_.size() == 1 ? key : fmt::format("{}.{}", places_.back(), key), *value);
    if (is_map()) visit();
    leave();
  }

  // `key: 5` as `key: {inner: 5}`.
  template <typename Visit>
  void group_or_integer(const char* key, const char* inner, Visit visit) {
    const YAML::Node* const value = at().get(key);
    if (value == nullptr || !value->IsScalar()) return group(key, visit);
    YAML::Node map(YAML::NodeType::Map);
    map[inner] = *value;
    enter(key, map);
    visit();
    leave();
  }

 private:
  // Notes the field as unread when something is said of it.
  class Watch {
   public:
    Watch(YamlJob& job, const char* key) : job_(job), key_(key), before_(job.complaints_.count()) {}
    ~Watch() {
      if (job_.complaints_.count() == before_) return;
      const bool at_root = job_.stack_.size() == 1;
      job_.unread_.add(at_root ? key_ : fmt::format("{}.{}", job_.places_.back(), key_));
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    YamlJob& job_;
    const char* key_;
    long before_;
  };

  YamlFields& at() { return *stack_.back(); }
  const YamlFields& at() const { return *stack_.back(); }

  void enter(std::string what, const YAML::Node& node) {
    places_.push_back(what);
    stack_.push_back(std::make_unique<YamlFields>(report_, node, std::move(what)));
  }
  void leave() {
    at().done();
    stack_.pop_back();
    places_.pop_back();
  }

  void complain(const char* key, std::string_view what) {
    const YAML::Node* const value = at().get(key);
    report_.complain(value == nullptr ? root_ : *value,
                     fmt::format("{}.{} {}", places_.back(), key, what));
  }

  const std::string* scalar(const char* key) {
    const YAML::Node* const value = at().get(key);
    if (value == nullptr) return nullptr;
    if (value->IsScalar()) return &value->Scalar();
    at().refuse(key, "a single value");
    return nullptr;
  }

  YamlReport& report_;
  const Complaints& complaints_;
  const YAML::Node& root_;
  UnreadFields unread_;
  std::vector<std::unique_ptr<YamlFields>> stack_;
  std::vector<std::string> places_;
};

// The node nearest to a path such as "depends_on.2": the field, or what should hold it.
YAML::Node node_at(YAML::Node node, std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string key(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    YAML::Node next;
    std::size_t index = 0;
    const bool number =
        std::from_chars(key.data(), key.data() + key.size(), index).ec == std::errc();
    if (node.IsMap() && node[key]) {
      next.reset(node[key]);
    } else if (node.IsSequence() && number && index < node.size()) {
      next.reset(node[index]);
    } else {
      break;
    }
    node.reset(next);
  }
  return node;
}

Result<JobSpec> read(const YAML::Node& root, const std::string& file_name) {
  Complaints complaints;
  YamlReport report(file_name, complaints);
  YamlJob reader(report, complaints, root);
  JobSpec job;
  job.name = job_name_of(file_name);
  if (reader.has("service")) job.kind = WorkloadKind::kService;
  if (reader.is_map()) {
    visit_job(reader, job);
    reader.finish();
    for (const JobProblem& problem : check_job(job)) {
      if (reader.unread().touch(problem)) continue;
      report.complain(node_at(root, problem.field), problem.what);
    }
  }
  if (!complaints.empty()) return complaints.error(kHint);
  return job;
}

}  // namespace

Result<JobSpec> read_job_yaml(std::string_view text, const std::string& file_name) {
  const TextFile file{file_name, text};
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    return read(*root, file_name);
  } catch (const std::exception& exception) {
    return yaml_error(file_name, exception);
  }
}

}  // namespace weft::live

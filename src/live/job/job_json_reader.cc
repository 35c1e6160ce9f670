#include "live/job/job_json.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/delimited.h"
#include "live/job/job_check.h"
#include "live/job/job_fields.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

// One object and the members that were asked for.
struct Opened {
  const Json* json;
  std::string path;
  std::set<std::string> asked;
};

// The visitor of visit_job() that reads. A member that is not there, or not as it should be, keeps
// its default.
class JsonReader {
 public:
  JsonReader(const Json& json, Complaints& complaints) : complaints_(complaints) {
    enter(json, "");
  }

  const UnreadFields& unread() const { return unread_; }
  void finish() { leave(); }

  void version() {
    const Json* const found = find("v");
    if (found == nullptr) return refuse("v", "is missing; it must be 1");
    if (!found->is_number_integer() || *found != kJobJsonVersion) {
      refuse("v",
             fmt::format("is {}; this program reads version {}", seen(*found), kJobJsonVersion));
    }
  }

  void text(const std::string& key, std::string& out, std::size_t max_bytes) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return refuse_type(key, *found, "a string");
    const auto& value = found->get_ref<const std::string&>();
    if (const std::string why = text_problem(value, max_bytes); !why.empty()) {
      return refuse(key, why);
    }
    out = value;
  }

  template <typename Number>
  void integer(const std::string& key, Number& out, std::int64_t low, std::int64_t high) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    const bool fits = found->is_number_integer() &&
                      (!found->is_number_unsigned() ||
                       found->get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
    const std::int64_t value = fits ? found->get<std::int64_t>() : 0;
    if (fits && ((value >= low && value <= high) || value == static_cast<std::int64_t>(out))) {
      out = static_cast<Number>(value);
    } else {
      refuse_type(key, *found, fmt::format("a whole number from {} to {}", low, high));
    }
  }

  void number(const std::string& key, double& out, double low, double high) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    const double value = found->is_number() ? found->get<double>() : -1;
    if (found->is_number() && ((value >= low && value <= high) || value == out)) {
      out = value;
    } else {
      refuse_type(key, *found, fmt::format("a number from {:g} to {:g}", low, high));
    }
  }

  void flag(const std::string& key, bool& out) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return refuse_type(key, *found, "true or false");
    out = found->get<bool>();
  }

  template <typename Choice, std::size_t size>
  void choice(const std::string& key, Choice& out, const char* const (&names)[size]) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    for (std::size_t i = 0; i < size; ++i) {
      if (found->is_string() && found->get_ref<const std::string&>() == names[i]) {
        out = static_cast<Choice>(i);
        return;
      }
    }
    refuse_type(key, *found, fmt::format("one of {}", fmt::join(names, names + size, ", ")));
  }

  void seconds(const std::string& key, Seconds& out, Seconds high) {
    number(key + "_s", out, 0, high);
  }
  void size(const std::string& key, Bytes& out) {
    integer(key + "_bytes", out, 1, static_cast<std::int64_t>(kMaxMemory));
  }
  void rate(const std::string& key, double& out) {
    number(key + "_bytes_per_s", out, 1e-3, kMaxBandwidth);
  }
  void cores(const std::string& key, double& out, bool& or_more) {
    number(key, out, 0.001, kMaxCpus);
    flag(key + "_or_more", or_more);
  }
  void amount(const std::string& key, Bytes& out, bool& or_more) {
    size(key, out);
    flag(key + "_or_more", or_more);
  }

  void signal(const std::string& key, std::string& out) {
    std::string name = out;
    text(key, name, kMaxNameBytes);
    if (name != out && signal_name(name) != name) {
      return refuse(key, fmt::format("is {}; it must be {}, each with SIG in front", shown(name),
                                     signal_wanted()));
    }
    out = name;
  }

  void array(const std::string& key, JobArray& out) {
    std::string written;
    text(key, written, kMaxEnvBytes);
    if (written.empty()) return;
    Result<JobArray> array = parse_array(written);
    if (!array.ok())
      return refuse(key, fmt::format("is {}: {}", shown(written), array.error().what));
    out = std::move(*array);
  }

  void labels(const std::string& key, std::vector<std::string>& out) {
    each(key, kMaxLabels, [&](const Json& item) {
      if (!item.is_string()) return refuse_type(key, item, "a list of strings");
      out.push_back(item.get<std::string>());
      if (const auto why = text_problem(out.back(), kMaxLabelBytes); !why.empty()) {
        refuse(key, why);
      }
    });
  }

  void envs(const std::string& key, std::map<std::string, std::string>& out) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_object()) return refuse_type(key, *found, "an object");
    enter(*found, key);
    for (const auto& item : found->items()) {
      std::string value;
      text(item.key(), value, kMaxEnvBytes);
      out[item.key()] = std::move(value);
    }
    leave();
  }

  void accelerators(const std::string& key, std::vector<AcceleratorChoice>& out) {
    std::vector<AcceleratorChoice> read;
    each(key, kMaxAlternatives, [&](const Json& item) {
      AcceleratorChoice& choice = read.emplace_back();
      inside(item, key, [&] {
        text("type", choice.type, kMaxNameBytes);
        integer("count", choice.count, 1, Cluster::kMaxDevicesPerNode);
      });
    });
    if (stack_.back().json->contains(key) && read.empty()) return refuse(key, "is empty");
    if (!read.empty()) out = std::move(read);
  }

  void deadline(const std::string& key, JobDeadline& out) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    inside(*found, key, [&] {
      const bool after = find("after_s") != nullptr, at = find("at_unix_s") != nullptr;
      if (after && at) return refuse("after_s", "stands beside at_unix_s; leave one out");
      if (!after && !at) return;
      out.kind = after ? JobDeadline::Kind::kAfterSubmission : JobDeadline::Kind::kAt;
      number(after ? "after_s" : "at_unix_s", out.seconds, 0, after ? kMaxDuration : 1e12);
    });
  }

  void topology(const std::string& key, TopologyRule& out) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    inside(*found, key, [&] {
      const bool required = find("required") != nullptr, preferred = find("preferred") != nullptr;
      if (required && preferred) return refuse("required", "stands beside preferred");
      if (!required && !preferred) return;
      out.required = required;
      out.level.emplace();
      choice(required ? "required" : "preferred", *out.level, kLevelNames);
    });
  }

  void dependencies(const std::string& key, std::vector<JobDependency>& out) {
    each(key, kMaxDependencies, [&](const Json& item) {
      JobDependency& dependency = out.emplace_back();
      inside(item, key, [&] {
        text("job", dependency.job, kMaxNameBytes);
        choice("when", dependency.when, kConditionNames);
      });
    });
  }

  void fixed_replicas(const std::string&, std::uint32_t&, std::uint32_t&) {}

  template <typename Visit>
  void group(const std::string& key, Visit visit) {
    if (const Json* const found = find(key)) inside(*found, key, visit);
  }
  template <typename Visit>
  void group_or_integer(const std::string& key, const char*, Visit visit) {
    group(key, visit);
  }

 private:
  const Json* find(const std::string& key) {
    Opened& level = stack_.back();
    level.asked.insert(key);
    if (!level.json->is_object()) return nullptr;
    const auto found = level.json->find(key);
    return found == level.json->end() ? nullptr : &*found;
  }

  template <typename Visit>
  void inside(const Json& json, const std::string& key, Visit visit) {
    enter(json, key);
    if (json.is_object()) visit();
    leave();
  }

  // Each element of a list, of at most `limit`.
  template <typename Visit>
  void each(const std::string& key, std::size_t limit, Visit visit) {
    const Json* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return refuse_type(key, *found, "a list");
    if (found->size() > limit) {
      return refuse(key, fmt::format("has {} elements; the limit is {}", found->size(), limit));
    }
    for (const Json& item : *found) visit(item);
  }

  void enter(const Json& json, const std::string& key) {
    const std::string path =
        stack_.empty() || stack_.back().path.empty() ? key : stack_.back().path + "." + key;
    stack_.push_back({&json, path, {}});
    if (json.is_object()) return;
    complaints_.add(
        fmt::format("{} is {}; it must be an object", path.empty() ? "the job" : path, seen(json)));
    unread_.add(path);
  }

  void leave() {
    const Opened& level = stack_.back();
    for (const auto& item : level.json->items()) {
      if (!level.json->is_object() || level.asked.contains(item.key())) continue;
      // Looking for near misses costs, and only what is shown is worth it.
      const bool shows =
          complaints_.count() < Complaints::kShown && item.key().size() <= kMaxNameBytes;
      const std::string near =
          shows ? near_miss(item.key(), {level.asked.begin(), level.asked.end()}) : "";
      complaints_.add(fmt::format("{} has the unknown member {}{}",
                                  level.path.empty() ? "the job" : level.path, shown(item.key()),
                                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    stack_.pop_back();
  }

  static std::string seen(const Json& json) {
    if (json.is_string()) return shown(json.get_ref<const std::string&>());
    return json.is_structured() ? json.type_name() : json.dump();
  }

  void refuse(const std::string& key, const std::string& what) {
    const std::string& above = stack_.back().path;
    const std::string path = above.empty() ? key : above + "." + key;
    complaints_.add(fmt::format("{} {}", path, what));
    unread_.add(path);
  }
  void refuse_type(const std::string& key, const Json& json, std::string_view wanted) {
    refuse(key, fmt::format("is {}; it must be {}", seen(json), wanted));
  }

  Complaints& complaints_;
  UnreadFields unread_;
  std::vector<Opened> stack_;
};

}  // namespace

Result<JobSpec> spec_from_json(const Json& json) {
  Complaints complaints;
  JobSpec job;
  JsonReader reader(json, complaints);
  if (json.is_object()) {
    reader.version();
    visit_job(reader, job);
    reader.finish();
    for (const JobProblem& problem : check_job(job)) {
      if (!reader.unread().touch(problem)) complaints.add(problem.what);
    }
  }
  if (!complaints.empty()) return complaints.error("the members are described in docs/jobs.md");
  return job;
}

}  // namespace weft::live

#include <nlohmann/json.hpp>
#include <span>

#include "base/check.h"
#include "live/job/job_fields.h"
#include "live/job/job_json.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

// The visitor of visit_job() that writes.
class JsonWriter {
 public:
  explicit JsonWriter(Json& out) : at_(&out) {}

  void text(const char* key, const std::string& value, std::size_t) { (*at_)[key] = value; }
  template <typename Number>
  void integer(const char* key, Number value, std::int64_t, std::int64_t) {
    (*at_)[key] = value;
  }
  void number(const char* key, double value, double, double) { (*at_)[key] = value; }
  void flag(const char* key, bool value) { (*at_)[key] = value; }
  template <typename Choice, std::size_t size>
  void choice(const char* key, Choice value, const char* const (&names)[size]) {
    named(key, names, static_cast<std::size_t>(value));
  }
  void seconds(const char* key, Seconds value, Seconds) { (*at_)[key + std::string("_s")] = value; }
  void size(const char* key, Bytes value) { (*at_)[key + std::string("_bytes")] = value; }
  void rate(const char* key, double value) { (*at_)[key + std::string("_bytes_per_s")] = value; }
  void cores(const char* key, double value, bool or_more) {
    (*at_)[key] = value;
    (*at_)[key + std::string("_or_more")] = or_more;
  }
  void amount(const char* key, Bytes value, bool or_more) {
    size(key, value);
    (*at_)[key + std::string("_or_more")] = or_more;
  }
  void signal(const char* key, const std::string& value) { (*at_)[key] = value; }
  void array(const char* key, const JobArray& value) { (*at_)[key] = array_text(value); }
  void labels(const char* key, const std::vector<std::string>& value) { (*at_)[key] = value; }
  void envs(const char* key, const std::map<std::string, std::string>& value) {
    (*at_)[key] = value;
  }
  void accelerators(const char* key, const std::vector<AcceleratorChoice>& value) {
    Json& list = (*at_)[key] = Json::array();
    for (const AcceleratorChoice& choice : value) {
      list.push_back({{"type", choice.type}, {"count", choice.count}});
    }
  }
  void deadline(const char* key, const JobDeadline& value) {
    Json& out = (*at_)[key] = Json::object();
    if (value.kind == JobDeadline::Kind::kAfterSubmission) out["after_s"] = value.seconds;
    if (value.kind == JobDeadline::Kind::kAt) out["at_unix_s"] = value.seconds;
  }
  void topology(const char* key, const TopologyRule& value) {
    Json& out = (*at_)[key] = Json::object();
    if (!value.level) return;
    out[value.required ? "required" : "preferred"] = kLevelNames[static_cast<int>(*value.level)];
  }
  void dependencies(const char* key, const std::vector<JobDependency>& value) {
    Json& list = (*at_)[key] = Json::array();
    for (const JobDependency& dependency : value) {
      list.push_back(
          {{"job", dependency.job}, {"when", kConditionNames[static_cast<int>(dependency.when)]}});
    }
  }
  void fixed_replicas(const char*, std::uint32_t, std::uint32_t) {}  // in replica_policy

  template <typename Visit>
  void group(const char* key, Visit visit) {
    Json* const outer = at_;
    at_ = &((*at_)[key] = Json::object());
    visit();
    at_ = outer;
  }
  template <typename Visit>
  void group_or_integer(const char* key, const char*, Visit visit) {
    group(key, visit);
  }

 private:
  // Apart from choice(), whose copies for lists of different lengths the compiler would merge.
  void named(const char* key, std::span<const char* const> names, std::size_t index) {
    CHECK(index < names.size());
    (*at_)[key] = names[index];
  }

  Json* at_;
};

}  // namespace

Json to_json(const JobSpec& job) {
  Json json = {{"v", kJobJsonVersion}};
  JsonWriter writer(json);
  visit_job(writer, job);
  return json;
}

}  // namespace weft::live

#include "live/daemon/queue_quotas.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "live/daemon/yaml_file.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

constexpr std::size_t kMostQueues = 1000;
constexpr double kMostShare = 1e9;

class QuotaReader {
 public:
  explicit QuotaReader(const std::string& path) : wrong_(path) {}

  Result<QueueQuotas> read(const YAML::Node& root) {
    if (!root.IsMap() || root.size() != 1 || !root["queues"] || !root["queues"].IsMap()) {
      complain(root, "must be a map with 'queues' alone");
    } else if (root["queues"].size() == 0 || root["queues"].size() > kMostQueues) {
      complain(root, fmt::format("must have 1 to {} queues", kMostQueues));
    } else {
      for (const auto& entry : root["queues"]) read_queue(entry.first, entry.second);
    }
    if (std::all_of(shares_.begin(), shares_.end(), [](double share) { return share == 0; }) &&
        wrong_.empty()) {
      complain(root, "some share must be above 0");
    }
    if (!wrong_.empty()) return wrong_.error();
    out_.policy =
        fmt::format("name: quota\nallocate: {{part: quota, shares: [{}], cohorts: [{}]}}\n",
                    fmt::join(shares_, ", "), fmt::join(cohorts_, ", "));
    return out_;
  }

 private:
  void complain(const YAML::Node& node, const std::string& what) { wrong_.add(node, what); }

  void read_queue(const YAML::Node& key, const YAML::Node& value) {
    const std::string name = key.IsScalar() ? key.Scalar() : "";
    if (!is_plain_name(name)) return complain(key, fmt::format("'{}' is no name of a queue", name));
    if (std::find(out_.queues.begin(), out_.queues.end(), name) != out_.queues.end()) {
      return complain(key, fmt::format("queue {} is there twice", name));
    }
    double share = -1;
    int cohort = 0;
    if (value.IsMap()) {
      for (const auto& field : value) read_field(field.first, field.second, share, cohort);
    }
    if (share < 0) complain(key, fmt::format("queue {} needs a share from 0 to 1e9", name));
    out_.queues.push_back(name);
    shares_.push_back(share);
    cohorts_.push_back(cohort);
  }

  void read_field(const YAML::Node& key, const YAML::Node& value, double& share, int& cohort) {
    const std::string field = key.IsScalar() ? key.Scalar() : "";
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    if (field == "share") {
      double number = -1;
      if (YAML::convert<double>::decode(value, number) && number >= 0 && number <= kMostShare) {
        share = number;
      }
    } else if (field == "cohort" && is_plain_name(text)) {
      const auto known = std::find(names_.begin(), names_.end(), text);
      cohort = static_cast<int>(known - names_.begin()) + 1;  // 0: those without
      if (known == names_.end()) names_.push_back(text);
    } else {
      complain(key, fmt::format("'{}' is no field of a queue; share and cohort are", field));
    }
  }

  Complaints wrong_;
  QueueQuotas out_;
  std::vector<double> shares_;
  std::vector<int> cohorts_;
  std::vector<std::string> names_;
};

}  // namespace

Result<QueueQuotas> parse_quotas(const std::string& yaml, const std::string& path) {
  return read_yaml(yaml, path,
                   [&](const YAML::Node& root) { return QuotaReader(path).read(root); });
}

Status check_numbers(const std::vector<std::string>& queues, const Board& board) {
  Status fits;
  board.any([&](const JobView& job) {
    const auto at = std::find(queues.begin(), queues.end(), job.queue);
    const auto number = static_cast<std::size_t>(at - queues.begin());
    const bool taken = at == queues.end() && job.tenant < queues.size();
    if (!taken && (at == queues.end() || number == job.tenant)) return false;
    fits = Error{ErrorKind::kInvalidInput,
                 fmt::format("the journal knows queue {} as number {} of the quotas, where '{}' is",
                             job.queue, job.tenant + 1,
                             job.tenant < queues.size() ? queues[job.tenant] : "nothing"),
                 "keep the order of queues; new ones go to the end"};
    return true;
  });
  return fits;
}

}  // namespace weft::live

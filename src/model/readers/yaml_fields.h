// YAML maps with checked values: in range, or a complaint with file, line, value and limit.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/readers/table_reader.h"

namespace weft {

// Where complaints about one file go, and how much of it may still be looked at: aliases let a
// small file stand for a huge one.
class YamlReport {
 public:
  // Requires: the complaints outlive the report.
  YamlReport(std::string path, Complaints& complaints)
      : path_(std::move(path)), complaints_(complaints) {}

  void complain(const YAML::Node& node, std::string_view sentence);
  // Counts one look at a key or an element; false, with one complaint, once there were too many.
  bool visit(const YAML::Node& node);

 private:
  static constexpr long kMostVisits = 10'000'000;
  std::string path_;
  Complaints& complaints_;
  long visits_ = 0;
};

// The root of a file that holds one document. Catches what the parser throws; refuses texts whose
// tree would need far more memory than they have bytes.
Result<YAML::Node> load_yaml(const TextFile& file);
// What a library's exception that got past load_yaml() means to the user.
Error yaml_error(const std::string& path, const std::exception& exception);
inline constexpr std::uint64_t kMaxYamlBytes = std::uint64_t{16} << 20;

// One map. Every get marks its key as known; done() complains of the others.
// Requires: the report, and every key asked for, outlive this object.
class YamlFields {
 public:
  // Complains, and holds nothing, when `node` is not a map. `what` names the map in complaints.
  YamlFields(YamlReport& report, const YAML::Node& node, std::string what);

  // Whether the node was a map; if not, that is the only complaint there should be.
  bool is_map() const { return is_map_; }
  bool has(std::string_view key) const;
  // In the order of the file.
  std::vector<std::string> keys() const;
  // The value of a key; null when there is none.
  const YAML::Node* get(std::string_view key);

  std::string text(std::string_view key, std::string fallback = "");
  double number(std::string_view key, double fallback, const Limits& limits);
  std::optional<double> optional_number(std::string_view key, const Limits& limits);
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                       std::int64_t high);
  bool flag(std::string_view key, bool fallback);
  // Index of the value among `choices`.
  int choice(std::string_view key, const std::vector<std::string>& choices, int fallback);
  // Elements of a list; one element when the value is not a list; none when the key is absent.
  std::vector<YAML::Node> list(std::string_view key);

  void complain(std::string_view sentence) { report_.complain(node_, sentence); }
  // "what.key is 'value'; it must be `wanted`". Requires: has(key).
  void refuse(std::string_view key, std::string_view wanted);
  void require(std::string_view key);
  // Complains of keys that nobody asked for, with the nearest that somebody did.
  void done();

 private:
  struct Entry {
    std::string key;
    YAML::Node value;
    bool known = false;
  };
  // The scalar text of a key; null when absent; a complaint when it is not a scalar.
  const std::string* scalar(std::string_view key);

  YamlReport& report_;
  YAML::Node node_;
  std::string what_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> asked_;
  bool is_map_ = false;
};

}  // namespace weft

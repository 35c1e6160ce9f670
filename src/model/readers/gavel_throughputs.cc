#include "model/readers/gavel_throughputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "model/readers/trace_builder.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxThroughputsBytes = std::uint64_t{64} << 20;
constexpr std::string_view kSpread = "_unconsolidated";
constexpr Limits kSpeedLimits{0, 1e9};
constexpr PairSpeed kNeverTogether{0, 0, 0};

// "('ResNet-18 (batch size 16)', 1)", a Python tuple printed as text.
std::optional<GavelKey> parse_key(std::string_view text) {
  if (!text.starts_with("('") || !text.ends_with(")")) return std::nullopt;
  const std::size_t middle = text.rfind("', ");
  if (middle == std::string_view::npos || middle < 2) return std::nullopt;
  const auto scale = parse_integer(text.substr(middle + 3, text.size() - middle - 4));
  if (!scale || *scale < 1 || *scale > kMaxJobDevices) return std::nullopt;
  return GavelKey{std::string(text.substr(2, middle - 2)), static_cast<std::uint32_t>(*scale)};
}

// Takes the parser's events, so that a file of any shape costs no more memory than its table.
class TableHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  TableHandler(const std::string& path, GavelThroughputs& table) : path_(path), table_(table) {}
  const std::string& problem() const { return problem_; }

  bool start_object(std::size_t) override {
    return depth_ == 3 || in_pair_ ? wrong("holds an object where a speed is expected")
                                   : (++depth_, true);
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& text) override {
    path_at_[static_cast<std::size_t>(depth_) - 1] = text;
    if (depth_ == 1) {
      type_ = &table_.types[text];
      return true;
    }
    alone_ = depth_ == 3 && text == "null";
    if (alone_) return true;
    const auto key = parse_key(text);
    if (!key) return wrong("is not a key such as \"('ResNet-18 (batch size 16)', 1)\"");
    if (depth_ == 2) speeds_ = &(*type_)[*key];
    partner_ = *key;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 3 || in_pair_ || alone_) return wrong("holds a list where none is expected");
    in_pair_ = true;
    pair_.clear();
    return true;
  }
  bool end_array() override {
    in_pair_ = false;
    if (pair_.size() != 2) return wrong(fmt::format("has {} speeds; 2 are needed", pair_.size()));
    speeds_->beside[partner_] = {pair_[0], pair_[1]};
    return true;
  }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool null() override { return wrong("is null; a speed is needed"); }
  bool boolean(bool) override { return wrong("is true or false; a speed is needed"); }
  bool string(std::string&) override { return wrong("is text; a speed is needed"); }
  bool binary(nlohmann::json::binary_t&) override { return wrong("is binary"); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    // The library's text reads "[json.exception.parse_error.101] parse error at line 1, …".
    const std::string_view text = error.what();
    problem_ =
        fmt::format("{}: {}", path_, text.substr(std::min(text.size(), text.find("] ") + 2)));
    return false;
  }

 private:
  bool number(double value) {
    if (depth_ != 3 || !(in_pair_ || alone_)) return wrong("is a number in an unexpected place");
    if (!std::isfinite(value) || !kSpeedLimits.admits(value)) {
      return wrong(fmt::format("is {:g}; it must be a number {}", value, kSpeedLimits.text()));
    }
    if (alone_) {
      speeds_->alone = value;
    } else if (pair_.size() < 3) {
      pair_.push_back(value);
    }
    return true;
  }
  bool wrong(std::string_view what) {
    std::string where;
    for (int i = 0; i < depth_; ++i)
      where += fmt::format(" / {}", path_at_[static_cast<size_t>(i)]);
    problem_ = fmt::format("{}:{} {}", path_, where.empty() ? " the file" : where.substr(2), what);
    return false;
  }

  const std::string& path_;
  GavelThroughputs& table_;
  std::string problem_;
  int depth_ = 0;
  bool in_pair_ = false, alone_ = false;
  std::string path_at_[3];
  std::map<GavelKey, GavelSpeeds>* type_ = nullptr;
  GavelSpeeds* speeds_ = nullptr;
  GavelKey partner_;
  std::vector<double> pair_;
};

const std::map<GavelKey, GavelSpeeds>* find_table(const GavelThroughputs& table,
                                                  std::string_view type) {
  for (const auto& [name, speeds] : table.types) {
    if (same_ignoring_case(name, type)) return &speeds;
  }
  return nullptr;
}

std::vector<std::vector<PairSpeed>> pairs_of(const std::map<GavelKey, GavelSpeeds>& table,
                                             const std::vector<GavelKey>& keys) {
  std::vector<std::vector<PairSpeed>> speed(keys.size(), {keys.size(), kNeverTogether});
  for (std::size_t a = 0; a < keys.size(); ++a) {
    const auto own = table.find(keys[a]);
    if (own == table.end() || own->second.alone <= 0) continue;
    for (std::size_t b = 0; b < keys.size(); ++b) {
      const auto beside = own->second.beside.find(keys[b]);
      const auto other = table.find(keys[b]);
      if (beside == own->second.beside.end() || other == table.end()) continue;
      const auto [first, second] = beside->second;
      // Zeros mark pairs that ran out of device memory.
      if (first <= 0 || second <= 0 || other->second.alone <= 0) continue;
      speed[a][b] = {first / own->second.alone, second / other->second.alone, 0};
    }
  }
  return speed;
}

}  // namespace

std::string GavelKey::text() const { return fmt::format("('{}', {})", job_type, scale); }

const GavelSpeeds* GavelThroughputs::find(std::string_view type, const GavelKey& key) const {
  const auto* const table = find_table(*this, type);
  if (table == nullptr) return nullptr;
  const auto it = table->find(key);
  return it == table->end() ? nullptr : &it->second;
}

std::vector<GavelKey> GavelThroughputs::keys() const {
  std::set<GavelKey> all;
  for (const auto& [type, speeds] : types) {
    for (const auto& [key, speed] : speeds) all.insert(key);
  }
  return {all.begin(), all.end()};
}

std::vector<std::string> GavelThroughputs::type_names() const {
  std::vector<std::string> names;
  for (const auto& [type, speeds] : types) {
    if (!type.ends_with(kSpread)) names.push_back(type);
  }
  return names;
}

Menu GavelThroughputs::make_menu(const GavelKey& key, const Cluster& cluster) const {
  Menu menu;
  for (std::size_t type = 0; type < cluster.types.size(); ++type) {
    const std::string& name = cluster.types[type].name;
    const GavelSpeeds* const packed = find(name, key);
    if (packed == nullptr || packed->alone <= 0) continue;
    const GavelSpeeds* const spread = find(name + std::string(kSpread), key);
    Configuration configuration;
    configuration.type = static_cast<TypeId>(type);
    configuration.devices = key.scale;
    configuration.rate = packed->alone;
    configuration.scattered_rate = spread == nullptr ? 0 : spread->alone;
    menu.configurations.push_back(std::move(configuration));
  }
  return menu;
}

PairTable GavelThroughputs::make_pairs(const Cluster& cluster) const {
  PairTable pairs;
  const std::vector<GavelKey> all = keys();
  for (const GavelKey& key : all) pairs.models.push_back({key.text(), 0, 0, 0});
  for (const DeviceType& type : cluster.types) {
    const auto* const table = find_table(*this, type.name);
    pairs.speed_on_type.emplace_back();
    if (table != nullptr) pairs.speed_on_type.back() = pairs_of(*table, all);
  }
  pairs.speed.assign(all.size(), {all.size(), kNeverTogether});
  return pairs;
}

Result<GavelThroughputs> parse_gavel_throughputs(const TextFile& file) {
  GavelThroughputs table;
  TableHandler handler(file.path, table);
  try {
    nlohmann::json::sax_parse(file.text.begin(), file.text.end(), &handler);
  } catch (const std::exception& error) {
    return Error{ErrorKind::kInvalidInput, fmt::format("{}: {}", file.path, error.what()), ""};
  }
  if (!handler.problem().empty()) {
    return Error{ErrorKind::kInvalidInput, handler.problem(),
                 "Gavel's throughput table is described in docs/formats.md"};
  }
  constexpr std::size_t kMostKeys = 1024;  // the pair table is dense
  if (table.keys().empty() || table.keys().size() > kMostKeys) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: holds {} job types; it must hold 1 to {}", file.path,
                             table.keys().size(), kMostKeys),
                 ""};
  }
  return table;
}

Result<GavelThroughputs> read_gavel_throughputs(const std::string& trace_path,
                                                const std::string& profiles) {
  std::string path = profiles;
  if (profiles.empty() || is_folder(profiles)) {
    const std::string folder = profiles.empty() ? folder_of(trace_path) : profiles;
    path.clear();
    for (const char* const name : {"simulation_throughputs.json", "throughputs.json"}) {
      if (path.empty() && is_file(path_in(folder, name))) path = path_in(folder, name);
    }
    if (path.empty()) {
      return Error{ErrorKind::kNotFound,
                   fmt::format("{}: no simulation_throughputs.json in {}", trace_path, folder),
                   "name the throughput table with --profiles FILE"};
    }
  }
  Result<std::string> text = read_file(path, kMaxThroughputsBytes);
  if (!text.ok()) return text.error();
  return parse_gavel_throughputs({path, *text});
}

}  // namespace weft

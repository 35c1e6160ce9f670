#include "sim/outage_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/delimited.h"
#include "base/files.h"

namespace weft {
namespace {

class OutageReader {
 public:
  OutageReader(const std::string& text, const std::string& path, const Cluster& cluster)
      : scanner_(text, {',', true, '#'}), path_(path), cluster_(cluster) {
    for (NodeId id = 0; id < cluster.nodes.size(); ++id) names_[cluster.nodes[id].name] = id;
  }

  Result<std::vector<Outage>> read() {
    if (!header()) {
      return Error{
          ErrorKind::kInvalidInput,
          fmt::format("{}:1: the header must be at_s,node,duration_s[,notice_s][,device]", path_),
          ""};
    }
    std::vector<Outage> outages;
    while (scanner_.next()) outages.push_back(row());
    if (!complaints_.empty()) return complaints_.error();
    std::stable_sort(outages.begin(), outages.end(),
                     [](const Outage& a, const Outage& b) { return a.at < b.at; });
    return outages;
  }

 private:
  bool header() {
    if (!scanner_.next()) return false;
    const auto fields = scanner_.fields();
    columns_ = fields.size();
    if (columns_ < 3 || fields[0] != "at_s" || fields[1] != "node" || fields[2] != "duration_s") {
      return false;
    }
    for (size_t i = 3; i < columns_; ++i) {
      size_t& column = fields[i] == "device" ? device_ : notice_;
      if (column != 0 || (fields[i] != "device" && fields[i] != "notice_s")) return false;
      column = i;
    }
    return true;
  }

  Outage row() {
    Outage outage;
    const auto fields = scanner_.fields();
    if (fields.size() < 3 || fields.size() > columns_) {
      complain(fmt::format("{} columns; the header has {}", fields.size(), columns_));
      return outage;
    }
    number(0, "at_s", outage.at);
    node(fields[1], outage);
    number(2, "duration_s", outage.duration);
    if (notice_ != 0 && notice_ < fields.size()) number(notice_, "notice_s", outage.notice);
    if (device_ != 0 && device_ < fields.size()) device(fields[device_], outage);
    return outage;
  }

  void number(size_t column, const char* name, Seconds& out) {
    const auto value = parse_number(scanner_.fields()[column]);
    if (value && *value >= 0 && *value <= 1e12) {
      out = *value;
    } else {
      complain(fmt::format("{} is {}; it must be a number from 0 to 1e12", name,
                           shown(scanner_.fields()[column])));
    }
  }

  void node(std::string_view text, Outage& outage) {
    const auto named = names_.find(text);
    const auto id = parse_integer(text);
    if (named != names_.end()) {
      outage.node = named->second;
    } else if (id && *id >= 0 && *id < static_cast<std::int64_t>(cluster_.nodes.size())) {
      outage.node = static_cast<NodeId>(*id);
    } else {
      complain(fmt::format("node {} is neither a name nor a number below {}", shown(text),
                           cluster_.nodes.size()));
    }
  }

  void device(std::string_view text, Outage& outage) {
    if (text.empty()) return;
    const Node& node = cluster_.nodes[outage.node];
    const auto id = parse_integer(text);
    if (id && *id >= 0 && *id < node.devices) {
      outage.device = node.first_device + static_cast<DeviceId>(*id);
    } else {
      complain(
          fmt::format("device is {}; it must be empty or a number below {}, the devices of "
                      "node {}",
                      shown(text), node.devices, node.name));
    }
  }

  void complain(const std::string& what) {
    complaints_.add(fmt::format("{}:{}: {}", path_, scanner_.line(), what));
  }

  DelimitedScanner scanner_;
  const std::string& path_;
  const Cluster& cluster_;
  std::map<std::string, NodeId, std::less<>> names_;
  Complaints complaints_;
  size_t columns_ = 0, notice_ = 0, device_ = 0;  // 0: no such column
};

}  // namespace

Result<std::vector<Outage>> parse_outages(const std::string& text, const std::string& path,
                                          const Cluster& cluster) {
  return OutageReader(text, path, cluster).read();
}

Result<std::vector<Outage>> read_outages(const std::string& path, const Cluster& cluster) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  auto text = read_file(path, kMaxBytes);
  if (!text.ok()) return text.error();
  return parse_outages(*text, path, cluster);
}

}  // namespace weft

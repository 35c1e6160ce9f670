#include "fault_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/delimited.h"
#include "base/files.h"

namespace weft {

Result<std::vector<Outage>> read_outages(const std::string& path, const Cluster& cluster) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  auto text = read_file(path, kMaxBytes);
  if (!text.ok()) return text.error();
  std::map<std::string, NodeId, std::less<>> names;
  for (NodeId id = 0; id < cluster.nodes.size(); ++id) names[cluster.nodes[id].name] = id;
  DelimitedScanner scanner(*text, {',', true, '#'});
  Complaints complaints;
  std::vector<Outage> outages;
  if (!scanner.next() || scanner.fields().size() < 3 || scanner.fields()[0] != "at_s" ||
      scanner.fields()[1] != "node" || scanner.fields()[2] != "duration_s") {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:1: the header must be at_s,node,duration_s[,notice_s]", path), ""};
  }
  while (scanner.next()) {
    const auto fields = scanner.fields();
    if (fields.size() < 3 || fields.size() > 4) {
      complaints.add(fmt::format("{}:{}: {} columns; 3 or 4 are allowed", path, scanner.line(),
                                 fields.size()));
      continue;
    }
    Outage outage;
    const auto number = [&](size_t column, const char* name, Seconds& out) {
      const auto value = parse_number(fields[column]);
      if (value && *value >= 0 && *value <= 1e12) {
        out = *value;
      } else {
        complaints.add(fmt::format("{}:{}: {} is '{}'; it must be a number from 0 to 1e12", path,
                                   scanner.line(), name, shown(fields[column])));
      }
    };
    number(0, "at_s", outage.at);
    number(2, "duration_s", outage.duration);
    if (fields.size() == 4) number(3, "notice_s", outage.notice);
    const auto named = names.find(fields[1]);
    const auto id = parse_integer(fields[1]);
    if (named != names.end()) {
      outage.node = named->second;
    } else if (id && *id >= 0 && *id < static_cast<std::int64_t>(cluster.nodes.size())) {
      outage.node = static_cast<NodeId>(*id);
    } else {
      complaints.add(fmt::format("{}:{}: node '{}' is neither a name nor a number below {}", path,
                                 scanner.line(), shown(fields[1]), cluster.nodes.size()));
    }
    outages.push_back(outage);
  }
  if (!complaints.empty()) return complaints.error();
  std::stable_sort(outages.begin(), outages.end(),
                   [](const Outage& a, const Outage& b) { return a.at < b.at; });
  return outages;
}

}  // namespace weft

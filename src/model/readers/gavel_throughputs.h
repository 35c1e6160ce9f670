// Gavel's table of measured speeds (Narayanan et al., OSDI '20): for each device type and each
// (job type, scale), steps per second alone and beside each partner.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pairs.h"
#include "model/readers/table_reader.h"
#include "model/workload.h"

namespace weft {

// A job type and the number of devices it was measured on.
struct GavelKey {
  std::string job_type;
  std::uint32_t scale = 1;
  auto operator<=>(const GavelKey&) const = default;
  std::string text() const;
};

struct GavelSpeeds {
  double alone = 0;                                      // steps per second; 0: does not run there
  std::map<GavelKey, std::pair<double, double>> beside;  // own and the partner's steps per second
};

struct GavelThroughputs {
  // By device type as the file spells it; "<type>_unconsolidated" is for devices spread over nodes.
  std::map<std::string, std::map<GavelKey, GavelSpeeds>> types;

  // Speeds on a device type, whatever the case of its name; null: not measured.
  const GavelSpeeds* find(std::string_view type, const GavelKey& key) const;
  // Every key of every type, ascending; the index is the ModelId of make_pairs().
  std::vector<GavelKey> keys() const;
  // One configuration for each type of the cluster on which the key runs, in the cluster's order.
  Menu make_menu(const GavelKey& key, const Cluster& cluster) const;
  // Speeds beside a partner relative to alone, for each type of the cluster.
  PairTable make_pairs(const Cluster& cluster) const;
  // Device types without the spread ones, for messages.
  std::vector<std::string> type_names() const;
};

// Parses the JSON. Cost: O(bytes log keys); nothing but the table is kept.
Result<GavelThroughputs> parse_gavel_throughputs(const TextFile& file);

// The table for a trace: `profiles` (a file, or a folder that holds one of the usual names), or
// when it is empty the folder of `trace_path`.
Result<GavelThroughputs> read_gavel_throughputs(const std::string& trace_path,
                                                const std::string& profiles);

}  // namespace weft

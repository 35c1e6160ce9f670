#include "model/readers/load_reader.h"

#include <fmt/core.h>

#include "base/files.h"
#include "model/readers/trace_builder.h"

namespace weft {

Result<std::vector<LoadStep>> parse_load(const TextFile& file) {
  Complaints complaints;
  TableReader rows(file, {',', true, '#'}, complaints);
  const int at = rows.column("at_s"), load = rows.column("requests_per_s");
  std::vector<LoadStep> steps;
  if (rows.require({"at_s", "requests_per_s"})) {
    while (rows.next()) {
      const LoadStep step{rows.number(at, kTimeLimits), rows.number(load, kLoadLimits)};
      if (!steps.empty() && step.at <= steps.back().at) {
        rows.refuse(at, fmt::format("above {:g}, the time of the row before", steps.back().at));
      }
      steps.push_back(step);
    }
  }
  if (complaints.empty() && steps.empty()) complain(complaints, file.path, 1, "holds no load");
  if (!complaints.empty()) return complaints.error("load files are described in docs/formats.md");
  return steps;
}

Result<std::vector<LoadStep>> read_load(const std::string& trace_path, const std::string& name) {
  constexpr std::uint64_t kMaxLoadBytes = std::uint64_t{64} << 20;
  const std::string path = path_in(folder_of(trace_path), name);
  const Result<std::string> text = read_file(path, kMaxLoadBytes);
  if (!text.ok()) return text.error();
  const TextFile file{path, *text};
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  return parse_load(file);
}

}  // namespace weft

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/files.h"
#include "model/readers/alibaba_reader.h"
#include "model/readers/gavel_reader.h"
#include "model/readers/model_draw.h"
#include "model/readers/pairs_reader.h"
#include "model/readers/philly_reader.h"
#include "model/readers/shockwave_reader.h"
#include "model/readers/sia_reader.h"
#include "model/readers/trace_text.h"
#include "model/readers/weft_csv_reader.h"
#include "model/readers/weft_yaml_reader.h"

namespace weft {
namespace {

struct Input {
  const TextFile& file;
  const Cluster& cluster;
  const TraceOptions& options;
  std::shared_ptr<const PairTable> pairs;  // null: none were given
};

struct Format {
  std::string name;
  bool own_profiles;  // reads TraceOptions::profiles itself; for the others it is a pair table
  std::function<Result<Trace>(const Input&)> read;
};

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"weft-csv", false,
       [](const Input& in) { return parse_weft_csv(in.file, in.cluster, in.pairs); }},
      {"weft-yaml", false,
       [](const Input& in) { return parse_weft_yaml(in.file, in.cluster, in.pairs); }},
      {"philly", false, [](const Input& in) { return parse_philly(in.file); }},
      {"gavel", true, [](const Input& in) { return read_gavel(in.file, in.cluster, in.options); }},
      {"shockwave", true,
       [](const Input& in) { return read_shockwave(in.file, in.cluster, in.options); }},
      {"sia", true, [](const Input& in) { return read_sia(in.file, in.cluster, in.options); }},
      {"alibaba", false, [](const Input& in) { return parse_alibaba_pods(in.file, in.cluster); }},
  };
  return kFormats;
}

Error unknown_format(const std::string& path, const std::string& what) {
  return Error{
      ErrorKind::kInvalidInput, fmt::format("{}: {}", path, what),
      fmt::format("formats are {}; docs/formats.md shows each", fmt::join(trace_formats(), ", "))};
}

// The first line that is neither blank nor a comment.
std::string_view first_line(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#') return text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// A trace that names no models may still be run beside a pair table: each job draws its model, all
// rows being equally likely, as Lucid's authors do for traces that tell nothing about models.
void draw_models(Trace& trace, const std::shared_ptr<const PairTable>& pairs) {
  ModelDraw draw;
  const auto models = static_cast<std::uint32_t>(pairs->models.size());
  trace.pairs = pairs;
  for (TraceJob& job : trace.jobs) {
    auto drawn = std::make_shared<Submission>(*job.submission);
    drawn->model = static_cast<ModelId>(draw.below(models));
    job.submission = std::move(drawn);
  }
}

bool names_models(const Trace& trace) {
  return std::any_of(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob& job) { return job.submission->model != kNoModel; });
}

}  // namespace

std::string detect_trace_format(const TextFile& file) {
  std::string_view line = first_line(file.text);
  const auto has = [&line](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  };
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs == 11) return "shockwave";
  if (tabs == 8 || tabs == 9) return "gavel";
  if (has("timestamp,") && has("num_gpus")) return "philly";
  if (has("job_id") && has("num_gpus") && has("submit_s")) return "philly";
  if (has("gpu_milli") && has("creation_time")) return "alibaba";
  if (has("application") && has("num_replicas")) return "sia";
  if (has("submit_s") && has("devices") && has(",")) return "weft-csv";
  const bool yaml = file.path.ends_with(".yaml") || file.path.ends_with(".yml");
  if (yaml || line.starts_with("jobs:") || line.starts_with("---") || line.starts_with("{")) {
    return "weft-yaml";
  }
  return "";
}

Result<Trace> parse_trace_text(const TextFile& file, const Cluster& cluster,
                               const TraceOptions& options) {
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  const std::string name = options.format == "auto" ? detect_trace_format(file) : options.format;
  const auto& all = formats();
  const auto format =
      std::find_if(all.begin(), all.end(), [&](const Format& f) { return f.name == name; });
  if (format == all.end()) {
    return unknown_format(file.path, name.empty()
                                         ? fmt::format("the format is not recognised; it begins {}",
                                                       shown(first_line(file.text)))
                                         : fmt::format("format '{}' is not known", name));
  }
  std::shared_ptr<const PairTable> pairs;
  if (!format->own_profiles && !options.profiles.empty()) {
    Result<PairTable> table = read_lucid_pairs(options.profiles);
    if (!table.ok()) return table.error();
    pairs = std::make_shared<const PairTable>(std::move(*table));
  }
  Result<Trace> trace = format->read({file, cluster, options, pairs});
  if (trace.ok() && pairs != nullptr && !names_models(*trace)) draw_models(*trace, pairs);
  return trace;
}

Result<Trace> read_trace(const std::string& path, const Cluster& cluster,
                         const TraceOptions& options) {
  const Result<std::string> text = read_file(path, kMaxTraceBytes);
  if (!text.ok()) return text.error();
  return parse_trace_text({path, *text}, cluster, options);
}

std::vector<std::string> trace_formats() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.push_back(format.name);
  return names;
}

}  // namespace weft

#include "trace_source.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "model/generator.h"

namespace weft {

namespace {

Result<Trace> generated(const std::string& text, const Cluster& cluster, std::uint64_t seed) {
  auto spec = parse_generator(text);
  if (!spec.ok()) return spec.error();
  GeneratorReport report;
  auto trace = generate(*spec, cluster, spec->seed + seed - 1, &report);
  if (trace.ok() && report.capped > 0) {
    std::fputs(
        fmt::format("weft sim: {}: {} of {} jobs asked for more devices than {} has and were "
                    "made smaller\n",
                    text, report.capped, trace->jobs.size(), cluster.text)
            .c_str(),
        stderr);
  }
  return trace;
}

}  // namespace

Result<Trace> load_trace(const std::string& source, const Cluster& cluster,
                         const TraceOptions& options, double load, std::uint64_t seed) {
  auto trace = names_generator(source) ? generated(source, cluster, seed)
                                       : read_trace(source, cluster, options);
  if (!trace.ok() || load == 1.0) return trace;
  for (TraceJob& job : trace->jobs) {
    auto faster = std::make_shared<Submission>(*job.submission);
    const Seconds before = faster->submit;
    faster->submit = before / load;
    if (faster->deadline < kNever) faster->deadline -= before - faster->submit;
    job.submission = std::move(faster);
  }
  return trace;
}

std::string explanation(const std::string& name, const Submission& spec, const JobRecord& record,
                        const std::vector<Reason>& reasons, const std::string& policy) {
  const Configuration& c = spec.requested();
  std::string out = fmt::format("job {} under {}: asked for {} devices at {:.0f} s", name, policy,
                                c.devices, record.submit);
  if (record.rejected) {
    out += " and was not admitted\n";
  } else {
    out += fmt::format(
        ", first started at {:.0f} s, ended at {:.0f} s; waited {:.0f} s in all, "
        "{} restarts\n",
        record.first_start, record.end, record.end - record.submit - record.run_s, record.restarts);
  }
  // A reason is told when it differs from the one before.
  std::string last;
  for (const Reason& reason : reasons) {
    const std::string text = reason.ahead > 0
                                 ? fmt::format("{}; {} jobs ahead", reason.text, reason.ahead)
                                 : reason.text;
    if (text == last) continue;
    out += fmt::format("  from {:.0f} s: {}\n", reason.at, text);
    last = text;
  }
  if (reasons.empty() && !record.rejected) out += "  it never waited at a decision\n";
  return out;
}

}  // namespace weft

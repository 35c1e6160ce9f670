#include "model/readers/shockwave_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "model/readers/gavel_jobs.h"
#include "model/readers/shockwave_regimes.h"

namespace weft {
namespace {

constexpr double kMaxEpochs = 1e6;

// Steps per second of a (job type, scale), for the ratio of two batch sizes. From the table on the
// first device type that has it, else from the trace's own rows.
class StepRates {
 public:
  StepRates(const GavelThroughputs* table, const Cluster& cluster)
      : table_(table), cluster_(cluster) {}

  void learn(const GavelKey& key, double steps_per_s) { seen_.try_emplace(key, steps_per_s); }

  // 0: not known.
  double of(const GavelKey& key) const {
    if (table_ == nullptr) {
      const auto it = seen_.find(key);
      return it == seen_.end() ? 0 : it->second;
    }
    for (const DeviceType& type : cluster_.types) {
      const GavelSpeeds* const speeds = table_->find(type.name, key);
      if (speeds != nullptr && speeds->alone > 0) return speeds->alone;
    }
    return 0;
  }

 private:
  const GavelThroughputs* table_;
  const Cluster& cluster_;
  std::map<GavelKey, double> seen_;
};

struct AdaptiveJob {
  long line = 0, row = 0;
  GavelKey key;
  Submission submission;
  Truth truth;
};

// Work is counted in steps of the first batch size, so a larger batch is more work per step: the
// speed of a regime is its samples per second over those of the first. A batch size that nobody
// measured runs at the nearest smaller one's.
std::vector<SpeedPhase> speed_phases(const AdaptiveJob& job, const StepRates& rates) {
  const auto start = parse_batched_model(job.key.job_type);
  if (!start || job.submission.adaptation == Adaptation::kNone) return {};
  const std::uint32_t samples = samples_per_epoch(start->model);
  if (samples == 0) return {};
  const double steps_per_epoch = std::ceil(double{1} * samples / start->batch);
  const double epochs = std::min(std::ceil(job.truth.work / steps_per_epoch), kMaxEpochs);
  const auto samples_per_s = [&](std::uint32_t batch) {
    for (; batch > start->batch; batch /= 2) {
      const double steps = rates.of({batched_model_text(start->model, batch), job.key.scale});
      if (steps > 0) return steps * batch;
    }
    return rates.of(job.key) * start->batch;
  };
  const double base = samples_per_s(start->batch);
  std::vector<SpeedPhase> phases;
  for (const BatchRegime& regime : batch_regimes(job.submission.adaptation, *start, job.key.scale,
                                                 static_cast<std::uint32_t>(epochs))) {
    const double speed = base > 0 ? samples_per_s(regime.batch) / base : 1;
    if (!phases.empty() && phases.back().speed == speed) continue;
    phases.push_back({regime.epoch * steps_per_epoch, speed});
  }
  return phases.size() > 1 ? phases : std::vector<SpeedPhase>();
}

Adaptation parse_mode(TableReader& rows, int column) {
  const std::string_view mode = rows.text(column);
  if (mode == "accordion") return Adaptation::kAccordion;
  if (mode == "gns") return Adaptation::kNoiseScale;
  if (mode != "static") rows.refuse(column, "static, accordion or gns");
  return Adaptation::kNone;
}

Menu own_menu(const GavelKey& key, double rate) {
  Menu menu;
  menu.configurations.emplace_back();
  menu.configurations.back().devices = key.scale;
  menu.configurations.back().rate = rate;
  return menu;
}

}  // namespace

Result<Trace> parse_shockwave(const TextFile& file, const GavelThroughputs* table,
                              const Cluster& cluster) {
  TraceBuilder builder(file.path, "shockwave");
  TableReader rows(file, kGavelDialect, builder.complaints(), gavel_columns(file.text));
  if (!rows.require({"mode", "duration"})) return builder.finish();
  std::optional<GavelMenus> menus;
  if (table != nullptr) menus.emplace(*table, cluster, builder);
  const GavelColumns columns(rows);
  const int mode = rows.column("mode"), duration_column = rows.column("duration");
  StepRates rates(table, cluster);
  std::vector<AdaptiveJob> jobs;
  while (rows.next()) {
    AdaptiveJob job{rows.line(), rows.row(), columns.key(rows), columns.submission(rows), {}};
    const double duration = rows.number(duration_column, kDurationLimits);
    job.submission.tenant = builder.tenant("", job.line);
    job.submission.adaptation = parse_mode(rows, mode);
    job.truth.work = job.submission.declared_work;
    const double rate = job.truth.work / duration;
    if (menus) {
      const GavelMenus::Entry& entry = menus->of(job.key, rows);
      job.submission.menu = entry.menu;
      job.submission.model = entry.model;
      job.submission.elastic = entry.menu->configurations.size() > 1;
      columns.set_deadline(rows, job.truth.work / entry.fastest, job.submission);
    } else {
      job.submission.menu = builder.menus().share(own_menu(job.key, rate));
      columns.set_deadline(rows, duration, job.submission);
    }
    rates.learn(job.key, rate);
    jobs.push_back(std::move(job));
  }
  for (AdaptiveJob& job : jobs) {
    job.truth.phases = speed_phases(job, rates);
    builder.add_numbered(job.row, std::move(job.submission), std::move(job.truth));
  }
  if (menus) builder.set_pairs(menus->pairs());
  return builder.finish("Shockwave traces are described in docs/formats.md");
}

Result<Trace> read_shockwave(const TextFile& file, const Cluster& cluster,
                             const TraceOptions& options) {
  if (options.profiles.empty()) return parse_shockwave(file, nullptr, cluster);
  const Result<GavelThroughputs> table = read_gavel_throughputs(file.path, options.profiles);
  if (!table.ok()) return table.error();
  if (const Status status = check_shares_a_type(*table, cluster); !status.ok()) {
    return status.error();
  }
  return parse_shockwave(file, &*table, cluster);
}

}  // namespace weft

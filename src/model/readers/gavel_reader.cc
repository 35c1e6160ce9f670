#include "model/readers/gavel_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/readers/gavel_jobs.h"

namespace weft {

Result<Trace> parse_gavel(const TextFile& file, const GavelThroughputs& table,
                          const Cluster& cluster) {
  TraceBuilder builder(file.path, "gavel");
  TableReader rows(file, kGavelDialect, builder.complaints(), gavel_columns(file.text));
  GavelMenus menus(table, cluster, builder);
  const GavelColumns columns(rows);
  while (rows.next()) {
    const GavelKey key = columns.key(rows);
    const GavelMenus::Entry& entry = menus.of(key, rows);
    Submission submission = columns.submission(rows);
    submission.menu = entry.menu;
    submission.model = entry.model;
    submission.elastic = entry.menu->configurations.size() > 1;
    Truth truth;
    truth.work = submission.declared_work;
    columns.set_deadline(rows, truth.work / entry.fastest, submission);
    builder.add_numbered(rows.row(), std::move(submission), std::move(truth));
  }
  builder.set_pairs(menus.pairs());
  return builder.finish("Gavel traces are described in docs/formats.md");
}

Result<Trace> read_gavel(const TextFile& file, const Cluster& cluster,
                         const TraceOptions& options) {
  const Result<GavelThroughputs> table = read_gavel_throughputs(file.path, options.profiles);
  if (!table.ok()) return table.error();
  if (const Status status = check_shares_a_type(*table, cluster); !status.ok()) {
    return status.error();
  }
  return parse_gavel(file, *table, cluster);
}

}  // namespace weft

// What the rows of Gavel and Shockwave traces have in common.
#pragma once

#include <map>
#include <memory>

#include "model/readers/gavel_throughputs.h"
#include "model/readers/trace_builder.h"

namespace weft {

inline constexpr DelimitedOptions kGavelDialect{'\t', /*quotes=*/false, '\0'};

// Column names for a text of 9 or 10 (Gavel) or 12 (Shockwave) columns; 10 when it has another
// number, so that every row is complained about.
std::vector<std::string> gavel_columns(std::string_view text);

// Refuses a cluster none of whose device types is in the table.
Status check_shares_a_type(const GavelThroughputs& table, const Cluster& cluster);

class GavelColumns {
 public:
  explicit GavelColumns(const TableReader& rows);

  GavelKey key(TableReader& rows) const;
  // Everything but name, menu and model.
  Submission submission(TableReader& rows) const;
  // An SLO of s means, as in Gavel's simulator: done within s times the job's own duration.
  // Complains when the job takes longer than any may.
  void set_deadline(TableReader& rows, Seconds duration, Submission& submission) const;

 private:
  int job_type_, steps_, scale_, weight_, slo_, arrival_;
};

// Menus by (job type, scale), made once each.
class GavelMenus {
 public:
  struct Entry {
    std::shared_ptr<const Menu> menu;
    ModelId model = kNoModel;
    double fastest = 1;  // steps per second on the best of the cluster's types
  };

  // Requires: the arguments outlive this object.
  GavelMenus(const GavelThroughputs& table, const Cluster& cluster, TraceBuilder& builder);

  // Complains about the current row when no type of the cluster runs `key`.
  const Entry& of(const GavelKey& key, TableReader& rows);
  const std::shared_ptr<const PairTable>& pairs() const { return pairs_; }

 private:
  const GavelThroughputs& table_;
  const Cluster& cluster_;
  TraceBuilder& builder_;
  std::vector<GavelKey> keys_;
  std::shared_ptr<const PairTable> pairs_;
  std::map<GavelKey, Entry> entries_;
};

}  // namespace weft

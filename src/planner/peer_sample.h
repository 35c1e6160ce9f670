// Configurations that another planner (Calculon: Isaev et al. 2023) gave an answer for, beside
// ours: where the two disagree, which term of the model is to blame.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/readers/table_reader.h"
#include "planner/search.h"

namespace weft::planner {

struct PeerRow {
  Layout layout;
  bool feasible = false;
  Seconds seconds = 0;  // if feasible
};

// The CSV of Calculon's search space with answers: num_procs, tensor_par, pipeline_par, data_par,
// tensor_par_net, pipeline_par_net, data_par_net (0: inside a node), batch_size, microbatch_size,
// activation_recompute, pipeline_interleaving, optimizer_sharding, tensor_par_comm_type,
// tensor_par_overlap, seq_par_ag_redo, data_par_overlap, weight_offload, activations_offload,
// optimizer_offload, feasible, total_time_s.
Result<std::vector<PeerRow>> read_peer_rows(const TextFile& file);

// One thing to blame, and how often. Ratios are medians of our time over theirs: as we have it, and
// with that term taken over from them.
struct Blamed {
  std::string term;
  long rows = 0;
  double ratio = 0, ratio_without = 0;
};

struct PeerComparison {
  long rows = 0, both_fit = 0, neither_fits = 0, ours_alone_fits = 0, theirs_alone_fits = 0;
  long near = 0;              // of those that both fit: within 20 % in time
  double median_ratio = 0;    // our time over theirs
  double all_taken_over = 0;  // the same with every term of theirs in place of ours
  std::vector<Blamed> time;   // of those that are not near; most rows first
  std::vector<Blamed> fit;    // of those that fit for one alone
};

// Blames the term which, taken over from the other model alone, brings our time nearest to theirs;
// for what fits, the term, or the two, that make us agree. "none of these" is blamed where that
// helps by less than a tenth of the difference (of logarithms), or not at all.
PeerComparison compare_with_peer(const Workload& work, const std::vector<PeerRow>& rows);

}  // namespace weft::planner

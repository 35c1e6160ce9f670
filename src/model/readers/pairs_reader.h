// Lucid's measurements of models that share one GPU (Hu et al., ASPLOS '23).
#pragma once

#include "base/result.h"
#include "model/pairs.h"
#include "model/readers/table_reader.h"

namespace weft {

// Reads single_data.csv (a model alone) and colocate_info.csv (two of them) in `folder`. A model is
// named "<model>-<dataset>-<batch size>", with "-amp" for mixed precision. A pair that was not
// measured has speed 0: it may not share.
Result<PairTable> read_lucid_pairs(const std::string& folder);
Result<PairTable> parse_lucid_pairs(const TextFile& alone, const TextFile& together);

}  // namespace weft

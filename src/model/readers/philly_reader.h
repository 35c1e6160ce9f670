// Microsoft Philly jobs (Jeon et al., ATC '19) in the two CSV forms in circulation.
#pragma once

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// Form 1: job_id,submit_s,num_gpus,duration_s,vc. Form 2: timestamp,duration,num_gpus,gpu_time,
// cluster, in any order of rows; jobs are sorted by (timestamp, duration, num_gpus), submit times
// count from the earliest and the name is the row in the file, from 0. Rows beginning with # are
// comments.
Result<Trace> parse_philly(const TextFile& file);

// "2017-10-09 07:01:55" as seconds since 1970, no zone; nothing when it is not such a date.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace weft

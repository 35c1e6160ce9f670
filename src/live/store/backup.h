// A whole copy of a store that may be in use, and a store made from one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::live {

struct BackupReport {
  std::uint64_t records = 0, last_seq = 0, term = 0, bytes = 0;
};

// Copies journal, images, the cluster's secret and tokens of `store` to `folder`, which must be
// empty or not there. A daemon may be writing: the copy is of one moment, and every record of it
// is read again and compared with its checksum. Logs of jobs are not copied.
Result<BackupReport> backup_store(const std::string& store, const std::string& folder);

// Makes `store`, which must be empty or not there, from a copy that is read whole first. Its term
// is ahead of any that the daemon which was copied can have reached since, so that agents obey.
Result<BackupReport> restore_store(const std::string& folder, const std::string& store);

}  // namespace weft::live

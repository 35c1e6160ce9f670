// How the ranks of a benchmark find each other: by a file in a folder that all see.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/group.h"
#include "runtime/net/store.h"

namespace weft {

struct Meeting {
  std::unique_ptr<runtime::StoreServer> server;  // rank 0's
  runtime::GroupOptions options;                 // with store, secret, rank and address
};

// Rank 0 serves the store and leaves its address and the secret in the folder; others wait for it.
// `interface` is that of the network; empty: loopback.
Result<Meeting> meet(const std::string& folder, const std::string& interface, int rank, int ranks);

}  // namespace weft

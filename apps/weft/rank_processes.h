// Ranks of a benchmark as processes of this machine: where they meet, and how their end is judged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/child.h"

namespace weft {

// A folder in which a group's ranks find each other, removed afterwards.
class RendezvousFolder {
 public:
  RendezvousFolder();
  ~RendezvousFolder();
  RendezvousFolder(const RendezvousFolder&) = delete;
  RendezvousFolder& operator=(const RendezvousFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

// The path of this program; empty: the system does not say.
std::string own_program();

// What went wrong in a group of processes, in one sentence; empty: all ended well.
std::string complaint_about(const std::vector<ChildEnd>& ends, double timeout_s);

// Starts the commands, which work together, and waits for their end. Ensures: all ended well.
Result<std::vector<ChildEnd>> run_rank_processes(
    const std::vector<std::vector<std::string>>& commands, double timeout_s);

// Starts `ranks` ranks of `bench rank --start`, here or on the hosts of an arena, which form a
// group and sum `size_bytes` once. Ensures: what each printed, by rank (bench_rank.cc).
Result<std::vector<nlohmann::json>> run_start(int ranks, bool tcp, std::uint64_t size_bytes,
                                              double timeout_s, const std::string& arena = "");

}  // namespace weft

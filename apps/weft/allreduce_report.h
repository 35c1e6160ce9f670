// What `weft bench allreduce` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allreduce_rows.h"
#include "machine_state.h"

namespace weft {

struct AllReduceFailure {
  std::string library, algorithm;
  std::uint64_t size_bytes = 0;
  int round = 0;
  std::string why;
};

struct AllReduceReport {
  int ranks = 0, rounds = 0;
  std::vector<std::string> libraries;  // measured; the verdict is about the first
  std::vector<std::uint64_t> sizes_bytes;
  std::vector<AllReduceRow> rows;
  std::vector<AllReduceFailure> failures;
  std::string arena;                       // empty: one host
  std::optional<double> link_bytes_per_s;  // of each host
  MemorySpeed memory;
  std::optional<double> steal, load_before, load_after;

  // Least seconds of a message that is too large for caches on one host: every rank's buffer is
  // read and written once, at the speed that the cores together were measured to do it.
  double floor_s(std::uint64_t size_bytes) const;
  // Least seconds between hosts: each sends and receives 2(N-1)/N of the message (Patarasuk and
  // Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). Requires:
  // link_bytes_per_s.
  double ideal_s(std::uint64_t size_bytes) const;
  // Every library has a row at every size, and no sum was wrong.
  bool all_well() const;
  // One sentence.
  std::string verdict() const;
};

// From here on messages are compared with the memory floor.
inline constexpr std::uint64_t kFloorFromBytes = std::uint64_t{16} << 20;

std::string report_text(const AllReduceReport& report);
std::string report_json(const AllReduceReport& report);

}  // namespace weft

// Where the ranks of a job run: hosts with slots, filled in the order of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::runtime {

struct Host {
  std::string name;
  std::string address;  // by which other hosts reach it; the name when the file gives none
  int slots = 1;

  // Ranks of this machine are started without another program between.
  bool local() const;
};

// This machine with room for `slots` ranks.
std::vector<Host> this_machine(int slots);

// Lines `host [slots=N] [address=A]`; # begins a comment. All mistakes are told together.
// `source` names the text in errors.
Result<std::vector<Host>> parse_hosts(std::string_view text, const std::string& source);

int slots_of(const std::vector<Host>& hosts);

// The place of one rank. Hosts that no rank of `world` reaches do not count as groups.
struct Place {
  std::size_t host = 0;
  int local_rank = 0, local_world = 1, groups = 1;
};
// Requires: 0 <= rank < world <= slots_of(hosts).
Place place_of(const std::vector<Host>& hosts, int rank, int world);

}  // namespace weft::runtime

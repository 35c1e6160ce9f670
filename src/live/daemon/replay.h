// A journal's events told once more to a new controller, whose policy decides anew: what it
// commands must be what was commanded.
#pragma once

#include <string>

#include "base/result.h"
#include "live/store/journal.h"

namespace weft::live {

struct ReplayReport {
  std::uint64_t events = 0, steps = 0, decisions = 0, commands = 0, terms = 0;
  // The first record that differs, 0: none does; and how.
  std::uint64_t differs_at = 0;
  std::string how;
  bool same() const { return differs_at == 0; }
};

// Of the journal in `folder`, which may be in use; it is only read. Each term has its own policy,
// as recorded. Stops at the first difference. Fails on a journal that cannot be read, whose
// beginning was forgotten, or whose policy this program does not know.
Result<ReplayReport> replay(const std::string& folder);

}  // namespace weft::live

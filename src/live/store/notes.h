// What somebody wants the journal to hold beside what happened: a forecast made before the event,
// an operator's remark. Nothing is decided by it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "live/store/journal.h"

namespace weft::live {

struct NoteRecord {
  std::string name, by, text;
};

template <typename Archive>
void persist(Archive& io, NoteRecord& n) {
  io(n.name, n.by, n.text);
}

struct KeptNote {
  std::uint64_t seq = 0;
  Seconds at = 0;
  NoteRecord note;
};

// All notes of the name in a store's journal, in order. The daemon may be running.
Result<std::vector<KeptNote>> read_notes(const std::string& store, const std::string& name);

}  // namespace weft::live

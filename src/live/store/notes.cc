#include "live/store/notes.h"

#include <fmt/core.h>

#include "base/archive.h"
#include "base/files.h"

namespace weft::live {

Result<std::vector<KeptNote>> read_notes(const std::string& store, const std::string& name) {
  auto database = Database::open(path_in(store, "journal.db"), Database::Mode::kReadOnly);
  if (!database.ok()) return database.error();
  std::vector<KeptNote> notes;
  const Status read = read_records(**database, store, 0, [&](const Record& record) -> Status {
    if (record.kind != RecordKind::kNote) return {};
    auto note = from_bytes<NoteRecord>(record.body);
    if (!note) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("record {} is no note that this program knows", record.seq), ""};
    }
    if (note->name == name) notes.push_back({record.seq, record.at, std::move(*note)});
    return {};
  });
  if (!read.ok()) return read.error();
  return notes;
}

}  // namespace weft::live

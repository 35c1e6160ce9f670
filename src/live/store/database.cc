#include "live/store/database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cerrno>

namespace weft::live {

Statement::Statement(Database& database, const char* sql) {
  failed_ = sqlite3_prepare_v2(database.handle(), sql, -1, &statement_, nullptr) != SQLITE_OK;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int index, std::int64_t value) {
  failed_ = failed_ || sqlite3_bind_int64(statement_, index, value) != SQLITE_OK;
  return *this;
}

Statement& Statement::bind(int index, double value) {
  failed_ = failed_ || sqlite3_bind_double(statement_, index, value) != SQLITE_OK;
  return *this;
}

Statement& Statement::bind(int index, std::string_view bytes) {
  failed_ = failed_ || sqlite3_bind_blob64(statement_, index, bytes.data(), bytes.size(),
                                           SQLITE_STATIC) != SQLITE_OK;
  return *this;
}

bool Statement::step() {
  if (failed_) return false;
  const int code = sqlite3_step(statement_);
  failed_ = code != SQLITE_ROW && code != SQLITE_DONE;
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  failed_ = statement_ == nullptr;
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), size);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode) {
  constexpr int kBusyMs = 2000;
  sqlite3* handle = nullptr;
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return Error{ErrorKind::kIo, "out of memory", ""};
  std::unique_ptr<Database> database(new Database(handle, path));
  if (code != SQLITE_OK) return database->error("open it");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMs);
  if (mode == Mode::kReadOnly) return database;
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"}) {
    const Status set = database->run(pragma);
    if (!set.ok()) return set.error();
  }
  return database;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Status Database::run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error(fmt::format("do '{}'", sql));
}

Error Database::error(const std::string& what) const {
  const int code = sqlite3_errcode(handle_) & 0xff;
  std::string hint;
  if (code == SQLITE_FULL) hint = "make room on the disk";
  if (code == SQLITE_BUSY) hint = "another process holds it; is it stopped?";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) hint = "restore it from a backup";
  return {ErrorKind::kIo, fmt::format("{}: cannot {}: {}", path_, what, sqlite3_errmsg(handle_)),
          hint};
}

bool Database::disk_is_full() const {
  const int code = sqlite3_errcode(handle_) & 0xff, number = sqlite3_system_errno(handle_);
  return code == SQLITE_FULL || (code != SQLITE_OK && (number == ENOSPC || number == EDQUOT));
}

bool Database::is_busy() const { return (sqlite3_errcode(handle_) & 0xff) == SQLITE_BUSY; }

}  // namespace weft::live

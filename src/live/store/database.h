// SQLite behind a few words. One object, one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft::live {

class Database;

// One prepared statement. Bind, step, read columns, reset; indices of parameters begin at 1, of
// columns at 0.
class Statement {
 public:
  Statement(Database& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view bytes);
  // True: a row is there. False: done, or an error (Database::code()).
  bool step();
  bool failed() const { return failed_; }
  void reset();
  std::int64_t number(int column) const;
  double real(int column) const;
  std::string_view bytes(int column) const;  // until the next step

 private:
  sqlite3_stmt* statement_ = nullptr;
  bool failed_ = false;
};

class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  // Makes the file if there is none (kReadWrite). Every commit is on the disk before it returns:
  // write-ahead log, synchronous FULL.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status run(const char* sql);
  // The state of the last call as an error, naming `what` was tried.
  Error error(const std::string& what) const;
  bool disk_is_full() const;
  bool is_busy() const;  // somebody else writes
  sqlite3* handle() { return handle_; }

 private:
  explicit Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  sqlite3* handle_;
  std::string path_;
};

}  // namespace weft::live

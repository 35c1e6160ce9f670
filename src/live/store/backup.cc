#include "live/store/backup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "live/store/journal.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;

// Terms that a daemon may have begun after it was copied; each start of one takes one.
constexpr std::int64_t kTermsAhead = 1'000'000;

Error failed_on(const std::string& path, const std::string& why) {
  return {ErrorKind::kIo, fmt::format("{}: {}", path, why), ""};
}

Status make_empty(const std::string& folder, const char* what) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return failed_on(folder, failed.message());
  if (!fs::is_empty(folder, failed) || failed) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: is not empty; {} needs a folder of its own", folder, what),
                 "name one that is not there yet"};
  }
  ::chmod(folder.c_str(), 0700);  // it will hold the cluster's secret
  return {};
}

// Names of what is copied as files.
std::vector<std::string> plain_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("image-") && !name.ends_with(".tmp")) names.push_back(name);
  }
  for (const char* name : {"secret", "tokens"}) {
    if (is_file(path_in(folder, name))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status copy_files(const std::string& from, const std::string& to) {
  for (const std::string& name : plain_files(from)) {
    std::error_code failed;
    fs::copy_file(path_in(from, name), path_in(to, name), failed);
    // An image that a newer one has replaced meanwhile is not missed.
    if (failed == std::errc::no_such_file_or_directory && name.starts_with("image-")) continue;
    if (failed) return failed_on(path_in(from, name), failed.message());
    ::chmod(path_in(to, name).c_str(), 0600);
  }
  return {};
}

Status copy_database(const std::string& from, const std::string& to) {
  auto source = Database::open(from, Database::Mode::kReadOnly);
  if (!source.ok()) return source.error();
  auto target = Database::open(to, Database::Mode::kReadWrite);
  if (!target.ok()) return target.error();
  ::chmod(to.c_str(), 0600);
  sqlite3_backup* copy =
      sqlite3_backup_init((*target)->handle(), "main", (*source)->handle(), "main");
  if (copy == nullptr) return (*target)->error("begin a copy");
  const int code = sqlite3_backup_step(copy, -1);
  sqlite3_backup_finish(copy);
  if (code != SQLITE_DONE) return failed_on(from, sqlite3_errstr(code));
  return {};
}

// Reads every record, and looks whether recovery has all that it needs.
Result<BackupReport> look_through(const std::string& folder) {
  const std::string path = path_in(folder, "journal.db");
  auto database = Database::open(path, Database::Mode::kReadOnly);
  if (!database.ok()) return database.error();
  BackupReport report;
  Statement term(**database, "SELECT value FROM meta WHERE name = 'term'");
  if (!term.step()) return (*database)->error("read the term");
  report.term = static_cast<std::uint64_t>(term.number(0));
  Statement first(**database, "SELECT min(seq) FROM records");
  const auto begins =
      static_cast<std::uint64_t>(first.step() ? std::max<std::int64_t>(first.number(0), 1) : 1);
  const Status read = read_records(**database, folder, begins - 1, [&](const Record& record) {
    ++report.records;
    report.last_seq = record.seq;
    return Status{};
  });
  if (!read.ok()) return read.error();
  std::error_code failed;
  std::uint64_t image = 0;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file()) report.bytes += entry.file_size();
    const std::uint64_t seq =
        name.starts_with("image-") ? std::strtoull(name.c_str() + 6, nullptr, 10) : 0;
    if (seq <= report.last_seq) image = std::max(image, seq);
  }
  if (begins > 1 && image + 1 < begins) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("{}: records begin at {} and no image covers what was before", folder, begins),
        "copy again; the store kept a new image meanwhile"};
  }
  return report;
}

// Everything in the folder survives a loss of power.
Status sync_all(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    if (file >= 0) ::close(file);
    if (!synced) return failed_on(entry.path().string(), "cannot be synced");
  }
  return sync_folder(folder);
}

// Images first: what they hold is then older than the last record.
Result<BackupReport> copy_store(const std::string& from, const std::string& to) {
  if (!is_file(path_in(from, "journal.db"))) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: holds no journal", from), ""};
  }
  if (const Status copied = copy_files(from, to); !copied.ok()) return copied.error();
  const Status copied = copy_database(path_in(from, "journal.db"), path_in(to, "journal.db"));
  if (!copied.ok()) return copied.error();
  return look_through(to);
}

}  // namespace

Result<BackupReport> backup_store(const std::string& store, const std::string& folder) {
  if (const Status made = make_empty(folder, "a backup"); !made.ok()) return made.error();
  const auto report = copy_store(store, folder);
  if (!report.ok()) return report;
  if (const Status synced = sync_all(folder); !synced.ok()) return synced.error();
  return report;
}

Result<BackupReport> restore_store(const std::string& folder, const std::string& store) {
  if (const auto whole = look_through(folder); !whole.ok()) return whole;
  if (const Status made = make_empty(store, "a restored store"); !made.ok()) return made.error();
  auto report = copy_store(folder, store);
  if (!report.ok()) return report;
  auto database = Database::open(path_in(store, "journal.db"), Database::Mode::kReadWrite);
  if (!database.ok()) return database.error();
  const std::string ahead =
      fmt::format("UPDATE meta SET value = value + {} WHERE name = 'term'", kTermsAhead);
  if (const Status moved = (*database)->run(ahead.c_str()); !moved.ok()) return moved.error();
  report->term += static_cast<std::uint64_t>(kTermsAhead);
  if (const Status synced = sync_all(store); !synced.ok()) return synced.error();
  return report;
}

}  // namespace weft::live

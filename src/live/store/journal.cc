#include "live/store/journal.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/stopwatch.h"
#include "live/store/checksum.h"

namespace weft::live {
namespace {

constexpr std::size_t kMostAtOnce = 4096;  // records of one transaction
constexpr auto kFullPause = std::chrono::milliseconds(200);
std::int64_t wall_s() { return static_cast<std::int64_t>(std::time(nullptr)); }

}  // namespace

DurableJournal::DurableJournal(std::string folder, std::unique_ptr<Database> database)
    : folder_(std::move(folder)), database_(std::move(database)) {}

Result<std::unique_ptr<DurableJournal>> DurableJournal::open(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorKind::kIo, fmt::format("{}: cannot be made: {}", folder, failed.message()),
                 ""};
  }
  const std::string path = path_in(folder, "journal.db");
  if (is_file(path)) {
    auto look = Database::open(path, Database::Mode::kReadOnly);
    if (!look.ok()) return look.error();
    Statement version(**look, "PRAGMA user_version");
    if (!version.step()) return (*look)->error("read its format");
    if (version.number(0) > kFormat) {
      return Error{ErrorKind::kUnsupported,
                   fmt::format("{}: written in format {}, this program knows {} and older", path,
                               version.number(0), kFormat),
                   "use the program that wrote it, or a newer one"};
    }
  }
  auto database = Database::open(path, Database::Mode::kReadWrite);
  if (!database.ok()) return database.error();
  std::unique_ptr<DurableJournal> journal(new DurableJournal(folder, std::move(*database)));
  const Status prepared = journal->prepare();
  if (!prepared.ok()) return prepared.error();
  return journal;
}

Status DurableJournal::prepare() {
  Database& db = *database_;
  const std::string version = fmt::format("PRAGMA user_version={}", kFormat);
  for (const char* sql :
       {"BEGIN IMMEDIATE", "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value INTEGER)",
        "CREATE TABLE IF NOT EXISTS records(seq INTEGER PRIMARY KEY, kind INTEGER, at REAL,"
        " wall INTEGER, check_sum INTEGER, body BLOB)",
        "INSERT OR IGNORE INTO meta VALUES('term', 0)",
        "UPDATE meta SET value = value + 1 WHERE name = 'term'", version.c_str(), "COMMIT"}) {
    const Status done = db.run(sql);
    if (!done.ok()) return done;
  }
  Statement term(db, "SELECT value FROM meta WHERE name = 'term'");
  if (!term.step()) return db.error("read the term");
  term_ = static_cast<std::uint64_t>(term.number(0));
  Statement last(db, "SELECT seq, at, wall FROM records ORDER BY seq DESC LIMIT 1");
  if (last.step()) {
    next_seq_ = static_cast<std::uint64_t>(last.number(0)) + 1;
    last_at_ = last.real(1);
    base_wall_s_ = last.number(2);
  }
  if (last.failed()) return db.error("read its last record");
  settled_seq_ = next_seq_ - 1;
  return {};
}

DurableJournal::~DurableJournal() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status read_records(Database& database, const std::string& folder, std::uint64_t after_seq,
                    const std::function<Status(const Record&)>& each) {
  Statement rows(database,
                 "SELECT seq, kind, at, check_sum, body FROM records WHERE seq > ? ORDER BY seq");
  rows.bind(1, static_cast<std::int64_t>(after_seq));
  std::uint64_t expected = after_seq + 1;
  while (rows.step()) {
    Record record;
    record.seq = static_cast<std::uint64_t>(rows.number(0));
    record.kind = static_cast<RecordKind>(rows.number(1));
    record.at = rows.real(2);
    record.body = rows.bytes(4);
    if (record.seq != expected++) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("{}: record {} is missing", folder, expected - 1),
                   "restore the journal from a backup"};
    }
    if (checksum(record.body) != static_cast<std::uint32_t>(rows.number(3))) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("{}: record {} is damaged", folder, record.seq),
                   "restore the journal from a backup"};
    }
    const Status taken = each(record);
    if (!taken.ok()) return taken;
  }
  if (rows.failed()) return database.error("read it");
  return {};
}

Status DurableJournal::read(std::uint64_t after_seq,
                            const std::function<Status(const Record&)>& each) {
  return read_records(*database_, folder_, after_seq, each);
}

std::optional<Record> DurableJournal::last_of(RecordKind kind) {
  Statement row(*database_,
                "SELECT seq, at, body FROM records WHERE kind = ? ORDER BY seq DESC LIMIT 1");
  row.bind(1, static_cast<std::int64_t>(kind));
  if (!row.step()) return std::nullopt;
  return Record{static_cast<std::uint64_t>(row.number(0)), kind, row.real(1),
                std::string(row.bytes(2))};
}

void DurableJournal::begin(std::function<void(const Error&)> on_end,
                           std::function<Seconds()> clock) {
  const std::lock_guard lock(mutex_);
  on_end_ = std::move(on_end);
  other_clock_ = std::move(clock);
  // While no controller ran, wall time went on; a clock set back counts as no time at all.
  const std::int64_t away_s =
      base_wall_s_ == 0 ? 0 : std::max<std::int64_t>(0, wall_s() - base_wall_s_);
  base_s_ = last_at_ + static_cast<double>(away_s);
  base_ns_ = monotonic_ns();
  begun_ = true;
  thread_ = std::thread([this] { write_loop(); });
}

Seconds DurableJournal::clock() const {
  if (other_clock_) return std::max(last_at_, other_clock_());
  return std::max(last_at_, base_s_ + static_cast<double>(monotonic_ns() - base_ns_) * 1e-9);
}

Seconds DurableJournal::now() const {
  const std::lock_guard lock(mutex_);
  return clock();
}

std::uint64_t DurableJournal::append(RecordKind kind,
                                     const std::function<std::string(Seconds)>& body, Done done,
                                     Weight weight) {
  std::unique_lock lock(mutex_);
  CHECK_MSG(begun_, "append before begin");
  if (over_) {
    lock.unlock();
    if (done) done(Error{ErrorKind::kIo, folder_ + ": the journal can be written no more", ""}, 0);
    return 0;
  }
  last_at_ = clock();
  const std::uint64_t seq = next_seq_++;
  queue_.push_back({{seq, kind, last_at_, body(last_at_)}, std::move(done), weight});
  lock.unlock();
  wake_.notify_one();
  return seq;
}

bool DurableJournal::flush(Seconds timeout_s) {
  std::unique_lock lock(mutex_);
  const std::uint64_t upto = next_seq_ - 1;
  return settled_.wait_for(lock, std::chrono::duration<double>(timeout_s), [&] {
    return settled_seq_ >= upto || over_;
  }) && !over_;
}

std::uint64_t DurableJournal::last_seq() const {
  const std::lock_guard lock(mutex_);
  return next_seq_ - 1;
}

Seconds DurableJournal::full_since() const {
  const std::lock_guard lock(mutex_);
  return full_since_;
}

DurableJournal::Written DurableJournal::write(std::deque<Waiting>& batch, Error& why) {
  Database& db = *database_;
  const auto give_up = [&](const std::string& what) {
    why = db.error(what);
    const Written how = db.disk_is_full() ? Written::kFull
                        : db.is_busy()    ? Written::kBusy
                                          : Written::kOver;
    static_cast<void>(db.run("ROLLBACK"));
    return how;
  };
  if (!db.run("BEGIN IMMEDIATE").ok()) return give_up("begin to write");
  {
    Statement term(db, "SELECT value FROM meta WHERE name = 'term'");
    if (!term.step()) return give_up("read the term");
    if (static_cast<std::uint64_t>(term.number(0)) != term_) {
      why = {ErrorKind::kIo,
             fmt::format("{}: term {} is over: a controller of term {} has taken over", folder_,
                         term_, term.number(0)),
             ""};
      static_cast<void>(db.run("ROLLBACK"));
      return Written::kOver;
    }
  }
  {
    Statement insert(db, "INSERT INTO records VALUES(?, ?, ?, ?, ?, ?)");
    const std::int64_t wall = wall_s();
    for (const Waiting& waiting : batch) {
      insert.bind(1, static_cast<std::int64_t>(waiting.record.seq));
      insert.bind(2, static_cast<std::int64_t>(waiting.record.kind));
      insert.bind(3, waiting.record.at);
      insert.bind(4, wall);
      insert.bind(5, static_cast<std::int64_t>(checksum(waiting.record.body)));
      insert.bind(6, std::string_view(waiting.record.body));
      insert.step();
      if (insert.failed()) return give_up("write a record");
      insert.reset();
    }
  }
  if (!db.run("COMMIT").ok()) return give_up("commit");
  return Written::kYes;
}

// Those that may fail are told so. Later records may have been numbered meanwhile, so what is
// refused leaves a record of nothing in its place.
void DurableJournal::refuse_light(std::deque<Waiting>& batch, const Error& why) {
  for (Waiting& waiting : batch) {
    if (waiting.weight == Weight::kMustStay) continue;
    const Done done = std::exchange(waiting.done, nullptr);
    waiting.record.kind = RecordKind::kNothing;
    waiting.record.body.clear();
    waiting.weight = Weight::kMustStay;
    if (done) done(why, waiting.record.seq);
  }
}

void DurableJournal::write_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;  // stopped, and nothing is left
    std::deque<Waiting> batch;
    while (!queue_.empty() && batch.size() < kMostAtOnce) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    lock.unlock();
    Error why;
    Written written = write(batch, why);
    while (written == Written::kFull || written == Written::kBusy) {
      if (written == Written::kFull) refuse_light(batch, why);
      lock.lock();
      if (full_since_ == kNever) full_since_ = clock();
      const bool stopped = wake_.wait_for(lock, kFullPause, [&] { return stop_; });
      // Those that came meanwhile share its fate: whoever may be refused must not wait for room.
      std::move(queue_.begin(), queue_.end(), std::back_inserter(batch));
      queue_.clear();
      lock.unlock();
      if (stopped) break;
      written = write(batch, why);
    }
    const Status status = written == Written::kYes ? Status() : Status(why);
    for (const Waiting& waiting : batch) {
      if (waiting.done) waiting.done(status, waiting.record.seq);
    }
    lock.lock();
    if (written == Written::kYes) {
      full_since_ = kNever;
      settled_seq_ = batch.back().record.seq;
      settled_.notify_all();
      continue;
    }
    over_ = true;
    std::deque<Waiting> rest;
    rest.swap(queue_);
    settled_.notify_all();
    lock.unlock();
    for (const Waiting& waiting : rest) {
      if (waiting.done) waiting.done(status, waiting.record.seq);
    }
    if (on_end_) on_end_(why);
    return;
  }
}

}  // namespace weft::live

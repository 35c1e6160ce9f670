// The durable record: everything the controller was told and decided, in one order.
//
// A folder holds `journal.db` (SQLite) and images of the controller (`image-SEQ`), from the newest
// of which recovery folds what came after.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/units.h"
#include "live/store/database.h"

namespace weft::live {

enum class RecordKind : std::uint8_t {
  kNothing = 0,
  kTerm = 1,   // a controller begins: TermRecord
  kEvent = 2,  // EventRecord
  kStep = 3,   // what followed from events: StepRecord
  kNote = 4,   // what somebody wants kept: NoteRecord
};

struct Record {
  std::uint64_t seq = 0;
  RecordKind kind = RecordKind::kEvent;
  Seconds at = 0;  // the controller's clock: never runs backwards
  std::string body;
};

// The newest image, and of which record it is the state after.
struct KeptImage {
  std::uint64_t seq = 0;
  std::string bytes;
};

// All records after `after_seq`, in order; fails, naming it, at one that is missing or damaged.
Status read_records(Database& database, const std::string& folder, std::uint64_t after_seq,
                    const std::function<Status(const Record&)>& each);

// Thread-safe. append() never waits for the disk: one thread of its own writes what has gathered in
// one transaction and then says so.
class DurableJournal {
 public:
  // What became of an append, with the record's number: called on the writing thread, in order. An
  // error: it is not in the journal and never will be.
  using Done = std::function<void(const Status&, std::uint64_t seq)>;
  enum class Weight {
    kMayFail,  // refused while the disk is full
    kMustStay  // kept and tried again until there is room
  };
  static constexpr int kFormat = 1;

  // Opens or makes the folder and takes the next term, durably: whoever had it before can write no
  // more. Fails, changing nothing, on a journal of a newer format.
  static Result<std::unique_ptr<DurableJournal>> open(const std::string& folder);
  ~DurableJournal();
  DurableJournal(const DurableJournal&) = delete;
  DurableJournal& operator=(const DurableJournal&) = delete;

  std::uint64_t term() const { return term_; }
  const std::string& folder() const { return folder_; }

  // For recovery, before the first append: the newest image that is whole, and records in order.
  std::optional<KeptImage> newest_image();
  Status read(std::uint64_t after_seq, const std::function<Status(const Record&)>& each);
  // The newest record of a kind, if there is one.
  std::optional<Record> last_of(RecordKind kind);
  std::uint64_t last_seq() const;

  // Starts the clock, not before the last record's time, and the writing thread. `on_end` is called
  // once if the journal can be written no more: another controller has taken over, or the disk
  // failed; nothing appended afterwards is kept.
  // `clock` stands in for this machine's, from any thread; empty: time goes on by itself.
  void begin(std::function<void(const Error&)> on_end, std::function<Seconds()> clock = nullptr);
  Seconds now() const;

  // Makes the body with the record's time, under the lock that orders records; returns its number.
  std::uint64_t append(RecordKind kind, const std::function<std::string(Seconds at)>& body,
                       Done done = nullptr, Weight weight = Weight::kMustStay);
  // Waits until everything appended so far is on the disk, or failed, or the time is up.
  bool flush(Seconds timeout_s);
  // Since when records wait for room on the disk; kNever: they do not.
  Seconds full_since() const;

  // Keeps an image of the state after `seq`, beside the journal; the two newest are kept.
  Status keep_image(std::uint64_t seq, const std::string& bytes);
  // Forgets records up to the older image that are older than `age_s`.
  Status trim(Seconds age_s);

 private:
  struct Waiting {
    Record record;
    Done done;
    Weight weight;
  };
  DurableJournal(std::string folder, std::unique_ptr<Database> database);

  Status prepare();
  Seconds clock() const;
  void write_loop();
  enum class Written { kYes, kFull, kBusy, kOver };
  Written write(std::deque<Waiting>& batch, Error& why);
  void refuse_light(std::deque<Waiting>& batch, const Error& why);

  std::string folder_;
  std::unique_ptr<Database> database_;
  std::uint64_t term_ = 0;
  std::function<void(const Error&)> on_end_;
  std::function<Seconds()> other_clock_;

  mutable std::mutex mutex_;
  std::condition_variable wake_, settled_;
  std::deque<Waiting> queue_;
  std::uint64_t next_seq_ = 1, settled_seq_ = 0;
  Seconds last_at_ = 0, base_s_ = 0, full_since_ = kNever;
  std::int64_t base_ns_ = 0;
  std::int64_t base_wall_s_ = 0;
  bool begun_ = false, stop_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace weft::live

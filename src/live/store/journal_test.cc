#include "live/store/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/files.h"

namespace weft::live {
namespace {

using testing::HasSubstr;

class JournalTest : public testing::Test {
 protected:
  JournalTest() : folder_(testing::TempDir() + "journal-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~JournalTest() override {
    umount2(folder_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<DurableJournal> open() {
    auto journal = DurableJournal::open(folder_);
    EXPECT_TRUE(journal.ok()) << journal.error().text();
    return std::move(*journal);
  }
  static std::vector<Record> all(DurableJournal& journal, std::uint64_t after = 0) {
    std::vector<Record> records;
    const Status read = journal.read(after, [&](const Record& record) {
      records.push_back(record);
      return Status();
    });
    EXPECT_TRUE(read.ok()) << read.error().text();
    return records;
  }
  static std::uint64_t put(DurableJournal& journal, const std::string& body) {
    return journal.append(RecordKind::kEvent, [&](Seconds) { return body; });
  }
  void spoil(const char* sql) {
    auto db = Database::open(path_in(folder_, "journal.db"), Database::Mode::kReadWrite);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE((*db)->run(sql).ok());
  }

  std::string folder_;
};

TEST_F(JournalTest, WhatWasSaidToBeThereIsThere) {
  std::vector<std::string> done;
  {
    const auto journal = open();
    journal->begin(nullptr);
    for (int i = 0; i < 100; ++i) {
      journal->append(
          RecordKind::kEvent, [&](Seconds) { return std::to_string(i); },
          [&done, i](const Status& status, std::uint64_t) {
            EXPECT_TRUE(status.ok());
            done.push_back(std::to_string(i));
          });
    }
    EXPECT_TRUE(journal->flush(10));
    EXPECT_EQ(done.size(), 100u);
  }
  const auto journal = open();
  const std::vector<Record> records = all(*journal);
  ASSERT_EQ(records.size(), 100u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].seq, i + 1);
    EXPECT_EQ(records[i].body, done[i]);
    if (i > 0) {
      EXPECT_GE(records[i].at, records[i - 1].at);
    }
  }
  EXPECT_EQ(all(*journal, 98).size(), 2u);
}

TEST_F(JournalTest, EveryOpeningTakesANewTermAndEndsTheOld) {
  const auto old = open();
  std::promise<Error> ended;
  old->begin([&](const Error& why) { ended.set_value(why); });
  put(*old, "a");
  ASSERT_TRUE(old->flush(10));
  const auto fresh = open();
  EXPECT_EQ(fresh->term(), old->term() + 1);
  std::promise<Status> told;
  old->append(
      RecordKind::kEvent, [](Seconds) { return "late"; },
      [&](const Status& status, std::uint64_t) { told.set_value(status); });
  EXPECT_FALSE(told.get_future().get().ok());
  EXPECT_THAT(ended.get_future().get().what, HasSubstr("has taken over"));
  EXPECT_FALSE(old->flush(1));
  std::promise<bool> again;
  old->append(
      RecordKind::kEvent, [](Seconds) { return "later"; },
      [&](const Status& status, std::uint64_t) { again.set_value(status.ok()); });
  EXPECT_FALSE(again.get_future().get());
  fresh->begin(nullptr);
  EXPECT_EQ(put(*fresh, "b"), 2u);
  ASSERT_TRUE(fresh->flush(10));
  EXPECT_EQ(all(*fresh).back().body, "b");
}

TEST_F(JournalTest, TimeGoesOnWhereItWas) {
  Seconds last = 0;
  {
    const auto journal = open();
    journal->begin(nullptr);
    put(*journal, "a");
    usleep(20'000);
    journal->append(RecordKind::kEvent, [&](Seconds at) {
      last = at;
      return "b";
    });
    EXPECT_TRUE(journal->flush(10));
    EXPECT_GE(last, 0.02);
  }
  spoil("UPDATE records SET wall = wall + 1000");  // the clock was set back meanwhile
  const auto journal = open();
  journal->begin(nullptr);
  EXPECT_GE(journal->now(), last);
  EXPECT_LT(journal->now(), last + 100);
}

TEST_F(JournalTest, ANewerFormatIsRefusedUnchanged) {
  open();
  spoil("PRAGMA user_version=99");
  const auto journal = DurableJournal::open(folder_);
  ASSERT_FALSE(journal.ok());
  EXPECT_THAT(journal.error().what, HasSubstr("format 99"));
  auto db = Database::open(path_in(folder_, "journal.db"), Database::Mode::kReadOnly);
  Statement term(**db, "SELECT value FROM meta WHERE name = 'term'");
  ASSERT_TRUE(term.step());
  EXPECT_EQ(term.number(0), 1);
}

TEST_F(JournalTest, DamageIsNamed) {
  {
    const auto journal = open();
    journal->begin(nullptr);
    for (const char* body : {"a", "b", "c"}) put(*journal, body);
    ASSERT_TRUE(journal->flush(10));
  }
  const auto failure = [&] {
    const auto journal = open();
    const Status read = journal->read(0, [](const Record&) { return Status(); });
    return read.ok() ? std::string("none") : read.error().what;
  };
  EXPECT_EQ(failure(), "none");
  spoil("UPDATE records SET body = x'00' WHERE seq = 2");
  EXPECT_THAT(failure(), HasSubstr("record 2 is damaged"));
  spoil("DELETE FROM records WHERE seq = 2");
  EXPECT_THAT(failure(), HasSubstr("record 2 is missing"));
  std::ofstream(path_in(folder_, "journal.db"), std::ios::trunc) << std::string(8192, 'x');
  std::filesystem::remove(path_in(folder_, "journal.db-wal"));
  const auto broken = DurableJournal::open(folder_);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().text(), HasSubstr("backup"));
}

// The last commit, torn by the machine's end, was not acknowledged or is whole: nothing before it
// is lost, whatever the tail of the log holds.
TEST_F(JournalTest, ATornTailLosesNothingBeforeIt) {
  const std::string copy = folder_ + "-copy";
  {
    const auto journal = open();
    journal->begin(nullptr);
    for (int i = 0; i < 50; ++i) {
      put(*journal, std::string(100, 'x'));
      ASSERT_TRUE(journal->flush(10));
    }
    std::filesystem::remove_all(copy);
    std::filesystem::copy(folder_, copy);
  }
  const std::string wal = path_in(copy, "journal.db-wal");
  std::filesystem::resize_file(wal, std::filesystem::file_size(wal) - 1000);
  auto journal = DurableJournal::open(copy);
  ASSERT_TRUE(journal.ok()) << journal.error().text();
  EXPECT_EQ(all(**journal).size(), 49u);
  std::filesystem::remove_all(copy);
}

TEST_F(JournalTest, AFullDiskRefusesWhatMayBeRefusedAndKeepsTheRest) {
  std::filesystem::create_directories(folder_);
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=300k") != 0) {
    GTEST_SKIP() << "no small disk can be made here (root is needed)";
  }
  {
    const auto journal = open();
    journal->begin(nullptr);
    std::atomic<int> refused = 0, kept = 0;
    for (int i = 0; i < 300; ++i) {
      journal->append(
          RecordKind::kEvent, [](Seconds) { return std::string(2000, 'x'); },
          [&](const Status& status, std::uint64_t) { ++(status.ok() ? kept : refused); },
          DurableJournal::Weight::kMayFail);
      while (!journal->flush(0.05) && journal->full_since() == kNever) {
      }
      if (journal->full_since() < kNever) break;
    }
    EXPECT_LT(journal->full_since(), kNever);
    std::promise<Status> stayed;
    journal->append(
        RecordKind::kEvent, [](Seconds) { return "must stay"; },
        [&](const Status& status, std::uint64_t) { stayed.set_value(status); });
    std::promise<Status> light;
    journal->append(
        RecordKind::kEvent, [](Seconds) { return "may fail"; },
        [&](const Status& status, std::uint64_t) { light.set_value(status); },
        DurableJournal::Weight::kMayFail);
    auto answer = light.get_future();
    ASSERT_EQ(answer.wait_for(std::chrono::seconds(10)), std::future_status::ready)
        << "it waits for room";
    EXPECT_FALSE(answer.get().ok());
    EXPECT_GT(refused, 0);
    ASSERT_EQ(mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
    EXPECT_TRUE(stayed.get_future().get().ok());
    ASSERT_TRUE(journal->flush(10));
    EXPECT_EQ(journal->full_since(), kNever);
  }
  {
    const auto journal = open();
    const auto records = all(*journal);
    EXPECT_EQ(records[records.size() - 2].body, "must stay");
    EXPECT_EQ(records.back().kind, RecordKind::kNothing) << "refused";
  }
}

TEST_F(JournalTest, ImagesAreKeptBesideIt) {
  {
    const auto journal = open();
    journal->begin(nullptr);
    EXPECT_FALSE(journal->newest_image().has_value());
    for (int i = 0; i < 5; ++i) put(*journal, "x");
    ASSERT_TRUE(journal->flush(10));
    for (const std::uint64_t seq : {1, 3, 4}) {
      ASSERT_TRUE(journal->keep_image(seq, "image of " + std::to_string(seq)).ok());
    }
    EXPECT_FALSE(is_file(path_in(folder_, "image-1"))) << "two are kept";
    const std::size_t records = all(*journal).size();
    ASSERT_TRUE(journal->trim(kNever).ok());
    EXPECT_EQ(all(*journal).size(), records) << "they may stay for good";
    ASSERT_TRUE(journal->trim(-10).ok());
  }
  const auto journal = open();
  EXPECT_EQ(journal->newest_image()->bytes, "image of 4");
  EXPECT_EQ(all(*journal, 3).size(), 2u);
  const Status forgotten = journal->read(0, [](const Record&) { return Status(); });
  EXPECT_FALSE(forgotten.ok()) << "what the older image covers was forgotten";
  std::ofstream(path_in(folder_, "image-4"), std::ios::app) << "x";
  EXPECT_EQ(journal->newest_image()->bytes, "image of 3") << "one that is not whole is passed over";
}

}  // namespace
}  // namespace weft::live

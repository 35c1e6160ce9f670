#include "live/store/backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "live/store/journal.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;

struct Folders {
  Folders() {
    char name[] = "/tmp/weft-backup-XXXXXX";
    root = mkdtemp(name);
  }
  ~Folders() { fs::remove_all(root); }
  std::string store() const { return root + "/store"; }
  std::string copy() const { return root + "/copy"; }
  std::string fresh() const { return root + "/fresh"; }
  std::string root;
};

void append(DurableJournal& journal, int count) {
  for (int i = 0; i < count; ++i) {
    journal.append(RecordKind::kEvent, [](Seconds at) { return "at " + std::to_string(at); });
  }
}

TEST(Backup, ACopyOfARunningStoreIsWhole) {
  Folders folders;
  auto journal = DurableJournal::open(folders.store());
  ASSERT_TRUE(journal.ok());
  (*journal)->begin(nullptr);
  append(**journal, 100);
  ASSERT_TRUE((*journal)->flush(10));
  ASSERT_TRUE((*journal)->keep_image(50, "image").ok());
  std::ofstream(path_in(folders.store(), "secret")) << "hidden";
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      append(**journal, 20);
      (*journal)->flush(10);
    }
  });
  const auto report = backup_store(folders.store(), folders.copy());
  stop = true;
  writer.join();
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_GE(report->records, 100u);
  EXPECT_EQ(report->last_seq, report->records);
  EXPECT_EQ(*read_file(path_in(folders.copy(), "secret"), 100), "hidden");
  struct stat info = {};
  ASSERT_EQ(::stat(path_in(folders.copy(), "secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);

  const auto restored = restore_store(folders.copy(), folders.fresh());
  ASSERT_TRUE(restored.ok()) << restored.error().text();
  auto again = DurableJournal::open(folders.fresh());
  ASSERT_TRUE(again.ok());
  EXPECT_GT((*again)->term(), (*journal)->term() + 1000) << "agents obey it";
  EXPECT_EQ((*again)->last_seq(), report->last_seq);
  ASSERT_TRUE((*again)->newest_image().has_value());
  EXPECT_EQ((*again)->newest_image()->bytes, "image");
}

TEST(Backup, NothingIsOverwritten) {
  Folders folders;
  ASSERT_TRUE(DurableJournal::open(folders.store()).ok());
  ASSERT_TRUE(backup_store(folders.store(), folders.copy()).ok());
  EXPECT_FALSE(backup_store(folders.store(), folders.copy()).ok());
  EXPECT_FALSE(restore_store(folders.copy(), folders.store()).ok());
  EXPECT_FALSE(backup_store(folders.root + "/none", folders.fresh()).ok());
}

TEST(Backup, ADamagedCopyIsNotRestored) {
  Folders folders;
  {
    auto journal = DurableJournal::open(folders.store());
    ASSERT_TRUE(journal.ok());
    (*journal)->begin(nullptr);
    append(**journal, 10);
    ASSERT_TRUE((*journal)->flush(10));
  }
  ASSERT_TRUE(backup_store(folders.store(), folders.copy()).ok());
  {
    auto database =
        Database::open(path_in(folders.copy(), "journal.db"), Database::Mode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->run("UPDATE records SET body = 'x' WHERE seq = 5").ok());
  }
  const auto restored = restore_store(folders.copy(), folders.fresh());
  ASSERT_FALSE(restored.ok());
  EXPECT_NE(restored.error().what.find("record 5 is damaged"), std::string::npos);
  EXPECT_FALSE(fs::exists(folders.fresh())) << "nothing was begun";
  ASSERT_TRUE(fs::remove(path_in(folders.copy(), "journal.db")));
  EXPECT_FALSE(restore_store(folders.copy(), folders.fresh()).ok());
}

}  // namespace
}  // namespace weft::live

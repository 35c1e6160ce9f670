// The controller behind a real journal, with a world that only pretends to run jobs.
#include "live/daemon/brain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <set>

#include "base/random.h"
#include "live/daemon/replay.h"
#include "live/store/checksum.h"
#include "policy/composition.h"

namespace weft::live {
namespace {

using testing::HasSubstr;

// Carries out at once and remembers what it was asked; jobs run until they are told to end.
class PretendedWorld : public Hands {
 public:
  void carry_out(const KeptCommand& command, const JobView& job) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(command);
    if (brain == nullptr) return;  // nobody is there to be told
    const std::pair run{job.identity.uuid, command.epoch};
    if (command.kind == CommandKind::kStart && done_.insert({run, command.number}).second) {
      ++starts[run];
      running.insert({command.job, command.epoch});
    }
    if (command.kind == CommandKind::kStop) running.erase({command.job, command.epoch});
    EventRecord record;
    record.event.kind = EventKind::kOutcome;
    record.event.job = command.job;
    record.event.epoch = command.epoch;
    record.event.number = command.number;
    brain->post(std::move(record));
  }
  void finish(JobId job, std::uint32_t epoch, EventKind how = EventKind::kFinished) {
    EventRecord record;
    record.event.kind = how;
    record.event.job = job;
    record.event.epoch = epoch;
    const std::lock_guard lock(mutex_);
    running.erase({job, epoch});
    if (brain != nullptr) brain->post(std::move(record));
  }
  void set(Brain* to) {
    const std::lock_guard lock(mutex_);
    brain = to;
  }
  std::set<std::pair<JobId, std::uint32_t>> running_now() const {
    const std::lock_guard lock(mutex_);
    return running;
  }

  Brain* brain = nullptr;
  std::vector<KeptCommand> asked;
  std::map<std::pair<std::string, std::uint32_t>, int> starts;
  std::set<std::pair<JobId, std::uint32_t>> running;

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<std::pair<std::string, std::uint32_t>, std::uint32_t>> done_;
};

class BrainTest : public testing::Test {
 protected:
  BrainTest()
      : folder_(testing::TempDir() + "brain-" + std::to_string(getpid())),
        cluster_(*parse_cluster_shorthand("2x2")),
        policy_(assemble(*find_policy("backfill")).value()) {
    std::filesystem::remove_all(folder_);
  }
  ~BrainTest() override {
    down();
    std::filesystem::remove_all(folder_);
  }

  Status up() {
    auto journal = DurableJournal::open(folder_);
    if (!journal.ok()) return journal.error();
    journal_ = std::move(*journal);
    board_ = std::make_unique<Board>(cluster_);
    options_.cluster_text = cluster_.text;
    options_.policy_text = "backfill";
    brain_ = std::make_unique<Brain>(cluster_, policy_, *journal_, *board_, world_, options_);
    const Status recovered = brain_->recover();
    if (!recovered.ok()) return recovered;
    journal_->begin(nullptr);
    world_.set(brain_.get());
    brain_->on_event(then_);
    brain_->begin();
    return {};
  }
  void down() {
    world_.set(nullptr);
    if (brain_ != nullptr) brain_->end();
    if (journal_ != nullptr) static_cast<void>(journal_->flush(5));
    journal_.reset();  // its callbacks end before the brain goes
    brain_.reset();
    board_.reset();
  }
  EventRecord submission(const std::string& name, std::uint32_t devices) {
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = name;
    auto menu = std::make_shared<Menu>();
    menu->configurations.resize(1);
    menu->configurations[0].devices = devices;
    submission->menu = menu;
    record.event.submission = submission;
    record.job = JobIdentity{"uuid-" + name, "ann", 0, 0, "{}"};
    return record;
  }
  void submit(const std::string& name, std::uint32_t devices) {
    std::promise<bool> durable;
    brain_->post(submission(name, devices),
                 [&](const Status& status) { durable.set_value(status.ok()); });
    ASSERT_TRUE(durable.get_future().get());
  }
  bool eventually(const std::function<bool()>& holds, double timeout_s = 20) {
    for (int i = 0; i < timeout_s * 200; ++i) {
      if (holds()) return true;
      usleep(5000);
    }
    return false;
  }
  JobStanding standing(const std::string& name) {
    const auto view = board_->find(name);
    EXPECT_TRUE(view.has_value()) << name;
    return view ? view->standing : JobStanding::kRejected;
  }

  std::string folder_;
  Cluster cluster_;
  std::shared_ptr<const Policy> policy_;
  PretendedWorld world_;
  BrainOptions options_;
  std::function<void(const EventRecord&)> then_;
  std::unique_ptr<DurableJournal> journal_;
  std::unique_ptr<Board> board_;
  std::unique_ptr<Brain> brain_;
};

// Else a job that is to be held, or has failed too often, would be started once more.
TEST_F(BrainTest, NothingIsDecidedBeforeWhatFollowsFromAnEvent) {
  then_ = [this](EventRecord record) {
    if (record.event.kind != EventKind::kCrashed) return;
    record.event.kind = EventKind::kHold;
    brain_->post_first(std::move(record));
  };
  ASSERT_TRUE(up().ok());
  submit("a", 4);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  world_.finish(0, 1, EventKind::kCrashed);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kHeld; }));
  submit("b", 1);
  ASSERT_TRUE(eventually([&] { return standing("b") == JobStanding::kRunning; }));
  EXPECT_EQ(board_->find("a")->epoch, 1u) << "it was not started again";
}

TEST_F(BrainTest, RunsWhatFitsAndTheRestWhenThereIsRoom) {
  ASSERT_TRUE(up().ok());
  submit("a", 4);
  submit("b", 2);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  EXPECT_EQ(standing("b"), JobStanding::kQueued);
  world_.finish(0, 1);
  ASSERT_TRUE(eventually([&] { return standing("b") == JobStanding::kRunning; }));
  EXPECT_EQ(standing("a"), JobStanding::kFinished);
  EXPECT_GE(brain_->health().decisions, 2u);
}

TEST_F(BrainTest, ComesBackAsItWas) {
  ASSERT_TRUE(up().ok());
  submit("a", 4);
  submit("b", 2);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  down();
  ASSERT_TRUE(up().ok());
  EXPECT_EQ(journal_->term(), 2u);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  EXPECT_EQ(standing("b"), JobStanding::kQueued);
  EXPECT_EQ(board_->find("uuid-a")->held.devices.size(), 4u);
  world_.finish(0, 1);
  ASSERT_TRUE(eventually([&] { return standing("b") == JobStanding::kRunning; }));
  EXPECT_EQ(world_.starts.size(), 2u);
}

// The controller died after its decision was durable and before anybody heard of it.
TEST_F(BrainTest, AsksAgainForWhatMayNotHaveGoneOut) {
  ASSERT_TRUE(up().ok());
  world_.set(nullptr);
  submit("a", 4);
  ASSERT_TRUE(eventually([&] { return !world_.asked.empty(); }));
  EXPECT_EQ(standing("a"), JobStanding::kStarting);
  down();
  ASSERT_TRUE(up().ok());
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  ASSERT_EQ(world_.asked.size(), 2u);
  EXPECT_EQ(world_.asked[0].number, world_.asked[1].number) << "the same command, not a new one";
}

TEST_F(BrainTest, NothingIsLostOrStartedTwiceHoweverOftenItEnds) {
  options_.image_every = 7;
  Random random(1);
  int submitted = 0;
  for (int life = 0; life < 25; ++life) {
    const Status came_up = up();
    ASSERT_TRUE(came_up.ok()) << came_up.error().text();
    ASSERT_EQ(board_->size(), static_cast<std::size_t>(submitted));
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      submit("job" + std::to_string(submitted++), 1 + static_cast<std::uint32_t>(random.below(4)));
    }
    for (const auto& [job, epoch] : world_.running_now()) {
      if (random.chance(0.5)) world_.finish(job, epoch);
    }
    usleep(static_cast<useconds_t>(random.below(20'000)));
    down();
  }
  ASSERT_TRUE(up().ok());
  const auto all_ended = [&] {
    for (const auto& [job, epoch] : world_.running_now()) world_.finish(job, epoch);
    return board_->jobs([](const JobView& v) { return !has_ended(v.standing); }).empty();
  };
  EXPECT_TRUE(eventually(all_ended, 60));
  EXPECT_EQ(board_->size(), static_cast<std::size_t>(submitted));
  for (const auto& [run, times] : world_.starts) EXPECT_EQ(times, 1) << run.first;
  down();
  const auto again = replay(folder_);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->same()) << "record " << again->differs_at << ": " << again->how;
  EXPECT_EQ(again->terms, 26u);
  EXPECT_GE(again->commands, static_cast<std::uint64_t>(submitted));
}

// Rewrites one record of the journal, checksum and all.
void rewrite(const std::string& folder, std::uint64_t seq, RecordKind kind,
             const std::string& body) {
  auto db = Database::open(folder + "/journal.db", Database::Mode::kReadWrite);
  Statement change(**db, "UPDATE records SET kind = ?, check_sum = ?, body = ? WHERE seq = ?");
  change.bind(1, static_cast<std::int64_t>(kind));
  change.bind(2, static_cast<std::int64_t>(checksum(body)));
  change.bind(3, std::string_view(body));
  change.bind(4, static_cast<std::int64_t>(seq));
  change.step();
  EXPECT_FALSE(change.failed());
}

TEST_F(BrainTest, AReplayFindsWhatWasChanged) {
  ASSERT_TRUE(up().ok());
  submit("a", 4);
  submit("b", 2);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  world_.finish(0, 1);
  ASSERT_TRUE(eventually([&] { return standing("b") == JobStanding::kRunning; }));
  const auto busy = replay(folder_);  // the daemon need not be down
  ASSERT_TRUE(busy.ok()) << busy.error().text();
  EXPECT_TRUE(busy->same()) << busy->how;
  down();
  std::vector<std::pair<std::uint64_t, EventRecord>> events;
  {
    auto db = Database::open(folder_ + "/journal.db", Database::Mode::kReadOnly);
    ASSERT_TRUE(read_records(**db, folder_, 0, [&](const Record& record) {
                  if (record.kind == RecordKind::kEvent) {
                    events.emplace_back(record.seq, *from_bytes<EventRecord>(record.body));
                  }
                  return Status();
                }).ok());
  }
  int tried = 0;
  for (auto& [seq, record] : events) {
    const EventKind kind = record.event.kind;
    if (kind != EventKind::kSubmit && kind != EventKind::kFinished) continue;
    const std::string before = to_bytes(record);
    rewrite(folder_, seq, RecordKind::kNothing, "");
    auto found = replay(folder_);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_FALSE(found->same()) << "event " << seq << " was dropped";
    EventRecord later = record;
    later.event.at += 1e-6;
    rewrite(folder_, seq, RecordKind::kEvent, to_bytes(later));
    found = replay(folder_);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_FALSE(found->same()) << "the time of event " << seq << " was changed";
    EXPECT_GT(found->differs_at, 0u);
    EXPECT_FALSE(found->how.empty());
    rewrite(folder_, seq, RecordKind::kEvent, before);
    EXPECT_TRUE(replay(folder_)->same());
    ++tried;
  }
  EXPECT_EQ(tried, 3);
}

// A journal as format 1 wrote it (tests/fixtures/journal/README.md). Whoever changes what records
// hold raises DurableJournal::kFormat, keeps reading this one, and adds another beside it.
TEST_F(BrainTest, AJournalOfFormat1Opens) {
  std::filesystem::create_directories(folder_);
  std::filesystem::copy(std::string(WEFT_FIXTURES) + "/journal/format-1.db",
                        folder_ + "/journal.db");
  const Status opened = up();
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(journal_->term(), 2u);
  EXPECT_EQ(standing("done"), JobStanding::kFinished);
  EXPECT_EQ(standing("bad"), JobStanding::kFailed);
  EXPECT_EQ(standing("away"), JobStanding::kCancelled);
  EXPECT_EQ(standing("wide"), JobStanding::kRunning);
  EXPECT_EQ(standing("waits"), JobStanding::kQueued);
  EXPECT_EQ(board_->find("wide")->held.devices.size(), 2u);
  EXPECT_THAT(board_->find("wide")->identity.spec, HasSubstr("sleep 1000"));
  EXPECT_EQ(board_->find("other")->priority, 3);
  EXPECT_EQ(board_->find("bad")->failures, 1u);
  world_.finish(board_->find("wide")->id, 1);
  ASSERT_TRUE(eventually([&] { return standing("waits") == JobStanding::kRunning; }));
  submit("new", 1);
  down();
  ASSERT_TRUE(up().ok());
  EXPECT_EQ(board_->size(), 7u);
}

TEST_F(BrainTest, AnotherPolicyTakesOverAndReplayKnowsWhen) {
  ASSERT_TRUE(up().ok());
  submit("wide", 4);
  submit("wider", 4);
  submit("narrow", 1);
  ASSERT_TRUE(eventually([&] { return standing("wide") == JobStanding::kRunning; }));
  std::promise<bool> durable;
  brain_->change_policy(assemble(*find_policy("fifo")).value(), "fifo",
                        [&](const Status& status) { durable.set_value(status.ok()); });
  ASSERT_TRUE(durable.get_future().get());
  ASSERT_TRUE(eventually([&] { return brain_->policy_name() == "fifo"; }));
  world_.finish(0, 1);
  ASSERT_TRUE(eventually([&] { return standing("wider") == JobStanding::kRunning; }));
  submit("late", 1);
  down();
  auto found = replay(folder_);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_TRUE(found->same()) << found->differs_at << ": " << found->how;
  EXPECT_EQ(found->terms, 1u) << "it was one controller";
  ASSERT_TRUE(up().ok()) << "what both decided is folded without either";
  // An event that no step covers yet is folded once it thinks.
  EXPECT_TRUE(eventually([&] { return standing("wider") == JobStanding::kRunning; }));
}

TEST_F(BrainTest, GivesCopiesOfItsState) {
  ASSERT_TRUE(up().ok());
  submit("a", 4);
  ASSERT_TRUE(eventually([&] { return standing("a") == JobStanding::kRunning; }));
  std::promise<Brain::Snapshot> taken;
  brain_->ask_snapshot([&](Brain::Snapshot s) { taken.set_value(std::move(s)); });
  const Brain::Snapshot snapshot = taken.get_future().get();
  EXPECT_EQ(snapshot.policy->name(), "backfill");
  EXPECT_FALSE(snapshot.image.empty());
  brain_->end();
  std::promise<Brain::Snapshot> late;
  brain_->ask_snapshot([&](Brain::Snapshot s) { late.set_value(std::move(s)); });
  EXPECT_TRUE(late.get_future().get().image.empty()) << "answered, with nothing";
}

TEST_F(BrainTest, AnotherClusterIsRefused) {
  ASSERT_TRUE(up().ok());
  submit("a", 1);
  down();
  cluster_ = *parse_cluster_shorthand("4x2");
  const Status refused = up();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("'2x2', not '4x2'"));
}

// A slow decision must not keep anybody waiting who submits.
class SlowPolicy : public Policy {
 public:
  void decide(Draft&, const Change&, PolicyMemory&) const override { usleep(1'000'000); }
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "slow";
};

TEST_F(BrainTest, SubmissionsDoNotWaitForDecisions) {
  policy_ = std::make_unique<SlowPolicy>();
  ASSERT_TRUE(up().ok());
  submit("first", 1);
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) submit("job" + std::to_string(i), 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  EXPECT_LT(took.count(), 0.9) << "ten of them in less than one decision";
}

}  // namespace
}  // namespace weft::live

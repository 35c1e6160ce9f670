// Every policy in random small worlds where messages come late, twice, out of order or never,
// commands are refused and nodes die. WEFT_SEED=N runs case N alone; WEFT_SOAK=1 runs many more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "sim/random_case_testing.h"

namespace weft {
namespace {

// A broken invariant of the program aborts it; then this says which case it was.
char running_case[256] = "";
void say_case(int) {
  const ssize_t ignored = write(STDERR_FILENO, running_case, std::strlen(running_case));
  static_cast<void>(ignored);
}

// Replays what the controller was told and what it asked for, keeping a book of its own.
class Auditor : public Journal {
 public:
  explicit Auditor(const RandomCase& world)
      : world_(world), in_use_(world.cluster.device_count()) {}

  void event(const Event& e) override {
    ++events_;
    EXPECT_GE(e.at, last_) << "time runs backwards";
    last_ = e.at;
    if (e.kind == EventKind::kSubmit) {
      books_.emplace_back().spec = e.submission;
      return;
    }
    if (e.job == kNoJob) return;
    Book& book = books_.at(e.job);
    const bool current = e.epoch == book.epoch;
    if (e.kind == EventKind::kFinished && current) {
      finished_.insert(e.job);
      hold(book, {});
    } else if (e.kind == EventKind::kCrashed && current) {
      hold(book, {});
    } else if (e.kind == EventKind::kWithdraw) {
      withdrawn_.insert(e.job);
    } else if (e.kind == EventKind::kOutcome && current && e.number == book.number) {
      settle(book, e.outcome == Outcome::kDone);
    }
  }

  void decision(Seconds at) override {
    if (++decisions_ > kMostDecisions) throw EndlessRun(at);
  }

  void command(Seconds, const Command& c) override {
    Book& book = books_.at(c.job);
    EXPECT_GT(c.number, book.number) << "a number is used for two commands";
    book.number = c.number;
    book.pending = c.kind;
    if (c.kind == CommandKind::kStop) return;
    ASSERT_NE(c.allocation, nullptr);
    expect_whole_gang(*book.spec, *c.allocation);
    book.asked = c.allocation->devices;
    if (c.kind == CommandKind::kStart) {
      EXPECT_GT(c.epoch, book.epoch) << "a start does not raise the epoch";
      EXPECT_TRUE(book.held.empty()) << "a job is started that may still run";
      book.epoch = c.epoch;
      hold(book, book.asked);
    } else {
      book.before = book.held;
      hold(book, joined(book.held, book.asked));
    }
  }

  void rejected(Seconds, JobId id, const std::string& why) override {
    EXPECT_FALSE(why.empty());
    rejected_.insert(id);
  }

  void expect_all_ended(const RunResult& result) const {
    ASSERT_EQ(result.records.size(), world_.trace.jobs.size());
    EXPECT_EQ(books_.size(), world_.trace.jobs.size()) << "a submission was lost";
    EXPECT_EQ(events_, result.events) << "an event was lost";
    for (JobId id = 0; id < result.records.size(); ++id) {
      const JobRecord& record = result.records[id];
      EXPECT_LT(record.end, kNever) << "job " << id << " never ended";
      EXPECT_EQ(record.rejected, rejected_.contains(id));
      const bool service = books_[id].spec->kind == WorkloadKind::kService;
      if (record.rejected || service) continue;
      EXPECT_GE(record.first_start, record.submit);
      EXPECT_GE(record.end, record.first_start);
      EXPECT_LE(record.run_s, record.end - record.first_start + 1e-6);
      if (world_.options.channel.perfect()) {
        EXPECT_TRUE(finished_.contains(id)) << id;
      }
    }
  }

 private:
  using Devices = std::vector<DeviceShare>;
  struct Book {
    std::shared_ptr<const Submission> spec;
    std::uint32_t epoch = 0, number = 0;
    CommandKind pending = CommandKind::kNone;
    Devices held, asked, before;
  };

  static Devices joined(const Devices& a, const Devices& b) {
    std::map<DeviceId, DeviceShare> all;
    for (const Devices* devices : {&a, &b}) {
      for (const DeviceShare& share : *devices) {
        DeviceShare& kept = all.emplace(share.device, share).first->second;
        kept.milli = std::max(kept.milli, share.milli);
      }
    }
    Devices out;
    for (const auto& [device, share] : all) out.push_back(share);
    return out;
  }

  void hold(Book& book, const Devices& devices) {
    for (const DeviceShare& share : book.held) in_use_[share.device] -= share.milli;
    book.held = devices;
    for (const DeviceShare& share : book.held) {
      in_use_[share.device] += share.milli;
      EXPECT_LE(in_use_[share.device], static_cast<int>(kWhole))
          << "device " << share.device << " is given twice";
    }
  }

  void settle(Book& book, bool done) {
    switch (book.pending) {
      case CommandKind::kStart:
        if (!done) hold(book, {});
        break;
      case CommandKind::kStop:
        if (done) hold(book, {});
        break;
      case CommandKind::kResize:
        if (!book.held.empty()) hold(book, done ? book.asked : book.before);
        break;
      case CommandKind::kNone:
        break;
    }
    book.pending = CommandKind::kNone;
  }

  void expect_whole_gang(const Submission& spec, const Allocation& a) const {
    ASSERT_LT(a.configuration, spec.menu->configurations.size());
    const Configuration& c = spec.menu->configurations[a.configuration];
    EXPECT_EQ(a.devices.size(), size_t{c.devices} * a.replicas) << "a gang is not whole";
    EXPECT_FALSE(a.devices.empty());
    if (spec.kind != WorkloadKind::kService) {
      EXPECT_EQ(a.replicas, 1u);
    }
    EXPECT_LE(a.replicas, spec.max_replicas);
    if (!spec.elastic) {
      EXPECT_EQ(a.configuration, 0) << "a job that is not elastic changed shape";
    }
    for (size_t i = 0; i < a.devices.size(); ++i) {
      const DeviceShare& share = a.devices[i];
      ASSERT_LT(share.device, world_.cluster.device_count());
      if (i > 0) {
        EXPECT_LT(a.devices[i - 1].device, share.device) << "not ascending";
      }
      EXPECT_EQ(share.milli, a.devices[0].milli);
      EXPECT_LE(share.milli, c.milli);
      const TypeId type = world_.cluster.type_of(share.device);
      if (c.type != kAnyType) {
        EXPECT_EQ(type, c.type);
      }
      const Node& node = world_.cluster.nodes[world_.cluster.node_of(share.device)];
      if (!spec.spot_ok) {
        EXPECT_EQ(node.node_class, NodeClass::kOnDemand);
      }
    }
  }

  const RandomCase& world_;
  std::vector<Book> books_;
  std::vector<int> in_use_;
  std::set<JobId> finished_, withdrawn_, rejected_;
  Seconds last_ = 0;
  long events_ = 0, decisions_ = 0;
};

class Protocol : public testing::TestWithParam<std::string> {};

void run_case(const Policy& policy, std::uint64_t seed) {
  const std::string name = policy.name() + ", WEFT_SEED=" + std::to_string(seed);
  SCOPED_TRACE(name);
  std::snprintf(running_case, sizeof running_case, "aborted in the case: %s\n", name.c_str());
  const RandomCase world = make_random_case(seed);
  Auditor auditor(world);
  try {
    Result<RunResult> result =
        run_trace(world.cluster, world.trace, policy, world.options, &auditor);
    ASSERT_TRUE(result.ok()) << result.error().text();
    auditor.expect_all_ended(*result);
  } catch (const EndlessRun& endless) {
    FAIL() << endless.what();
  }
}

TEST_P(Protocol, HoldsInRandomWorlds) {
  const std::unique_ptr<Policy> policy = testing_policy(GetParam());
  std::signal(SIGABRT, say_case);
  if (const char* seed = std::getenv("WEFT_SEED"); seed != nullptr) {
    run_case(*policy, std::strtoull(seed, nullptr, 10));
    return;
  }
  const std::uint64_t cases = std::getenv("WEFT_SOAK") != nullptr ? 2000 : 60;
  for (std::uint64_t seed = 1; seed <= cases && !HasFailure(); ++seed) run_case(*policy, seed);
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Protocol, testing::ValuesIn(policy_names()),
                         policy_test_name);

}  // namespace
}  // namespace weft

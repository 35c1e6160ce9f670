// Agents and keepers killed at random, with a ledger that the ranks themselves write.
#include <fstream>
#include <thread>
#include <tuple>

#include "base/random.h"
#include "tests/live/agent_testing.h"

namespace weft {
namespace {

struct LedgerLine {
  std::string uuid;
  int epoch = 0, rank = 0;
  pid_t pid = 0;
};

std::vector<LedgerLine> read_ledger(const AgentNode& node) {
  std::vector<LedgerLine> lines;
  std::istringstream in(slurp(node.scratch.path("ledger")));
  std::string word;
  for (LedgerLine line; in >> word >> line.uuid >> line.epoch >> line.rank >> line.pid;) {
    lines.push_back(line);
  }
  return lines;
}

// Starts each epoch of a few jobs over and over, as a controller does that hears little, while the
// agent and keepers die. Every run must start at most once, and all must be gone at the end.
class Drill {
 public:
  explicit Drill(std::uint64_t seed) : random_(seed) {}

  void run(int kills) {
    controller_.wait({{"op", "hello"}});
    for (int i = 0; i < kills; ++i) {
      for (int job = 0; job < kJobs; ++job) push(job);
      std::this_thread::sleep_for(std::chrono::milliseconds(draw(120)));
      if (draw(3) == 0) {
        kill_a_keeper();
      } else {
        node_.kill_agent();
        node_.start();
      }
      check();
    }
    finish();
  }

 private:
  static constexpr int kJobs = 3;

  unsigned draw(unsigned below) { return static_cast<unsigned>(random_.below(below)); }
  static std::string uuid_of(int job) { return "job-" + std::to_string(job); }

  // Start while nothing is known, stop now and then, and a new epoch once all ranks have ended.
  void push(int job) {
    const std::string uuid = uuid_of(job);
    int& epoch = epochs_[job];
    const AgentJson run = {{"uuid", uuid}, {"epoch", epoch}};
    const auto with = [&](AgentJson message) {
      message.update(run);
      return message;
    };
    if (epoch > 0 && draw(4) == 0) {
      controller_.send(with({{"op", "stop"}, {"number", 2}, {"grace_s", 0}}));
    }
    const bool over =
        epoch == 0 ||
        !controller_.all(with({{"op", "outcome"}, {"number", 2}, {"result", "done"}})).empty();
    if (over) {
      if (epoch > 0) controller_.send(with({{"op", "forget"}}));
      ++epoch;
    }
    AgentJson order = node_.order(uuid,
                                  "echo start $WEFT_UUID $WEFT_EPOCH $RANK $$ >>$T/ledger; "
                                  "trap '' TERM; sleep 1000; sleep 1000",
                                  2);
    order["epoch"] = epoch;
    order["environment"]["WEFT_UUID"] = uuid;
    order["environment"]["WEFT_EPOCH"] = std::to_string(epoch);
    controller_.send(order);
  }

  void kill_a_keeper() {
    const int job = static_cast<int>(draw(kJobs));
    const pid_t keeper = node_.keeper(uuid_of(job), static_cast<int>(draw(2)), epochs_[job]);
    if (keeper > 1 && lives(keeper)) kill(keeper, SIGKILL);
  }

  void check() {
    std::map<std::tuple<std::string, int, int>, int> starts;
    std::map<std::pair<std::string, int>, std::set<int>> living;
    for (const LedgerLine& line : read_ledger(node_)) {
      ++starts[{line.uuid, line.epoch, line.rank}];
      if (lives(line.pid)) living[{line.uuid, line.rank}].insert(line.epoch);
    }
    for (const auto& [run, count] : starts) {
      ASSERT_EQ(count, 1) << std::get<0>(run) << " epoch " << std::get<1>(run) << " rank "
                          << std::get<2>(run);
    }
    for (const auto& [rank, epochs] : living) {
      ASSERT_LE(epochs.size(), 1U)
          << rank.first << " rank " << rank.second << " lives in two epochs";
    }
  }

  void finish() {
    EXPECT_TRUE(wait_until([&] {
      for (int job = 0; job < kJobs; ++job) {
        controller_.send({{"op", "stop"},
                          {"uuid", uuid_of(job)},
                          {"epoch", epochs_[job]},
                          {"number", 9},
                          {"grace_s", 0}});
      }
      for (int job = 0; job < kJobs; ++job) {
        const AgentJson done = {{"op", "outcome"},
                                {"uuid", uuid_of(job)},
                                {"epoch", epochs_[job]},
                                {"number", 9},
                                {"result", "done"}};
        if (controller_.wait(done, 1, 0.5).is_null()) return false;
      }
      return true;
    })) << controller_.said()
        << node_.err();
    check();
    const auto ledger = read_ledger(node_);
    EXPECT_FALSE(ledger.empty());
    for (const LedgerLine& line : ledger) EXPECT_FALSE(lives(line.pid)) << line.uuid;
  }

  FakeController controller_{2};
  AgentNode node_{controller_};
  Random random_;
  std::map<int, int> epochs_;
};

TEST(AgentDrill, NoRankRunsTwiceWhateverDies) {
  const std::uint64_t seed = 20261116;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Drill(seed).run(20);
}

}  // namespace
}  // namespace weft

// Our own executor: real agents, one process for each node.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "live/daemon/fleet.h"
#include "tests/live/engine_testing.h"
#include "tests/live/launch_testing.h"

namespace weft {
namespace {

class LocalWorld : public EngineWorld {
 public:
  explicit LocalWorld(ContractController& controller)
      : controller_(controller), secret_(*runtime::Secret::fresh()) {
    secret_file_ = scratch_.write("secret", secret_.hex() + "\n");
    chmod(secret_file_.c_str(), 0600);
    std::filesystem::create_directory(scratch_.path("ledger"));
    EXPECT_TRUE(runtime::adopt_orphans().ok());
    open("127.0.0.1:0");
    agents_.resize(controller.cluster.nodes.size());
    start_agents();
  }
  ~LocalWorld() override {
    for (const std::string& uuid : uuids_) {
      for (int epoch = 1; epoch <= kMostEpochs; ++epoch) {
        for (const pid_t pid : pids(uuid, epoch)) kill(pid, SIGKILL);
      }
    }
    until([&] {
      for (const std::string& uuid : uuids_) {
        for (int epoch = 1; epoch <= kMostEpochs; ++epoch) {
          if (alive(uuid, epoch) > 0) return false;
        }
      }
      return true;
    });
    kill_agents(SIGTERM);
  }

  live::Engine& engine() override { return *fleet_; }
  live::JobSpec job(Conduct conduct) override {
    static const char* const kScripts[] = {
        "trap 'echo x >$F.usr1' USR1; while :; do sleep 0.02; done", "sleep 0.05", "exit 3",
        "trap '' TERM; while :; do sleep 0.02; done"};
    live::JobSpec spec;
    spec.name = "contract";
    spec.workdir = "/";
    spec.envs["LEDGER"] = scratch_.path("ledger");
    spec.checkpoint.grace = 0.1;
    spec.run = std::string("F=\"$LEDGER/$WEFT_JOB.$WEFT_JOB_EPOCH.$RANK\"; echo $$ >$F.pid; ") +
               "echo $WEFT_DEVICES >$F.devices; echo x >>$F; " +
               kScripts[static_cast<int>(conduct)];
    return spec;
  }
  bool until(const std::function<bool()>& holds) override { return wait_until(holds); }
  int begun(const std::string& uuid, int epoch) override {
    int count = 0;
    for (int rank = 0; rank < kMostRanks; ++rank) {
      const std::string lines = slurp(file(uuid, epoch, rank, ""));
      count += static_cast<int>(std::count(lines.begin(), lines.end(), 'x'));
    }
    return count;
  }
  int alive(const std::string& uuid, int epoch) override {
    int count = 0;
    for (const pid_t pid : pids(uuid, epoch)) count += lives(pid);
    return count;
  }
  int signalled(const std::string& uuid, int epoch) override {
    int count = 0;
    for (int rank = 0; rank < kMostRanks; ++rank) {
      count += !slurp(file(uuid, epoch, rank, ".usr1")).empty();
    }
    return count;
  }
  std::string devices(const std::string& uuid, int epoch) override {
    std::string all;
    until([&] { return pids(uuid, epoch).size() == 2; });
    for (int rank = 0; rank < 2; ++rank) {
      const std::string mine = slurp(file(uuid, epoch, rank, ".devices"));
      all += (rank > 0 ? " " : "") + mine.substr(0, mine.find('\n'));
    }
    return all;
  }
  void carry_out_unheard(const KeptCommand& command, const live::JobView& job) override {
    fleet_->carry_out(command, job);
    restart_engine();
  }
  void restart_engine() override {
    kill_agents(SIGKILL);
    start_agents();
  }
  void restart_controller() override {
    const int port = fleet_->port();
    fleet_.reset();
    open("127.0.0.1:" + std::to_string(port));
    wait_for_agents();
  }

 private:
  static constexpr int kMostRanks = 4, kMostEpochs = 4;

  void open(const std::string& address) {
    live::FleetOptions options;
    options.address = address;
    options.secret = secret_;
    options.log_root = scratch_.path("logs");
    auto fleet = live::Fleet::open(controller_.cluster, options);
    ASSERT_TRUE(fleet.ok()) << fleet.error().text();
    fleet_ = std::move(*fleet);
    fleet_->begin(controller_, controller_.board, ++term_);
  }
  void start_agents() {
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      const std::string name = controller_.cluster.nodes[i].name;
      const std::vector<std::string> words = {
          WEFT_BINARY,     "agent",
          "--controller",  "127.0.0.1:" + std::to_string(fleet_->port()),
          "--secret-file", secret_file_,
          "--dir",         scratch_.path(name),
          "--node",        name,
          "--devices",     "2"};
      auto started = runtime::ChildProcess::start(
          {WEFT_BINARY, words, runtime::full_environment({}, {}), scratch_.path(name + ".out"),
           scratch_.path(name + ".err"), std::nullopt});
      ASSERT_TRUE(started.ok());
      agents_[i].emplace(std::move(*started));
    }
    wait_for_agents();
  }
  void wait_for_agents() {
    EXPECT_TRUE(wait_until([&] {
      const auto views = fleet_->agents();
      return std::all_of(views.begin(), views.end(), [](const auto& v) { return v.connected; });
    }));
  }
  void kill_agents(int number) {
    for (auto& agent : agents_) {
      if (!agent || agent->reap()) continue;
      kill(agent->pid(), number);
      wait_until([&] { return agent->reap().has_value(); });
    }
  }
  std::string file(const std::string& uuid, int epoch, int rank, const char* end) {
    uuids_.insert(uuid);
    return scratch_.path("ledger/" + uuid + "." + std::to_string(epoch) + "." +
                         std::to_string(rank) + end);
  }
  std::vector<pid_t> pids(const std::string& uuid, int epoch) {
    std::vector<pid_t> found;
    for (int rank = 0; rank < kMostRanks; ++rank) {
      const pid_t pid = std::atoi(slurp(file(uuid, epoch, rank, ".pid")).c_str());
      if (pid > 0) found.push_back(pid);
    }
    return found;
  }

  ContractController& controller_;
  const Scratch scratch_;
  const runtime::Secret secret_;
  std::string secret_file_;
  std::uint64_t term_ = 0;
  std::unique_ptr<live::Fleet> fleet_;
  std::vector<std::optional<runtime::ChildProcess>> agents_;
  std::set<std::string> uuids_;
};

}  // namespace

std::unique_ptr<EngineWorld> local_world(ContractController& controller) {
  return std::make_unique<LocalWorld>(controller);
}

}  // namespace weft

// Every policy while jobs are held and released, and lose ranks, at random: none starts what is
// held, none forgets what was released, and what was told and decided is enough to make the
// controller again.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <memory>

#include "base/random.h"
#include "control/control_testing.h"
#include "control/decision.h"
#include "policy/composition.h"

namespace weft {
namespace {

// A controller that only hears what another was told and what its policy decided.
class Follower : public Journal {
 public:
  explicit Follower(const Cluster& cluster) : cluster_(cluster) { begin(); }
  void event(const Event& event) override { controller_->handle(event); }
  void decision(Seconds at) override { at_ = at; }
  void decided(const Draft& draft) override {
    const Status folded = controller_->fold(at_, decision_of(draft));
    EXPECT_TRUE(folded.ok()) << folded.error().text();
  }
  void restart() {
    const std::string image = controller_->image();
    begin();
    EXPECT_TRUE(controller_->restore(image).ok());
  }
  std::string image() const { return controller_->image(); }
  bool asked_policy() const { return !policy_.changes.empty(); }

 private:
  void begin() {
    controller_ = std::make_unique<Controller>(cluster_, policy_, executor_, ControllerOptions{});
  }

  const Cluster& cluster_;
  ObedientPolicy policy_;
  ListeningExecutor executor_;
  std::unique_ptr<Controller> controller_;
  Seconds at_ = 0;
};

class World {
 public:
  World(const Cluster& cluster, const Policy& policy)
      : follower_(cluster),
        controller_(cluster, policy, executor_, ControllerOptions{}, &follower_) {}

  void submit(Random& random) {
    auto submission = std::make_shared<Submission>();
    auto menu = std::make_shared<Menu>();
    menu->configurations.emplace_back().devices = 1 + static_cast<std::uint32_t>(random.below(4));
    if (random.chance(0.3)) {  // any number of ranks up to that
      submission->elastic = submission->in_place = true;
      menu->configurations[0].pack = Level::kCluster;
      menu->configurations[0].rate = menu->configurations[0].devices;
      for (std::uint32_t devices = menu->configurations[0].devices - 1; devices > 0; --devices) {
        menu->configurations.push_back(menu->configurations[0]);
        menu->configurations.back().devices = devices;
        menu->configurations.back().rate = devices;
      }
    }
    submission->menu = menu;
    submission->tenant = static_cast<TenantId>(random.below(2));
    submission->priority = static_cast<std::int32_t>(random.below(3));
    submission->submit = now_;
    submission->estimate = {600.0, EstimateSource::kUser};
    if (random.chance(0.3)) submission->deadline = now_ + 1e6;
    Event event;
    event.kind = EventKind::kSubmit;
    event.submission = submission;
    tell(event);
  }
  void tell(Event event) {
    event.at = now_;
    controller_.handle(event);
  }
  void hold(JobId job, bool stops) {
    Event event = about_job(EventKind::kHold, job);
    event.value = stops ? 1 : 0;
    tell(event);
  }
  // Decides until nothing more is asked for now, and answers everything.
  void settle() {
    for (int i = 0; i < 50; ++i) {
      controller_.decide(now_);
      if (answered_ == executor_.sent.size()) return;
      while (answered_ < executor_.sent.size()) {
        const SentCommand command = executor_.sent[answered_++];
        if (command.kind == CommandKind::kStart) {
          EXPECT_NE(controller_.state().job(command.job).phase, Phase::kHeld) << command.job;
          runs_[command.job] = command.epoch;
        }
        if (command.kind == CommandKind::kStop) runs_.erase(command.job);
        Event event = about_job(EventKind::kOutcome, command.job, command.epoch);
        event.number = command.number;
        tell(event);
      }
    }
  }
  void finish_some(Random& random, double chance) {
    const auto runs = runs_;
    for (const auto& [job, epoch] : runs) {
      if (!random.chance(chance)) continue;
      runs_.erase(job);
      tell(about_job(EventKind::kFinished, job, epoch));
    }
  }
  // Of jobs that are resized in place: their last node is lost, and is back.
  void lose_some(Random& random, double chance) {
    for (const auto& [id, epoch] : std::map(runs_)) {
      const JobState& job = state().job(id);
      if (!job.spec->in_place || job.held.empty() || !random.chance(chance)) continue;
      Event lost = about_job(EventKind::kLost, id, epoch);
      lost.node = state().cluster().node_of(job.held.devices.back().device);
      lost.number = 1;
      tell(lost);
      EXPECT_TRUE(job.held.empty() ||
                  job.held.devices.size() ==
                      job.spec->menu->configurations[job.held.configuration].devices);
    }
  }
  void pass(Seconds time) {
    now_ += time;
    tell(Event{});
  }
  void check_follower() {
    EXPECT_EQ(follower_.image(), controller_.image());
    EXPECT_FALSE(follower_.asked_policy());
    follower_.restart();
  }
  const State& state() const { return controller_.state(); }
  bool all_ended() const {
    for (const JobState& job : state().jobs) {
      if (job.phase != Phase::kEnded) return false;
    }
    return true;
  }

 private:
  ListeningExecutor executor_;
  Follower follower_;
  Controller controller_;
  Seconds now_ = 0;
  std::size_t answered_ = 0;
  std::map<JobId, std::uint32_t> runs_;
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Composition& policy : known_policies()) all.push_back(policy.name);
  return all;
}

class HeldUnderPolicies : public testing::TestWithParam<std::string> {};

TEST_P(HeldUnderPolicies, NothingHeldStartsAndNothingReleasedIsForgotten) {
  const Cluster cluster = *parse_cluster_shorthand("4x2");
  const auto policy = assemble(*find_policy(GetParam()));
  ASSERT_TRUE(policy.ok()) << policy.error().text();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world(cluster, **policy);
    for (int round = 0; round < 30; ++round) {
      for (std::uint64_t n = random.below(3); n > 0; --n) world.submit(random);
      for (JobId job = 0; job < world.state().jobs.size(); ++job) {
        if (random.chance(0.15)) world.hold(job, random.chance(0.5));
        if (random.chance(0.15)) world.tell(about_job(EventKind::kRelease, job));
      }
      world.settle();
      world.lose_some(random, 0.3);
      world.finish_some(random, 0.1);
      world.pass(20);
      world.settle();
      if (round % 10 == 5) world.check_follower();
    }
    for (JobId job = 0; job < world.state().jobs.size(); ++job) {
      world.tell(about_job(EventKind::kRelease, job));
    }
    for (int round = 0; round < 300 && !world.all_ended(); ++round) {
      world.settle();
      world.finish_some(random, 1);
      world.pass(60);
    }
    world.check_follower();
    EXPECT_TRUE(world.all_ended())
        << world.state().waiting << " wait, " << world.state().placed << " are placed";
  }
}

INSTANTIATE_TEST_SUITE_P(All, HeldUnderPolicies, testing::ValuesIn(names()),
                         [](const testing::TestParamInfo<std::string>& chosen) {
                           std::string name = chosen.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace weft

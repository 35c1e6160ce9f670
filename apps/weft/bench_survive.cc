#include "bench_survive.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "base/stopwatch.h"
#include "bench_meeting.h"

namespace weft {
namespace {

struct SurviveArguments {
  std::string folder, interface;
  int rank = 0, ranks = 4;
  double seconds = 20, deadline_s = 8;
};

double now_s() { return static_cast<double>(monotonic_ns()) * 1e-9; }

// One line for each thing that happens, with the time on the host's clock.
void say(const SurviveArguments& a, const char* event, const runtime::Membership& membership,
         std::int64_t steps) {
  std::string members;
  for (const auto member : membership.members) {
    members += fmt::format("{}{}", members.empty() ? "" : ",", member);
  }
  std::fputs(fmt::format("{{\"t\":{:.6f},\"member\":{},\"event\":\"{}\",\"number\":{},"
                         "\"members\":[{}],\"steps\":{}}}\n",
                         now_s(), a.rank, event, membership.number, members, steps)
                 .c_str(),
             stdout);
  std::fflush(stdout);
}

// Every member adds its number plus one, so that the sum tells who took part.
Status sum_once(runtime::Group& group, const runtime::Membership& membership, bool& right) {
  std::vector<float> values(
      4096, static_cast<float>(membership.members[static_cast<std::size_t>(membership.rank)] + 1));
  float want = 0;
  for (const auto member : membership.members) want += static_cast<float>(member + 1);
  const Status status = group.all_reduce_now(
      values.data(), values.size(), runtime::DataType::kFloat32, runtime::ReduceOp::kSum, {});
  right = true;
  for (const float value : values) right &= value == want;
  // As in training, a step counts when all say that they have the sum.
  return status.ok() ? group.barrier_now({}) : status;
}

int run_survivor(const SurviveArguments& a) {
  auto meeting = meet(a.folder, a.interface, a.rank, a.ranks);
  if (!meeting.ok()) return report_error("bench survive", meeting.error(), kExitNo);
  meeting->options.deadline_s = a.deadline_s;
  const auto group = runtime::Group::start(meeting->options);
  if (!group.ok()) {
    std::fputs(fmt::format("weft bench survive: {}\n", group.error().text()).c_str(), stderr);
    return kExitNo;
  }
  const double end = now_s() + a.seconds;
  double said = 0;
  std::int64_t steps = 0;  // in this membership
  while (now_s() < end) {
    const runtime::Membership membership = (*group)->membership();
    bool right = true;
    const Status status = sum_once(**group, membership, right);
    if (status.ok()) {
      ++steps;
      if (!right) say(a, "wrong", membership, steps);
      if (now_s() - said > 0.02) {
        say(a, "step", membership, steps);
        said = now_s();
      }
      continue;
    }
    say(a, "error", membership, steps);
    const auto after = (*group)->reform(a.deadline_s);
    if (!after.ok()) {
      say(a, "ended", membership, steps);
      std::fputs(fmt::format("member {}: {}\n", a.rank, after.error().what).c_str(), stderr);
      return kExitNo;
    }
    steps = 0;
    say(a, "reformed", *after, steps);
    said = 0;
  }
  (*group)->leave();
  return kExitDone;
}

}  // namespace

Verb add_bench_survive(CLI::App& bench) {
  const auto a = std::make_shared<SurviveArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("survive", "a rank that sums through faults, for drills");
  verb->group(kHidden);
  verb->add_option("--ranks", a->ranks)->check(CLI::Range(1, 4096));
  verb->add_option("--rank", a->rank)->required()->check(CLI::Range(0, 4095));
  verb->add_option("--rendezvous", a->folder, "an empty folder that all ranks see")->required();
  verb->add_option("--interface", a->interface, "of the network (loopback)");
  verb->add_option("--seconds", a->seconds, "until it leaves (20)")->check(CLI::Range(1.0, 3600.0));
  verb->add_option("--deadline", a->deadline_s, "seconds for a sum or an agreement (8)")
      ->check(CLI::Range(0.5, 3600.0));
  return {verb, [a] { return run_survivor(*a); }};
}

}  // namespace weft

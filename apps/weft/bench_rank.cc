#include "bench_rank.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "base/stopwatch.h"
#include "bench/peers/measure.h"
#include "bench_meeting.h"
#include "runtime/chooser.h"
#include "runtime/group.h"
#include "runtime/wait.h"

namespace weft {
namespace {

struct RankArguments {
  std::string folder, interface, algorithm, congestion, network;
  std::vector<std::size_t> sizes_bytes;
  int rank = 0, ranks = 1, streams = 2;
  double credit_mb = 0;
  bool encrypt = false, start = false;
};

// Connections are made beside the work of the group: those that are there when nothing new has
// come for a while.
runtime::Connections settled(const runtime::Group& group) {
  constexpr int kQuietLooks = 10;
  constexpr double kLook_s = 0.01, kMost_s = 2;
  runtime::Connections last = group.connections();
  int quiet = 0;
  const auto nothing_new = [&] {
    const runtime::Connections now = group.connections();
    quiet = now.control == last.control && now.data == last.data ? quiet + 1 : 0;
    last = now;
    return quiet >= kQuietLooks;
  };
  runtime::wait_until(nothing_new, kMost_s, kLook_s);
  return last;
}

std::string in_json(const runtime::Connections& held) {
  return fmt::format("{{\"control\":{},\"data\":{},\"segments\":{}}}", held.control, held.data,
                     held.segments);
}

// One line: when this rank was in its group, and what it held then and after one all-reduce.
Status tell_start(const RankArguments& a, runtime::Group& group) {
  const std::int64_t in_group_ns = monotonic_ns();
  const runtime::Connections first = settled(group);
  Status met = group.barrier_now({});
  if (!met.ok()) return met;
  std::vector<float> data(a.sizes_bytes[0] / sizeof(float), 1.0F);
  met = group.all_reduce_now(data.data(), data.size(), runtime::DataType::kFloat32,
                             runtime::ReduceOp::kSum, {});
  if (!met.ok()) return met;
  const runtime::Connections then = settled(group);
  std::fputs(fmt::format("{{\"rank\":{},\"in_group_ns\":{},\"after_start\":{},"
                         "\"after_all_reduce\":{},\"links\":\"{}\"}}\n",
                         a.rank, in_group_ns, in_json(first), in_json(then), to_text(group.links()))
                 .c_str(),
             stdout);
  std::fflush(stdout);
  return group.barrier_now({});
}

// What rank 0 expects of each size, by the schedules and the links that were measured.
std::string predictions(const RankArguments& a, const runtime::Group& group) {
  std::string lines;
  for (const std::size_t bytes : a.sizes_bytes) {
    const runtime::Choice choice = group.explain(runtime::Operation::kAllReduce, bytes);
    if (a.rank != 0 || choice.expected_s == kNever) continue;
    lines += fmt::format("{{\"size_bytes\":{},\"predicted_s\":{:.6g},\"algorithm\":\"{}\"}}\n",
                         bytes, choice.expected_s, choice.algorithm);
  }
  return lines;
}

int run_rank(const RankArguments& a) {
  auto meeting = meet(a.folder, a.interface, a.rank, a.ranks);
  if (!meeting.ok()) return report_error("bench rank", meeting.error(), kExitNo);
  runtime::GroupOptions& options = meeting->options;
  options.shared_memory = a.network.empty();
  if (!a.network.empty()) options.network = a.network;
  options.encrypt = a.encrypt;
  options.algorithm = a.algorithm;
  options.congestion = a.congestion;
  options.streams = a.streams;
  if (a.credit_mb > 0) options.credit_bytes = a.credit_mb * 1048576;
  options.deadline_s = 120;
  const auto group = runtime::Group::start(options);
  if (!group.ok()) return report_error("bench rank", group.error(), kExitNo);
  if (a.start) {
    const Status told = tell_start(a, **group);
    if (!told.ok()) return report_error("bench rank", told.error(), kExitNo);
    (*group)->leave();
    return kExitDone;
  }

  Status failure;
  Measured library{a.rank, a.ranks, {}, {}};
  library.all_reduce = [&](float* data, std::size_t count) {
    const Status status = (*group)->all_reduce_now(data, count, runtime::DataType::kFloat32,
                                                   runtime::ReduceOp::kSum, {});
    if (!status.ok() && failure.ok()) failure = status;
  };
  library.barrier = [&] {
    const Status status = (*group)->barrier_now({});
    if (!status.ok() && failure.ok()) failure = status;
  };
  const std::string lines = predictions(a, **group) + measure_all_reduce(library, a.sizes_bytes);
  if (!failure.ok()) return report_error("bench rank", failure.error(), kExitNo);
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
  library.barrier();
  (*group)->leave();
  return kExitDone;
}

}  // namespace

Verb add_bench_rank(CLI::App& bench) {
  const auto a = std::make_shared<RankArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("rank", "one rank, for bench allreduce and bench start");
  verb->group(kHidden);
  verb->add_option("--ranks", a->ranks)->required()->check(CLI::Range(1, 4096));
  verb->add_option("--rank", a->rank)->required()->check(CLI::Range(0, 4095));
  verb->add_option("--rendezvous", a->folder, "an empty folder that all ranks see")->required();
  verb->add_option("--sizes", a->sizes_bytes, "bytes, comma separated")->delimiter(',')->required();
  verb->add_option("--interface", a->interface, "of the network (loopback)");
  verb->add_option("--algorithm", a->algorithm, "of the all-reduce (by size)");
  verb->add_option("--congestion", a->congestion, "control of TCP (the kernel's)");
  verb->add_option("--streams", a->streams, "TCP connections per pair (2)")
      ->check(CLI::Range(1, 64));
  verb->add_option("--credit", a->credit_mb, "MB under way at a time (the group's default)")
      ->check(CLI::Range(0.0625, 65536.0));
  verb->add_option("--network", a->network, "tcp or ucx also inside a host (shared memory)")
      ->check(CLI::IsMember({"tcp", "ucx"}));
  verb->add_flag("--encrypt", a->encrypt, "what goes over TCP");
  verb->add_flag("--start", a->start, "tell of the group's start instead, for bench start");
  return {verb, [a] { return run_rank(*a); }};
}

}  // namespace weft

#include "bench_rank.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "bench/peers/measure.h"
#include "bench_meeting.h"
#include "runtime/group.h"

namespace weft {
namespace {

struct Arguments {
  std::string folder, interface, algorithm, congestion;
  std::vector<std::size_t> sizes_bytes;
  int rank = 0, ranks = 1, streams = 2;
  double credit_mb = 0;
  bool tcp = false, encrypt = false;
};

int complain(const Error& error) {
  std::fputs(fmt::format("weft bench rank: {}\n", error.text()).c_str(), stderr);
  return kExitNo;
}

int run(const Arguments& a) {
  auto meeting = meet(a.folder, a.interface, a.rank, a.ranks);
  if (!meeting.ok()) return complain(meeting.error());
  runtime::GroupOptions& options = meeting->options;
  options.shared_memory = !a.tcp;
  options.encrypt = a.encrypt;
  options.algorithm = a.algorithm;
  options.congestion = a.congestion;
  options.streams = a.streams;
  if (a.credit_mb > 0) options.credit_bytes = a.credit_mb * 1048576;
  options.deadline_s = 120;
  const auto group = runtime::Group::start(options);
  if (!group.ok()) return complain(group.error());

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
  const std::string lines = measure_all_reduce(library, a.sizes_bytes);
  if (!failure.ok()) return complain(failure.error());
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
  library.barrier();
  (*group)->leave();
  return kExitDone;
}

}  // namespace

Verb add_bench_rank(CLI::App& bench) {
  const auto a = std::make_shared<Arguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("rank", "one rank of our all-reduce, for bench allreduce");
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
  verb->add_flag("--tcp", a->tcp, "no shared memory, also inside a host");
  verb->add_flag("--encrypt", a->encrypt, "what goes over TCP");
  return {verb, [a] { return run(*a); }};
}

}  // namespace weft

#include "bench_rank.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "base/files.h"
#include "base/stopwatch.h"
#include "bench/peers/measure.h"
#include "runtime/group.h"
#include "runtime/net/socket.h"
#include "runtime/net/store.h"

namespace weft {
namespace {

struct Arguments {
  std::string folder, interface, algorithm, congestion;
  std::vector<std::size_t> sizes_bytes;
  int rank = 0, ranks = 1, streams = 2;
  bool tcp = false, encrypt = false;
};

constexpr double kMeetS = 30;

// Rank 0 serves the store and leaves its address and the secret in the folder; others wait for it.
struct Meeting {
  std::unique_ptr<runtime::StoreServer> server;
  std::string address;
  runtime::Secret secret;
};

Result<Meeting> host_meeting(const std::string& file, const std::string& own) {
  Meeting meeting;
  auto secret = runtime::Secret::fresh();
  if (!secret.ok()) return secret.error();
  meeting.secret = *secret;
  auto server = runtime::StoreServer::start(own + ":0", meeting.secret);
  if (!server.ok()) return server.error();
  meeting.server = std::move(*server);
  meeting.address = fmt::format("{}:{}", own, meeting.server->port());
  const Status written =
      write_file_atomically(file, meeting.secret.hex() + " " + meeting.address);
  if (!written.ok()) return written.error();
  return meeting;
}

Result<Meeting> find_meeting(const std::string& file) {
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(kMeetS * 1e9);
  while (!is_file(file)) {
    if (monotonic_ns() > deadline) {
      return Error{ErrorKind::kIo, fmt::format("rank 0 did not write {} in {} s", file, kMeetS), ""};
    }
    std::this_thread::yield();
  }
  const auto text = read_file(file, 4096);
  if (!text.ok()) return text.error();
  Meeting meeting;
  const std::size_t space = text->find(' ');
  auto secret = runtime::Secret::from_hex(text->substr(0, space));
  if (!secret.ok()) return secret.error();
  meeting.secret = *secret;
  if (space != std::string::npos) meeting.address = text->substr(space + 1);
  return meeting;
}

int complain(const Error& error) {
  std::fputs(fmt::format("weft bench rank: {}\n", error.text()).c_str(), stderr);
  return kExitNo;
}

int run(const Arguments& a) {
  std::string own = "127.0.0.1";
  if (!a.interface.empty()) {
    const auto address = runtime::address_of_interface(a.interface);
    if (!address.ok()) return complain(address.error());
    own = *address;
  }
  const std::string file = path_in(a.folder, "meeting");
  const auto meeting = a.rank == 0 ? host_meeting(file, own) : find_meeting(file);
  if (!meeting.ok()) return complain(meeting.error());
  runtime::GroupOptions options;
  options.store = meeting->address;
  options.secret = meeting->secret;
  options.rank = a.rank;
  options.member = static_cast<std::uint32_t>(a.rank);
  options.ranks = a.ranks;
  options.interface_address = own;
  options.shared_memory = !a.tcp;
  options.encrypt = a.encrypt;
  options.algorithm = a.algorithm;
  options.congestion = a.congestion;
  options.streams = a.streams;
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
  verb->add_flag("--tcp", a->tcp, "no shared memory, also inside a host");
  verb->add_flag("--encrypt", a->encrypt, "what goes over TCP");
  return {verb, [a] { return run(*a); }};
}

}  // namespace weft

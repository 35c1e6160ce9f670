// The ranks of a job, and what they do together. One object per process; sub-groups share it.
//
// An operation that fails (a rank died, calls differ, a deadline passed, it was cancelled) breaks
// the group: every later operation gives the same error, on every rank, until the ranks that are
// left agree on a new membership with reform(). Nothing of the old membership is accepted then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "runtime/call.h"
#include "runtime/net/secret.h"
#include "runtime/record/slow.h"

namespace weft::runtime {

struct Choice;
struct LinkSpeeds;

struct GroupOptions {
  std::string store;      // host:port of the rendezvous store
  Secret secret;          // of the job
  std::uint64_t job = 0;  // number of the job, the same on all ranks
  std::uint32_t job_epoch = 0;
  std::uint32_t member = 0;  // unique in the job; without a launcher the rank
  int rank = 0;
  int ranks = 1;
  bool join = false;              // joins a running group instead of forming one
  bool take_member = false;       // a joiner that gets its number from the store
  std::string interface_address;  // where to listen; "": the one that reaches the store
  Seconds start_deadline_s = 60;
  Seconds deadline_s = 1800;    // of an operation that names none
  Seconds silence_s = 2.0;      // without a sign of life, after which a member is unreachable
  std::string network = "tcp";  // between hosts; or ucx, where it is built
  int streams = 2;              // TCP connections per pair
  std::string congestion;       // TCP congestion control; "": the kernel's
  double pace_bytes_per_s = 0;  // 0: none
  int dscp = 0;
  bool encrypt = false;
  bool shared_memory = true;  // false: the network also inside a host
  double credit_bytes = 0;    // under way at a time; 0: 4 MiB inside a host, 16 MiB between hosts
  std::string algorithm;      // of all-reduce; "": the one expected to be fastest
  std::string links;          // speeds of the links (links.h); "": measured when the ranks meet
  std::string record;   // the recording goes to this file, with .rankN, at the end and on failure
  std::string log_dir;  // for stacks-rankN.txt on a hang; "": none are saved
  Seconds hang_s = 0;   // after which a late operation asks who is missing; 0: shortly before its
                        // deadline

  // From the environment that `weft launch` (or torchrun, with WEFT_STORE) gives. Errors name the
  // variable.
  static Result<GroupOptions> from_environment();
};

struct CallOptions {
  Seconds deadline_s = 0;    // 0: the group's
  std::uint32_t stream = 0;  // operations of one stream are matched in the order of their calls
  double priority = 0;       // the least goes first
};

// An operation under way. Dropping it lets it go on; the buffers must stay until it has ended.
class Work {
 public:
  virtual ~Work() = default;
  // Until it ended. An error says why it failed and names ranks. May be called by several threads.
  virtual Status wait() = 0;
  virtual bool done() = 0;
  // Gives up: it fails here and, since the others would wait in vain, on every rank.
  virtual void cancel() = 0;
};

// Who takes part. Seats are the ranks the job was started with; a new member takes a free one.
struct Membership {
  std::uint32_t job_epoch = 0;
  std::uint32_t number = 0;            // rises with every change
  int rank = 0;                        // of this process among `members`
  std::vector<std::uint32_t> members;  // by rank
  std::vector<int> seats;              // by rank
  std::uint32_t epoch() const { return (job_epoch << 20) | number; }
  int size() const { return static_cast<int>(members.size()); }
};

// What a process holds to talk to the others.
struct Connections {
  int control = 0;   // of the membership
  int data = 0;      // TCP, made when a message needs them
  int segments = 0;  // of shared memory of other processes
};

class Group {
 public:
  // Meets the other ranks. The error says who is missing after the deadline.
  static Result<std::shared_ptr<Group>> start(const GroupOptions& options);
  virtual ~Group() = default;

  virtual Membership membership() const = 0;
  int rank() const { return membership().rank; }
  int size() const { return membership().size(); }

  // Buffers are of `count` elements: of the vector (all-reduce, broadcast, reduce: `data` in and
  // out), or of one rank's part (the others: the long side has size() parts).
  using WorkPtr = std::shared_ptr<Work>;
  virtual WorkPtr all_reduce(void* data, std::uint64_t count, DataType, ReduceOp,
                             const CallOptions& = {}) = 0;
  virtual WorkPtr broadcast(void* data, std::uint64_t count, DataType, int root,
                            const CallOptions& = {}) = 0;
  virtual WorkPtr reduce(void* data, std::uint64_t count, DataType, ReduceOp, int root,
                         const CallOptions& = {}) = 0;
  virtual WorkPtr all_gather(const void* in, void* out, std::uint64_t count, DataType,
                             const CallOptions& = {}) = 0;
  virtual WorkPtr reduce_scatter(const void* in, void* out, std::uint64_t count, DataType, ReduceOp,
                                 const CallOptions& = {}) = 0;
  virtual WorkPtr all_to_all(const void* in, void* out, std::uint64_t count, DataType,
                             const CallOptions& = {}) = 0;
  // Amounts by rank: what we send to it and get from it.
  virtual WorkPtr all_to_all_v(const void* in, std::span<const std::uint64_t> sends, void* out,
                               std::span<const std::uint64_t> receives, DataType,
                               const CallOptions& = {}) = 0;
  virtual WorkPtr barrier(const CallOptions& = {}) = 0;
  // Matched by (peer, tag), in order.
  virtual WorkPtr send(const void* data, std::uint64_t count, DataType, int to, std::uint32_t tag,
                       const CallOptions& = {}) = 0;
  virtual WorkPtr receive(void* data, std::uint64_t count, DataType, int from, std::uint32_t tag,
                          const CallOptions& = {}) = 0;
  // Like all_reduce(...)->wait(), driven by the caller alone: the fastest way for small data.
  virtual Status all_reduce_now(void* data, std::uint64_t count, DataType, ReduceOp,
                                const CallOptions& = {}) = 0;
  virtual Status barrier_now(const CallOptions& = {}) = 0;

  // A group of some of the ranks, which all call it with the same list; others need not know of it.
  // A change of membership breaks it.
  virtual Result<std::shared_ptr<Group>> subgroup(const std::vector<int>& ranks) = 0;

  // After an error, or when joiners() is not 0: agrees with the others on who is left. Every rank
  // that lives must call it. Ensures: those left out are confirmed dead, or a strict majority
  // remains; else an error at the deadline, after which the process should end.
  virtual Result<Membership> reform(Seconds deadline_s) = 0;
  // Processes that wait to be taken in by the next reform(), as far as this rank knows.
  virtual int joiners() const = 0;
  virtual Connections connections() const = 0;
  // What was measured when the ranks met, the same on all of them (links.h).
  virtual LinkSpeeds links() const = 0;
  // Measures them again, unless they were given; algorithms are chosen by the new ones. All ranks
  // of the whole group call it while nothing is under way. Cost: as when the ranks met.
  virtual Status measure_links_again() = 0;
  // From now on floating numbers may be added up in whatever order is fastest on the measured
  // links: sums have the same bits on all ranks, but not in every run. All ranks call it between
  // the same two operations.
  virtual void let_order_vary() = 0;
  // Ranks on each host, where all hosts have as many and their ranks stand in a row; else 1.
  virtual int per_host() const = 0;
  // The algorithm that such an operation on `bytes` of float32 in all takes, and what was
  // considered (chooser.h).
  virtual Choice explain(Operation operation, std::uint64_t bytes) const = 0;
  // Why the group is broken; empty: it is not.
  virtual std::string broken() const = 0;
  // Seats of those that the last reform() left out.
  virtual std::vector<int> lost_seats() const = 0;
  // For the recorder (docs/recorder.md): the next step begins here. Cost: below 100 ns.
  virtual void mark_step() = 0;
  enum class Mark { kComputeBegin, kComputeEnd };
  virtual void record(Mark mark) = 0;
  // Ranks of this group that compute longer than the others (record/slow.h), the same on all ranks.
  virtual std::vector<SlowRank> slow_ranks() const = 0;
  // Writes what this rank recorded last.
  virtual Status save_recording(const std::string& path) const = 0;
  // Breaks the group on every rank, which all get the sentence: this rank cannot go on.
  virtual void abandon(const std::string& why) = 0;
  // Says goodbye, so that others do not take the end of this process for a death.
  virtual void leave() = 0;
};

}  // namespace weft::runtime

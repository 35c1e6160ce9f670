// A collective as data: for every endpoint, what it sends, receives, adds and copies, and in which
// order. Free of absolute sizes: data is cut into chunks that have weights, and a message of n
// bytes gives a chunk n * weight / whole bytes. The same value is proved (verify.h), timed
// (phases.h) and executed by live ranks (cursor.h). docs/collectives.md explains it with pictures
// and the JSON form.
//
// Endpoints. 0 .. ranks-1 are the ranks; the helpers come after them: switches that aggregate and
// servers. Helpers have scratch cells only.
//
// Order. A program has streams. Streams run independently of each other and touch disjoint cells
// (input cells may be read by all). A stream is a list of rounds, executed one after another, a
// round with `repeat` = n as n rounds of the same form (iteration i = 0 .. n-1). The operations of
// one round run concurrently: a round ends when all of them have ended. An endpoint waits only for
// its own operations; there is no barrier between endpoints.
//
// Messages. The n-th send from A to B on a stream meets the n-th receive from A at B on that
// stream. A send ends when it is received (rendezvous), unless the schedule declares `credits` > 0:
// so many sends per stream and pair may run ahead of their receives, which an executor must then
// buffer. All sends of one round from A to B travel together and pay one latency.
//
// Concurrency. No operation of a round may touch a cell that another one writes, except
//  - several writes to one cell, of which all but the first listed add to it: they are applied in
//    the order listed, so sums are the same bit for bit in every run;
//  - a send marked `streamed`: it forwards the cells as operations listed before it deliver them
//    (cut-through; an executor that cannot sends when those that write its cells have ended).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::collective {

enum class Operation : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,  // with weights per pair: all-to-all-v
  kBarrier,
};
inline constexpr int kOperations = 7;

enum class HelperKind : std::uint8_t { kSwitch, kServer };

// The input is never written. Output and scratch hold nothing until they are written.
enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

// A whole number that moves in a circle from one iteration of a round to the next.
struct Walk {
  int base = 0;
  int stride = 1;
  int first = 0;
  int advance = 0;
  int modulus = 1;

  // base + stride * ((first + i * advance) mod modulus). Requires: modulus >= 1.
  int at(std::int64_t i) const;
  bool operator==(const Walk&) const = default;
};

// Cells of one buffer, in the order in which they travel. The j-th cell in iteration i is
// base + (first + i * advance + (j / block) * step + j % block) mod modulus.
struct Cells {
  Buffer buffer = Buffer::kInput;
  int base = 0;
  int first = 0;
  int advance = 0;
  int modulus = 1;
  int count = 0;
  int block = 1;
  int step = 1;

  // Requires: modulus >= 1, block >= 1.
  int at(std::int64_t i, int j) const;
  bool operator==(const Cells&) const = default;
};

enum class Kind : std::uint8_t {
  kSend,           // source goes to the peer
  kReceive,        // target = what the peer sends
  kReceiveReduce,  // target = source + what the peer sends; source may be the target
  kCopy,           // target = source
  kReduce,         // target = target + source
};

struct Op {
  Kind kind = Kind::kSend;
  bool streamed = false;  // sends only; see above
  Walk peer = {};         // sends and receives
  Cells source = {};      // all but kReceive
  Cells target = {};      // all but kSend
  bool operator==(const Op&) const = default;
};

struct Round {
  std::int64_t repeat = 1;
  // Part of each message's bytes that is expected on the wire when the executor uses a sparse
  // encoding. What a message means does not depend on it; both sides state the same.
  double density = 1;
  std::vector<Op> ops = {};  // empty: the endpoint has nothing to do in these rounds
  bool operator==(const Round&) const = default;
};

// `count` whole numbers: all `each`, or those of `list` when it is not empty.
struct Weights {
  std::int64_t count = 0;
  std::uint64_t each = 1;
  std::vector<std::uint64_t> list = {};

  std::uint64_t at(std::int64_t i) const {
    return list.empty() ? each : list[static_cast<std::size_t>(i)];
  }
  bool operator==(const Weights&) const = default;
};

struct Program {
  Weights scratch;  // the scratch cells of this endpoint; the weight is what a cell has room for
  std::vector<std::vector<Round>> streams;
  bool operator==(const Program&) const = default;
};

// Which chunks there are and which cells hold them:
//
//   operation       chunks      input of rank r        output of rank r
//   all-reduce      any C       all C                  all C, summed over the ranks
//   reduce          any C       all C                  root: all C, summed; others none
//   broadcast       any C       root: all C            all C
//   reduce-scatter  C = k * p   all C                  k cells: chunks r*k .. r*k+k-1, summed
//   all-gather      C = k * p   k cells: r*k ..        all C
//   all-to-all      C = p * p   p cells: chunk r*p+d   p cells: cell s is chunk s*p+r
//   barrier         0           none                   none; messages of no cells
struct Schedule {
  Operation operation = Operation::kAllReduce;
  std::string algorithm;  // for reports
  int ranks = 1;
  int root = 0;  // broadcast and reduce
  std::vector<HelperKind> helpers;
  Weights chunks;
  std::uint64_t whole = 1;  // the weight of the n bytes a collective is asked to move

  // Promises that verify() proves and that executors and the timing rely on.
  int credits = 0;        // see "Messages" above; 0 is rendezvous
  bool lockstep = true;   // each message is received in the round of the same number it is sent in
  bool in_place = false;  // input and output may be the same memory (chunk c over chunk c)

  std::vector<Program> programs;  // one per endpoint, all with the same number of streams

  int endpoints() const { return ranks + static_cast<int>(helpers.size()); }
  int streams() const {
    return programs.empty() ? 0 : static_cast<int>(programs.front().streams.size());
  }
  bool operator==(const Schedule&) const = default;
};

// What a schedule may hold at most, wherever it comes from.
inline constexpr int kMaxEndpoints = 1 << 17;
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 30;  // chunks; cells of one buffer
inline constexpr int kMaxStreams = 4096;
inline constexpr std::int64_t kMaxRepeat = std::int64_t{1} << 31;
inline constexpr std::uint64_t kMaxWeight = std::uint64_t{1} << 40;

// Cells of a buffer of an endpoint. Cost: O(1).
std::int64_t cells_in(const Schedule& schedule, int endpoint, Buffer buffer);
// The chunk that an input cell holds, or that an output cell must hold at the end.
// Requires: buffer is not scratch; cell < cells_in(...).  Cost: O(1).
std::int64_t chunk_at(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell);
// The weight of a cell: of its chunk, or what a scratch cell has room for.
std::uint64_t weight_at(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell);

// All-reduce, reduce-scatter and reduce add up what the ranks hold; the others move it.
bool sums(Operation operation);

// The names used in JSON, messages and on the command line, for instance "all-reduce".
std::string_view name_of(Operation operation);
std::string_view name_of(HelperKind kind);
std::string_view name_of(Buffer buffer);
std::string_view name_of(Kind kind);
// "rank 3" or "switch 0" (helpers are counted from 0).
std::string endpoint_name(const Schedule& schedule, int endpoint);

}  // namespace weft::collective

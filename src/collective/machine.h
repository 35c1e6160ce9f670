// Executes a schedule on symbols instead of numbers: which chunk a cell holds, and whose
// contributions are in it. The engine of verify().
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collective/cursor.h"
#include "collective/hazards.h"
#include "collective/schedule.h"

namespace weft::collective {

// What a cell holds.
struct Value {
  static constexpr std::uint32_t kNothing = ~std::uint32_t{0};
  static constexpr std::uint16_t kNobody = 0xffff;  // no stream
  static constexpr std::uint16_t kMany = 0xfffe;

  std::uint64_t ranks = 0;  // contributors: bits, or the sum of their keys
  std::uint32_t chunk = kNothing;
  std::uint32_t round = 0;          // of the last write
  std::uint16_t writer = kNobody;   // the stream that wrote it
  std::uint16_t readers = kNobody;  // the streams that read the input cell in the same memory
};

// How contributors are told apart: bits for ranks first .. first + 63, or random keys for all.
struct Tracking {
  bool exact = true;
  int first = 0;
  std::vector<std::uint64_t> keys;  // by rank

  // Requires: nothing; `exact` watches 64 ranks from `first` on.
  static Tracking bits(int ranks, int first);
  static Tracking sums(int ranks);
};

// Requires: check_shape() is ok, and so is the memory for all cells; the schedule outlives it.
class Machine {
 public:
  Machine(const Schedule& schedule, const Tracking& tracking);

  // Runs until every stream of every endpoint has ended. The order in which endpoints are served
  // does not matter for the outcome: rounds are free of races and messages wait in order.
  Status run();

  // Requires: run() was ok.
  Status check_outputs() const;

 private:
  struct Task {  // one operation of the current round of a lane
    bool done = false;
    bool applied = false;
    std::vector<Value> payload;  // of receives
  };
  struct Lane {  // one stream of one endpoint
    Lane(const std::vector<Round>& rounds, int at, int number)
        : cursor(rounds), endpoint(at), stream(number) {}
    Cursor cursor;
    int endpoint;
    int stream;
    bool entered = false;
    int open = 0;                // operations not done
    std::vector<Task> tasks;     // by operation
    std::vector<int> groups;     // see Hazards; empty without streamed sends
    std::vector<int> remaining;  // by group: receives not done
  };
  struct Message {
    int lane = 0;
    int op = 0;
    bool eager = false;  // the send has ended; the message waits in a buffer
    std::int64_t round = 0;
    double density = 1;
    std::vector<Value> payload;
  };
  template <typename Item>
  struct Queue {  // most hold one item, and there may be millions: a deque is too large
    std::vector<Item> items = {};
    std::size_t head = 0;

    bool empty() const { return head == items.size(); }
    std::size_t size() const { return items.size() - head; }
    Item pop() {
      Item first = std::move(items[head++]);
      if (empty()) {
        items.clear();
        head = 0;
      }
      return first;
    }
  };
  struct Channel {  // from one endpoint to another on one stream
    std::uint64_t key = 0;
    Queue<Message> sends = {};
    Queue<std::pair<int, int>> receives = {};  // lane, operation
  };

  int lane_of(int endpoint, int stream) const { return endpoint * schedule_.streams() + stream; }
  Channel& channel(int from, int to, int stream);
  void advance(int lane);
  void enter(int lane);
  bool in_range(const Lane& lane, int op);
  bool cells_in_range(const Lane& lane, const Cells& cells, int op);
  void enter_streamed(int lane);
  void post_send(int lane, int op);
  void post_receive(int lane, int op);
  // Joins sends and receives that have both been posted; the channel may be gone afterwards.
  void deliver(Channel& channel);
  void join(Message message, int lane, int op);
  void finish(int lane, int op);
  void finish_group(int lane, int op);
  void apply(Lane& lane, int op);
  Value read(Lane& lane, const Cells& cells, int j);
  void write(Lane& lane, const Cells& cells, int j, Value value);
  Value sum(const Lane& lane, const Value& a, const Value& b);
  Status explain_wait() const;
  int waits_for(const Lane& lane, std::string& what) const;
  Status check_output(int rank, std::int64_t cell, std::uint64_t all) const;
  void fail(const Lane& lane, std::string what);
  void fail(const Lane& lane, std::int64_t chunk, std::string what);

  const Schedule& schedule_;
  const Tracking& tracking_;
  Hazards hazards_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<Value>> cells_;                // by endpoint: outputs, then scratch
  std::vector<std::uint64_t> heard_;                     // barrier: by endpoint, of whom
  std::unordered_map<std::uint64_t, Channel> channels_;  // those in use; never iterated
  std::vector<int> ready_;                               // lanes that may go on
  std::vector<std::pair<int, int>> complete_;            // lane, group: may be forwarded
  Status fault_;
};

}  // namespace weft::collective

// A schedule made ready for one endpoint: what to send, receive and add, round by round, with the
// chunk that each cell holds at that moment, so that sizes are known without asking the peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collective/schedule.h"

namespace weft::runtime {

// A cell of one of the three buffers, and the chunk in it.
struct Cell {
  collective::Buffer buffer = collective::Buffer::kInput;
  std::uint32_t index = 0;
  std::uint32_t chunk = 0;
  bool operator==(const Cell&) const = default;
};

struct Step {
  collective::Kind kind = collective::Kind::kSend;
  std::vector<int> peers = {};  // sends: all that get the same message; receives: one
  std::uint32_t index = 0;      // of the message among those of the pair on this lane
  // Source and target of the operation, cell by cell; `source` is empty in a receive, `target` in
  // a send.
  std::vector<Cell> source = {}, target = {};
  // Receives and reductions: nothing reads the target again before it is written anew, but for the
  // send that `forwards` names.
  bool target_unread = false;
  // The send of the next round (its place in `sends`) that passes on just what this receive gives.
  int forwards = -1;
  // So many steps from here on make one sum in one cell, in their order; 0: it stands alone.
  int summands = 0;
};

// The sends may all go at once. The rest is done in order; a send that waits for what the round
// receives stands among them.
struct ProgramRound {
  std::vector<Step> sends;
  std::vector<Step> steps;
};

struct EndpointProgram {
  collective::Operation operation = collective::Operation::kAllReduce;
  std::string algorithm;
  int ranks = 1;
  int endpoints = 1;
  int endpoint = 0;
  bool in_place = false;
  bool one_sum = false;  // all it does is one sum, whose target may be the memory of a summand
  collective::Weights chunks;
  std::vector<std::vector<ProgramRound>> lanes;  // one per stream of the schedule
  std::uint32_t scratch_cells = 0;
  std::uint32_t scratch_most_chunk = 0;  // cells of scratch hold any chunk: room for the largest
  double largest_message = 0;  // part of the weight of all chunks, at most, in one message
};

// Requires: collective::verify() accepts the schedule; endpoint < schedule.endpoints().
// Cost: O(operations of all endpoints).
EndpointProgram make_program(const collective::Schedule& schedule, int endpoint);
// The programs of all endpoints, at the cost of one.
std::vector<EndpointProgram> make_programs(const collective::Schedule& schedule);

}  // namespace weft::runtime

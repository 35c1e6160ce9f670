// What the operations of one round do to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/schedule.h"

namespace weft::collective {

// The output cell that shares memory with an input cell when a schedule runs in place, or -1.
std::int64_t alias_of(const Schedule& schedule, int endpoint, std::int64_t input_cell);

// Cells of an endpoint are numbered: outputs, then scratch. An input cell has a number only in
// place, that of the output cell it shares memory with; otherwise -1.
std::int64_t cell_number(const Schedule& schedule, int endpoint, Buffer buffer, std::int64_t cell);

// Finds operations of one round that disturb each other; keeps its working memory between calls.
class Hazards {
 public:
  explicit Hazards(const Schedule& schedule) : schedule_(&schedule) {}

  // The first conflict as "chunk or cell: sentence", or an empty string.
  // Requires: all cells of the round are in range.  Cost: O(cells log cells).
  std::string check(int endpoint, const Round& round, std::int64_t iteration);

  // After check() found nothing: for each operation the first one that it shares a written cell
  // with, directly or through others, itself included. Operations of one such group have to be
  // applied in order, and a streamed send goes after the rest of its group.
  const std::vector<int>& groups();

 private:
  struct Access {
    std::int64_t cell = 0;
    int op = 0;
    int position = 0;
    bool writes = false;
    bool adds = false;  // a write that adds to what is there
  };
  bool copies_onto_itself(int endpoint, const Op& op, std::int64_t iteration) const;
  void gather(int endpoint, const Round& round, std::int64_t iteration);
  std::string check_cell(const Round& round, std::size_t begin, std::size_t end) const;
  int root(int op);

  const Schedule* schedule_;
  std::vector<Access> accesses_;
  std::vector<int> groups_;
};

}  // namespace weft::collective

// The schedules of a group, made ready once and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "collective/algorithms.h"
#include "runtime/program.h"

namespace weft::runtime {

// Thread-safety: all of it.
class Programs {
 public:
  // What `rank` does in the named algorithm. The error says why there is none.
  // Cost: making and following the whole schedule the first time, a look-up later.
  Result<std::shared_ptr<const EndpointProgram>> get(const std::string& algorithm,
                                                     const collective::Request& request, int rank);

 private:
  using Key = std::tuple<collective::Operation, std::string, int, int, int, int, int>;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const EndpointProgram>> kept_;
};

// Two endpoints: 0 sends one chunk to 1.
std::shared_ptr<const EndpointProgram> point_program(bool sender);

}  // namespace weft::runtime

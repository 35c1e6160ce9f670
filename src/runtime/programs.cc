#include "runtime/programs.h"

namespace weft::runtime {

Result<std::shared_ptr<const EndpointProgram>> Programs::get(const std::string& algorithm,
                                                             const collective::Request& request,
                                                             int rank) {
  const Key key{request.operation, algorithm,        request.ranks, rank,
                request.root,      request.per_node, request.chunks};
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second;
  const auto schedule = collective::generate(algorithm, request);
  if (!schedule.ok()) return schedule.error();
  auto program = std::make_shared<const EndpointProgram>(make_program(*schedule, rank));
  kept_.emplace(key, program);
  return program;
}

std::shared_ptr<const EndpointProgram> point_program(bool sender) {
  EndpointProgram program;
  program.operation = collective::Operation::kBroadcast;
  program.algorithm = "point to point";
  program.ranks = program.endpoints = 2;
  program.endpoint = sender ? 0 : 1;
  program.in_place = true;
  program.chunks.count = 1;
  program.largest_message = 1;
  ProgramRound round;
  if (sender) {
    round.sends.push_back({.kind = collective::Kind::kSend,
                           .peers = {1},
                           .index = 0,
                           .source = {{collective::Buffer::kInput, 0, 0}},
                           .target = {}});
  } else {
    round.steps.push_back({.kind = collective::Kind::kReceive,
                           .peers = {0},
                           .index = 0,
                           .source = {},
                           .target = {{collective::Buffer::kOutput, 0, 0}}});
  }
  program.lanes.push_back({std::move(round)});
  return std::make_shared<const EndpointProgram>(std::move(program));
}

}  // namespace weft::runtime

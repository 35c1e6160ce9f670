#include "allreduce_libraries.h"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "rank_processes.h"
#include "runtime/ucx/ucx_transport.h"

namespace weft {
namespace {

using CommandWords = std::vector<std::string>;

std::string program_of(const AllReduceLibrary& library) {
  const std::string self = own_program();
  // Ours is this program, whatever its name.
  if (self.empty() || library.program[0] == "weft") return self;
  return std::filesystem::path(self).replace_filename(library.program[0]).string();
}

void append(CommandWords& command, const CommandWords& more) {
  command.insert(command.end(), more.begin(), more.end());
}

void append_program(CommandWords& command, const AllReduceLibrary& library,
                    std::uint64_t size_bytes) {
  command.push_back(program_of(library));
  command.insert(command.end(), library.program.begin() + 1, library.program.end());
  append(command, {"--sizes", fmt::format("{}", size_bytes)});
}

// The ranks end themselves in time, should their launcher be killed.
CommandWords launched(const AllReduceLibrary& library, const AllReduceGroup& group) {
  CommandWords command = library.launcher;
  append(command, {"-n", fmt::format("{}", group.ranks)});
  append_program(command, library, group.size_bytes);
  constexpr double kLaterS = 2;  // than our own limit, so that it is ours that is reported
  append(command, {"--limit-s", fmt::format("{:.0f}", std::ceil(group.timeout_s) + kLaterS)});
  return command;
}

CommandWords one_rank(const AllReduceLibrary& library, const std::string& algorithm,
                      const AllReduceGroup& group, int rank, const std::string& rendezvous) {
  CommandWords command;
  const bool on_host = !group.arena.empty();
  if (on_host) command = {"ip", "netns", "exec", fmt::format("{}-h{}", group.arena, rank)};
  append_program(command, library, group.size_bytes);
  append(command, {"--ranks", fmt::format("{}", group.ranks), "--rank", fmt::format("{}", rank),
                   "--rendezvous", rendezvous});
  if (!algorithm.empty()) append(command, {"--algorithm", algorithm});
  if (on_host) append(command, library.on_host);
  return command;
}

std::vector<CommandWords> commands_of(const AllReduceLibrary& library, const std::string& algorithm,
                                      const AllReduceGroup& group, const std::string& rendezvous) {
  if (!library.launcher.empty()) return {launched(library, group)};
  std::vector<CommandWords> commands;
  for (int rank = 0; rank < group.ranks; ++rank) {
    commands.push_back(one_rank(library, algorithm, group, rank, rendezvous));
  }
  return commands;
}

}  // namespace

const std::vector<AllReduceLibrary>& allreduce_libraries() {
  static const std::vector<AllReduceLibrary> known = {
      {"weft", "nothing", {}, {"weft", "bench", "rank"}, {""}, true, {"--interface", "net0"}},
      {"openmpi",
       "libopenmpi-dev and openmpi-bin",
       {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"},
       {"peer_openmpi"}},
      {"mpich", "libmpich-dev and mpich", {"mpirun.mpich"}, {"peer_mpich"}},
      {"gloo",
       "libgloo-dev",
       {},
       {"peer_gloo"},
       {"ring", "halving-doubling", "bcube"},
       true,
       {"--interface", "net0"}},
      // Ours again, without shared memory.
      {"weft-tcp",
       "nothing",
       {},
       {"weft", "bench", "rank", "--network", "tcp"},
       {""},
       true,
       {"--interface", "net0"},
       true},
      {"weft-ucx",
       "libucx-dev",
       {},
       {"weft", "bench", "rank", "--network", "ucx"},
       {""},
       true,
       {"--interface", "net0"},
       true},
  };
  return known;
}

Status check_present(const AllReduceLibrary& library) {
  if (library.name == "weft-ucx" && !runtime::ucx_built()) {
    return Error{ErrorKind::kNotFound, "weft-ucx cannot be measured: this build has no UCX",
                 "build with WEFT_UCX=1 ./dev build"};
  }
  if (is_file(program_of(library))) return {};
  return Error{
      ErrorKind::kNotFound,
      fmt::format("{} cannot be measured: its program {} is not beside this one", library.name,
                  library.program[0]),
      fmt::format("install {}, then configure and build everything (./dev bench comm does)",
                  library.package)};
}

Result<GroupRun> run_group(const AllReduceLibrary& library, const std::string& algorithm,
                           const AllReduceGroup& group) {
  const RendezvousFolder rendezvous;
  if (rendezvous.path().empty()) {
    return Error{ErrorKind::kIo,
                 fmt::format("no temporary folder could be made: {}", std::strerror(errno)), ""};
  }
  const auto ends = run_rank_processes(commands_of(library, algorithm, group, rendezvous.path()),
                                       group.timeout_s);
  if (!ends.ok()) return ends.error();
  std::string lines;
  for (const ChildEnd& end : *ends) lines += end.out;
  return read_group(lines, group.ranks, group.size_bytes);
}

}  // namespace weft

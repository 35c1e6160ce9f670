// The commands that run beside ranks of this node: what goes in, what comes out, how they ended.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "live/agent/exec_messages.h"
#include "runtime/net/reactor.h"

namespace weft::live {

// Everything on the reactor's thread. Of each command at most kExecWindow bytes of input wait here,
// and output is read only as far as the controller has room for it.
class NodeExecs {
 public:
  using Json = nlohmann::json;
  struct Links {
    std::function<void(const Json&)> say;  // to the controller; lost when there is none
    // Starts what keeps a command (exec_keeper.h), and gives our end of the link to it.
    std::function<Result<int>(const ExecOrder&, const std::array<int, 3>& streams)> fork;
  };
  NodeExecs(runtime::Reactor& reactor, Links links) : reactor_(reactor), links_(std::move(links)) {}
  // Their keepers kill what runs.
  ~NodeExecs();
  NodeExecs(const NodeExecs&) = delete;
  NodeExecs& operator=(const NodeExecs&) = delete;

  // Says that it began, or that it ended before it did. `uid`: whose terminal it is; -1: ours.
  void begin(const ExecOrder& order, std::int64_t uid);
  void refuse(const std::string& id, const std::string& why);
  // Commands that are not (any more) here are passed over.
  void take(const ExecWord& word);
  // Those of a rank, or all: whether there were any.
  bool kill(const RunKey& key, int rank, const std::string& why);
  void kill_all(const std::string& why);

 private:
  struct End {
    int code = 0, signal = 0;
    std::string why;
  };
  struct Stream {
    int descriptor = -1;
    bool watched = false;
  };
  struct Exec {
    RunKey key;
    int rank = 0;
    bool terminal = false;
    int link = -1;  // to its keeper
    Stream input;
    std::string pending;  // input that the command has not read
    std::uint64_t received = 0, written = 0;
    bool last = false;
    std::array<Stream, 2> outputs;
    std::uint64_t sent = 0, until = kExecWindow;
    bool ending = false;  // nobody waits for the rest of its output
    std::string why;      // it is killed
    std::optional<End> end;
  };

  Status open_streams(const ExecOrder& order, std::int64_t uid, Exec& exec,
                      std::array<int, 3>& theirs);
  Status open_terminal(const ExecTerminal& terminal, std::int64_t uid, Exec& exec,
                       std::array<int, 3>& theirs);
  void watch(Stream& stream, std::uint32_t events, bool wanted, std::function<void()> act);
  void drop(Stream& stream);
  void drop_link(Exec& exec);
  void close_all(Exec& exec);
  void hear(const std::string& id);
  void sweep(const std::string& id);
  void write_input(const std::string& id);
  void watch_outputs(const std::string& id);
  // False: there is nothing to read now.
  bool read_output(const std::string& id, std::size_t which);
  void conclude(const std::string& id);
  void tell(Exec& exec, const Json& message);
  Exec* find(const std::string& id);

  runtime::Reactor& reactor_;
  Links links_;
  std::map<std::string, Exec> execs_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);  // timers look whether we still are
};

}  // namespace weft::live

#include "live/agent/node_execs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "live/agent/exec_keeper.h"
#include "live/agent/keeper_link.h"
#include "live/agent/process_tree.h"

namespace weft::live {
namespace {

constexpr Seconds kExecLookAgain = 0.005;
constexpr char kEndOfInput = '\x04';  // as a terminal has it

void set_size(int terminal, int rows, int columns) {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(terminal, TIOCSWINSZ, &size);
}

void close_these(const std::array<int, 3>& descriptors) {
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace

NodeExecs::~NodeExecs() {
  for (auto& [id, exec] : execs_) close_all(exec);
}

NodeExecs::Exec* NodeExecs::find(const std::string& id) {
  const auto found = execs_.find(id);
  return found == execs_.end() ? nullptr : &found->second;
}

void NodeExecs::refuse(const std::string& id, const std::string& why) {
  links_.say({{"op", "exec_ended"}, {"id", id}, {"code", kNotStarted}, {"why", why}});
}

void NodeExecs::begin(const ExecOrder& order, std::int64_t uid) {
  if (execs_.contains(order.id)) return;  // said twice
  Exec exec;
  exec.key = order.key;
  exec.rank = order.rank;
  exec.terminal = order.command.terminal.has_value();
  std::array<int, 3> theirs = {-1, -1, -1};
  Status ready = open_streams(order, uid, exec, theirs);
  if (ready.ok()) {
    const auto link = links_.fork(order, theirs);
    if (link.ok()) {
      exec.link = *link;
    } else {
      ready = link.error();
    }
  }
  close_these(theirs);
  const std::string id = order.id;
  Json go = to_json(order);
  go["do"] = "go";
  if (ready.ok() && !send_message(exec.link, go)) ready = io_error("its keeper does not listen");
  if (ready.ok()) ready = reactor_.add(exec.link, EPOLLIN, [this, id](std::uint32_t) { hear(id); });
  if (!ready.ok()) {
    if (exec.link >= 0) close(std::exchange(exec.link, -1));
    close_all(exec);
    return refuse(id, ready.error().what);
  }
  execs_[id] = std::move(exec);
  links_.say({{"op", "exec_began"}, {"id", id}});
  watch_outputs(id);
}

// Our ends do not wait; the command's are as a program expects them.
Status NodeExecs::open_streams(const ExecOrder& order, std::int64_t uid, Exec& exec,
                               std::array<int, 3>& theirs) {
  if (order.command.terminal) return open_terminal(*order.command.terminal, uid, exec, theirs);
  int input[2], output[2], errors[2];
  if (pipe2(input, O_CLOEXEC) != 0) return io_error("no pipe");
  theirs[0] = input[0];
  exec.input.descriptor = input[1];
  if (pipe2(output, O_CLOEXEC) != 0) return io_error("no pipe");
  theirs[1] = output[1];
  exec.outputs[0].descriptor = output[0];
  if (pipe2(errors, O_CLOEXEC) != 0) return io_error("no pipe");
  theirs[2] = errors[1];
  exec.outputs[1].descriptor = errors[0];
  for (const int ours : {input[1], output[0], errors[0]}) fcntl(ours, F_SETFL, O_NONBLOCK);
  return {};
}

Status NodeExecs::open_terminal(const ExecTerminal& terminal, std::int64_t uid, Exec& exec,
                                std::array<int, 3>& theirs) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return io_error("no terminal");
  exec.outputs[0].descriptor = master;
  exec.input.descriptor = fcntl(master, F_DUPFD_CLOEXEC, 0);
  if (exec.input.descriptor < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    return io_error("no terminal");
  }
  set_size(master, terminal.rows, terminal.columns);
  const int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return io_error("no terminal");
  theirs[0] = slave;
  if (geteuid() == 0 && uid > 0 &&
      fchown(slave, static_cast<uid_t>(uid), static_cast<gid_t>(-1)) != 0) {
    return io_error("the terminal cannot be given to its user");
  }
  for (std::size_t i = 1; i < theirs.size(); ++i) {
    theirs[i] = fcntl(slave, F_DUPFD_CLOEXEC, 0);
    if (theirs[i] < 0) return io_error("no terminal");
  }
  return {};
}

void NodeExecs::watch(Stream& stream, std::uint32_t events, bool wanted,
                      std::function<void()> act) {
  if (stream.descriptor < 0 || wanted == stream.watched) return;
  if (wanted) {
    const Status added =
        reactor_.add(stream.descriptor, events, [act = std::move(act)](std::uint32_t) { act(); });
    stream.watched = added.ok();
  } else {
    // Not only without events: an end would be told all the same, again and again.
    reactor_.remove(stream.descriptor);
    stream.watched = false;
  }
}

void NodeExecs::drop(Stream& stream) {
  if (stream.watched) reactor_.remove(stream.descriptor);
  if (stream.descriptor >= 0) close(stream.descriptor);
  stream = {};
}

void NodeExecs::drop_link(Exec& exec) {
  if (exec.link < 0) return;
  reactor_.remove(exec.link);
  close(std::exchange(exec.link, -1));
}

void NodeExecs::close_all(Exec& exec) {
  drop_link(exec);
  drop(exec.input);
  for (Stream& stream : exec.outputs) drop(stream);
}

void NodeExecs::tell(Exec& exec, const Json& message) {
  if (exec.link >= 0) send_message(exec.link, message);
}

void NodeExecs::take(const ExecWord& word) {
  Exec* exec = find(word.id);
  if (exec == nullptr) return;
  switch (word.kind) {
    case ExecWord::Kind::kInput:
      if (exec->last || exec->pending.size() + word.data.size() > kExecWindow) {
        return tell(*exec, {{"do", "kill"}, {"why", "its input came without being asked for"}});
      }
      exec->pending += word.data;
      exec->received += word.data.size();
      exec->last = word.last;
      if (word.last && exec->terminal) exec->pending += kEndOfInput;
      return write_input(word.id);
    case ExecWord::Kind::kMore:
      exec->until = std::max(exec->until, word.until);
      watch_outputs(word.id);
      return conclude(word.id);
    case ExecWord::Kind::kSize:
      if (exec->terminal && exec->outputs[0].descriptor >= 0) {
        set_size(exec->outputs[0].descriptor, word.rows, word.columns);
      }
      return;
    case ExecWord::Kind::kEnd:
      exec->ending = true;
      tell(*exec, {{"do", "end"}, {"why", "ended by its caller"}});
      return conclude(word.id);
  }
}

bool NodeExecs::kill(const RunKey& key, int rank, const std::string& why) {
  bool any = false;
  for (auto& [id, exec] : execs_) {
    if (exec.key != key || exec.rank != rank || exec.end) continue;
    any = true;
    tell(exec, {{"do", "kill"}, {"why", why}});
    if (!exec.why.empty()) continue;
    exec.why = why;
    // Its keeper may need a while, in which none of it is to run on.
    for (const pid_t process : marked_processes(exec_mark(id))) ::kill(process, SIGKILL);
  }
  return any;
}

void NodeExecs::kill_all(const std::string& why) {
  std::vector<std::string> ids;
  for (auto& [id, exec] : execs_) {
    exec.ending = true;
    tell(exec, {{"do", "kill"}, {"why", why}});
    ids.push_back(id);
  }
  for (const std::string& id : ids) conclude(id);
}

// What its keeper says.
void NodeExecs::hear(const std::string& id) {
  Exec* exec = find(id);
  if (exec == nullptr || exec->link < 0) return;
  Json message;
  const Received received = receive_message(exec->link, message);
  if (received == Received::kNothing) return;
  if (received == Received::kMessage && message.value("is", "") == "ended") {
    exec->end = End{message.value("code", 0), message.value("signal", 0), message.value("why", "")};
    // What kill() did may be noticed by its keeper before it is told why.
    if (exec->end->signal == SIGKILL && exec->end->why.empty()) exec->end->why = exec->why;
  }
  drop_link(*exec);
  exec->end ? conclude(id) : sweep(id);
}

// Its keeper went without a word: what it left is found by its mark.
void NodeExecs::sweep(const std::string& id) {
  Exec* exec = find(id);
  if (exec == nullptr || exec->end) return;
  const std::vector<pid_t> left = marked_processes(exec_mark(id));
  for (const pid_t process : left) ::kill(process, SIGKILL);
  if (left.empty()) {
    exec->end = End{0, SIGKILL, exec->why.empty() ? "its keeper was lost" : exec->why};
    return conclude(id);
  }
  reactor_.after(kExecLookAgain, [this, life = std::weak_ptr<int>(life_), id] {
    if (!life.expired()) sweep(id);
  });
}

void NodeExecs::write_input(const std::string& id) {
  Exec& exec = *find(id);
  const std::uint64_t before = std::min(exec.written, exec.received);
  while (!exec.pending.empty()) {
    const ssize_t put = exec.input.descriptor < 0 ? -1
                                                  : write(exec.input.descriptor,
                                                          exec.pending.data(), exec.pending.size());
    if (put < 0 && exec.input.descriptor >= 0 && errno == EINTR) continue;
    if (put < 0 && exec.input.descriptor >= 0 && errno == EAGAIN) break;
    // A command that reads no more is told nothing more, as in a pipe of a shell.
    if (put < 0) drop(exec.input);
    const std::size_t gone = put < 0 ? exec.pending.size() : static_cast<std::size_t>(put);
    exec.pending.erase(0, gone);
    exec.written += gone;
  }
  watch(exec.input, EPOLLOUT, !exec.pending.empty(), [this, id] { write_input(id); });
  const std::uint64_t took = std::min(exec.written, exec.received);
  if (exec.pending.empty() && exec.last && !exec.terminal) drop(exec.input);
  if (took > before) links_.say({{"op", "exec_took"}, {"id", id}, {"took", took}});
}

void NodeExecs::watch_outputs(const std::string& id) {
  Exec& exec = *find(id);
  for (std::size_t i = 0; i < exec.outputs.size(); ++i) {
    watch(exec.outputs[i], EPOLLIN, exec.until > exec.sent, [this, id, i] {
      read_output(id, i);
      watch_outputs(id);
      conclude(id);
    });
  }
}

bool NodeExecs::read_output(const std::string& id, std::size_t which) {
  Exec& exec = *find(id);
  Stream& stream = exec.outputs[which];
  const std::size_t room = std::min<std::uint64_t>(kMostExecPiece, exec.until - exec.sent);
  if (stream.descriptor < 0 || room == 0) return false;
  std::array<char, kMostExecPiece> bytes;
  const ssize_t got = read(stream.descriptor, bytes.data(), room);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {  // a terminal whose other side is gone gives an error
    drop(stream);
    return false;
  }
  exec.sent += static_cast<std::uint64_t>(got);
  links_.say({{"op", "exec_output"},
              {"id", id},
              {"stream", which + 1},
              {"data", to_base64({bytes.data(), static_cast<std::size_t>(got)})}});
  return true;
}

// Once nobody is left who could write, what is in the pipes is all that there will be.
void NodeExecs::conclude(const std::string& id) {
  Exec* exec = find(id);
  if (exec == nullptr || !exec->end) return;
  for (std::size_t i = 0; i < exec->outputs.size(); ++i) {
    while (exec->until > exec->sent && read_output(id, i)) {
    }
    const bool room = exec->until > exec->sent;
    if (room || exec->ending) drop(exec->outputs[i]);
    if (exec->outputs[i].descriptor >= 0) return;
  }
  const Json message = {{"op", "exec_ended"},
                        {"id", id},
                        {"code", exec->end->code},
                        {"signal", exec->end->signal},
                        {"why", exec->end->why}};
  close_all(*exec);
  execs_.erase(id);
  links_.say(message);
}

}  // namespace weft::live

// Commands that people run beside ranks (`weft exec`): one session each, from the request to the
// last byte of output that was read.
//
// Everything is bounded: the number of sessions, what is buffered of each (whoever writes waits),
// and how long one goes on that nobody reads. Holds no socket, thread or clock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "live/agent/exec_messages.h"
#include "live/http/caller.h"
#include "model/cluster.h"

namespace weft::live {

struct ExecLimits {
  std::size_t sessions = 64;  // in all
  std::size_t per_job = 8;
  Seconds begin_s = 10;  // in which the agent answers, also when it was told to end one
  Seconds wait_s = 5;    // that a request waits for output or for room
  Seconds idle_s = 15;   // without a reader, after which a command is ended and an end forgotten
};

// As HTTP has it.
struct ExecReply {
  int status = 200;
  nlohmann::json body;
};
ExecReply exec_refusal(int status, const std::string& what, const std::string& hint = "");

class Execs {
 public:
  using Json = nlohmann::json;
  using Answer = std::function<void(ExecReply)>;  // called once, perhaps later
  // `send`: a message to an agent; lost when it is not there, which lost() says.
  Execs(std::uint64_t term, std::function<void(NodeId, const Json&)> send, ExecLimits limits = {})
      : term_(term), send_(std::move(send)), limits_(limits) {}

  struct Request {
    ExecOrder order;  // the id is one that nobody can guess
    std::string job;  // uuid
    NodeId node = kNoNode;
    std::uint32_t uid = 0;  // who asks, and who may go on asking
  };
  // Answers 201 with the id when the command runs, 409 if its rank cannot have it, 429 if there are
  // too many, 503 if the agent is lost.
  void open(const Request& request, Seconds now, Answer answer);

  // What follows is for whoever opened the session and for administrators; else 403, and 404 for an
  // id that is none (any more).

  // Output from byte `after` on, as soon as there is some, or after a while without; what comes
  // before `after` is dropped. A second reader sends the first away.
  void read(const std::string& id, const Caller& caller, std::uint64_t after, Seconds now,
            Answer answer);
  // Input from byte `offset` on: answers how far it was taken, which is less where there is no room
  // for all of it. Bytes that were taken before are passed over. `last`: nothing follows.
  void write(const std::string& id, const Caller& caller, std::uint64_t offset,
             const std::string& bytes, bool last, Seconds now, Answer answer);
  void resize(const std::string& id, const Caller& caller, int rows, int columns,
              const Answer& answer);
  // Ends the command, whose end is read as ever; the second time, or after that, the session.
  void end(const std::string& id, const Caller& caller, Seconds now, const Answer& answer);

  // What an agent says. Sessions of other nodes are not touched.
  void take(NodeId node, const ExecNews& news, Seconds now);
  // The agent is gone, and ends what it has.
  void lost(NodeId node, const std::string& why, Seconds now);
  // To be called several times a second.
  void tick(Seconds now);

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Reader {
    Seconds until = 0;
    Answer answer;
  };
  struct Writer {
    std::uint64_t offset = 0;
    std::string bytes;
    bool last = false;
    Seconds until = 0;
    Answer answer;
  };
  struct End {
    int code = 0, signal = 0;
    std::string why;
  };
  struct Session {
    Request request;
    Answer begin;  // set until the agent has answered
    Seconds since = 0;
    std::deque<std::pair<int, std::string>> output;  // by stream; from byte `base` on
    std::uint64_t base = 0, next = 0;
    std::optional<Reader> reader;
    Seconds read_at = 0;                // when a reader was last there
    std::uint64_t taken = 0, used = 0;  // bytes of input: from the caller, by the command
    bool last = false;
    std::optional<Writer> writer;
    Seconds ending_at = kNever;  // when the agent was told to end it
    std::optional<End> end;
  };

  Session* find(const std::string& id, const Caller& caller, const Answer& answer);
  void say(const Session& session, const char* op, Json more = Json::object());
  void acknowledge(Session& session, std::uint64_t after);
  void answer_reader(Session& session, Seconds now);
  // Takes what there is room for; true if something was, or there is nothing to take.
  bool take_input(Session& session, Writer& writer);
  void answer_writer(Session& session);
  void ask_to_end(Session& session, Seconds now);
  void set_end(Session& session, const End& end, Seconds now);

  const std::uint64_t term_;
  std::function<void(NodeId, const Json&)> send_;
  const ExecLimits limits_;
  std::map<std::string, Session> sessions_;
};

}  // namespace weft::live

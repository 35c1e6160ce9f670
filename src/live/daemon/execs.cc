#include "live/daemon/execs.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr int kLost = 255;  // as of a command that ssh has lost

}  // namespace

ExecReply exec_refusal(int status, const std::string& what, const std::string& hint) {
  Json body = {{"error", what}};
  if (!hint.empty()) body["hint"] = hint;
  return {status, body};
}

void Execs::say(const Session& session, const char* op, Json more) {
  more["op"] = op;
  more["term"] = term_;
  more["id"] = session.request.order.id;
  send_(session.request.node, more);
}

Execs::Session* Execs::find(const std::string& id, const Caller& caller, const Answer& answer) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    answer(exec_refusal(404, "no such exec is known (any more)",
                        "a restart of the daemon and 15 s without a reader end one"));
    return nullptr;
  }
  if (caller.uid != found->second.request.uid && !caller.may(Role::kAdmin)) {
    answer(exec_refusal(403, fmt::format("this exec is not of {}", caller.user)));
    return nullptr;
  }
  return &found->second;
}

void Execs::open(const Request& request, Seconds now, Answer answer) {
  const auto of_job = [&](const auto& entry) { return entry.second.request.job == request.job; };
  const auto beside = std::count_if(sessions_.begin(), sessions_.end(), of_job);
  if (sessions_.size() >= limits_.sessions || static_cast<std::size_t>(beside) >= limits_.per_job) {
    return answer(
        exec_refusal(429,
                     fmt::format("{} execs of this job and {} in all are open; at most {} "
                                 "and {}",
                                 beside, sessions_.size(), limits_.per_job, limits_.sessions),
                     "end one, or wait until one has ended"));
  }
  Session& session = sessions_[request.order.id];
  session.request = request;
  session.begin = std::move(answer);
  session.since = session.read_at = now;
  Json message = to_json(request.order);
  message["term"] = term_;
  send_(request.node, message);
}

void Execs::read(const std::string& id, const Caller& caller, std::uint64_t after, Seconds now,
                 Answer answer) {
  Session* session = find(id, caller, answer);
  if (session == nullptr) return;
  if (after < session->base || after > session->next) {
    return answer(exec_refusal(400, fmt::format("after is {}; output is known from {} to {}", after,
                                                session->base, session->next)));
  }
  if (session->reader) answer_reader(*session, now);
  acknowledge(*session, after);
  session->reader = Reader{now + limits_.wait_s, std::move(answer)};
  session->read_at = now;
  if (session->next > session->base || session->end) answer_reader(*session, now);
}

void Execs::acknowledge(Session& session, std::uint64_t after) {
  if (after == session.base) return;
  while (session.base < after) {
    std::string& bytes = session.output.front().second;
    const std::size_t gone = std::min<std::uint64_t>(bytes.size(), after - session.base);
    session.base += gone;
    bytes.erase(0, gone);
    if (bytes.empty()) session.output.pop_front();
  }
  if (!session.end) say(session, "exec_more", {{"until", session.base + kExecWindow}});
}

void Execs::answer_reader(Session& session, Seconds now) {
  Json parts = Json::array();
  for (auto at = session.output.begin(); at != session.output.end();) {
    const int stream = at->first;
    std::string together;
    for (; at != session.output.end() && at->first == stream; ++at) together += at->second;
    parts.push_back({{"stream", stream}, {"data", to_base64(together)}});
  }
  Json body = {{"after", session.base},
               {"next", session.next},
               {"parts", parts},
               {"ended", session.end.has_value()}};
  if (session.end) {
    body["code"] = session.end->code;
    body["signal"] = session.end->signal;
    body["why"] = session.end->why;
  }
  session.read_at = now;
  std::exchange(session.reader, std::nullopt)->answer({200, body});
}

bool Execs::take_input(Session& session, Writer& writer) {
  const std::uint64_t known = session.taken - writer.offset;
  std::string fresh = writer.bytes.substr(std::min<std::uint64_t>(known, writer.bytes.size()));
  const std::size_t room = kExecWindow - (session.taken - session.used);
  const bool all = fresh.size() <= room;
  if (!fresh.empty() && room == 0) return false;
  if (!all) fresh.resize(room);
  const bool last = all && writer.last && !session.last;
  session.taken += fresh.size();
  for (std::size_t from = 0; from < fresh.size() || (last && from == 0); from += kMostExecPiece) {
    const std::string piece = fresh.substr(from, kMostExecPiece);
    const bool ends = last && from + kMostExecPiece >= fresh.size();
    say(session, "exec_input", {{"data", to_base64(piece)}, {"last", ends ? 1 : 0}});
  }
  session.last = session.last || last;
  return true;
}

void Execs::answer_writer(Session& session) {
  const Writer writer = *std::exchange(session.writer, std::nullopt);
  writer.answer(session.end ? exec_refusal(409, "the command has ended")
                            : ExecReply{200, {{"next", session.taken}}});
}

void Execs::write(const std::string& id, const Caller& caller, std::uint64_t offset,
                  const std::string& bytes, bool last, Seconds now, Answer answer) {
  Session* session = find(id, caller, answer);
  if (session == nullptr) return;
  if (session->end) return answer(exec_refusal(409, "the command has ended"));
  if (offset > session->taken) {
    return answer(exec_refusal(
        400, fmt::format("offset is {}; input goes on at {}", offset, session->taken)));
  }
  if (session->last && offset + bytes.size() > session->taken) {
    return answer(exec_refusal(409, "the input was said to be over"));
  }
  if (session->writer) answer_writer(*session);
  session->writer = Writer{offset, bytes, last, now + limits_.wait_s, std::move(answer)};
  if (take_input(*session, *session->writer)) answer_writer(*session);
}

void Execs::resize(const std::string& id, const Caller& caller, int rows, int columns,
                   const Answer& answer) {
  Session* session = find(id, caller, answer);
  if (session == nullptr) return;
  if (!session->request.order.command.terminal) {
    return answer(exec_refusal(409, "the command has no terminal"));
  }
  if (!session->end) say(*session, "exec_size", {{"rows", rows}, {"columns", columns}});
  answer({200, {{"done", true}}});
}

void Execs::ask_to_end(Session& session, Seconds now) {
  if (session.ending_at != kNever) return;
  session.ending_at = now;
  say(session, "exec_end");
}

void Execs::end(const std::string& id, const Caller& caller, Seconds now, const Answer& answer) {
  Session* session = find(id, caller, answer);
  if (session == nullptr) return;
  if (session->end) {
    if (session->reader) answer_reader(*session, now);
    sessions_.erase(id);
  } else {
    ask_to_end(*session, now);
  }
  answer({200, {{"done", true}}});
}

void Execs::set_end(Session& session, const End& end, Seconds now) {
  if (session.end) return;
  session.end = end;
  session.read_at = now;
  if (session.writer) answer_writer(session);
  if (session.begin) {
    const Answer begin = std::exchange(session.begin, nullptr);
    sessions_.erase(std::string(session.request.order.id));
    return begin(exec_refusal(end.code == kLost ? 503 : 409, end.why));
  }
  if (session.reader) answer_reader(session, now);
}

void Execs::take(NodeId node, const ExecNews& news, Seconds now) {
  const auto found = sessions_.find(news.id);
  if (found == sessions_.end() || found->second.request.node != node || found->second.end) return;
  Session& session = found->second;
  switch (news.kind) {
    case ExecNews::Kind::kBegan:
      if (session.begin) {
        session.read_at = now;
        std::exchange(session.begin, nullptr)({201, {{"id", news.id}}});
      }
      return;
    case ExecNews::Kind::kOutput:
      if (session.next + news.data.size() > session.base + kExecWindow) {
        ask_to_end(session, now);
        return set_end(session, {kLost, 0, "its agent sent more output than it may"}, now);
      }
      if (news.data.empty()) return;
      session.output.emplace_back(news.stream, news.data);
      session.next += news.data.size();
      if (session.reader) answer_reader(session, now);
      return;
    case ExecNews::Kind::kTook:
      session.used = std::clamp(news.took, session.used, session.taken);
      if (session.writer && take_input(session, *session.writer)) answer_writer(session);
      return;
    case ExecNews::Kind::kEnded:
      return set_end(session, {news.code, news.signal, news.why}, now);
  }
}

void Execs::lost(NodeId node, const std::string& why, Seconds now) {
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    Session& session = (at++)->second;  // which may go
    if (session.request.node == node) set_end(session, {kLost, 0, why}, now);
  }
}

void Execs::tick(Seconds now) {
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    const auto here = at++;
    Session& session = here->second;
    if (session.reader && now >= session.reader->until) answer_reader(session, now);
    if (session.writer && now >= session.writer->until) answer_writer(session);
    const bool idle = !session.reader && now - session.read_at > limits_.idle_s;
    if (session.end && idle) {
      sessions_.erase(here);
    } else if (session.end) {
      continue;
    } else if (session.begin && now - session.since > limits_.begin_s) {
      ask_to_end(session, now);
      set_end(session, {kLost, 0, "its agent did not answer"}, now);
    } else if (session.ending_at != kNever && now - session.ending_at > limits_.begin_s) {
      set_end(session, {kLost, 0, "its agent did not answer"}, now);
    } else if (!session.begin && idle) {
      ask_to_end(session, now);
    }
  }
}

}  // namespace weft::live

// Commands beside ranks: from those who ask to the agents, and back.
#include <fmt/core.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "live/daemon/fleet.h"

namespace weft::live {
namespace {

Seconds monotonic_s() { return 1e-9 * static_cast<double>(monotonic_ns()); }

// Nobody who may not use a session can guess its name.
Result<std::string> fresh_id() {
  const auto nonce = runtime::fresh_nonce();
  if (!nonce.ok()) return nonce.error();
  std::string hex;
  for (std::size_t i = 0; i < 16; ++i) hex += fmt::format("{:02x}", (*nonce)[i]);
  return hex;
}

}  // namespace

void Fleet::with_execs(const Execs::Answer& answer, std::function<void(Execs&, Seconds now)> act) {
  reactor_->post([this, answer, act = std::move(act)] {
    if (brain_ == nullptr) return answer(exec_refusal(503, "no nodes are here"));
    act(*execs_, monotonic_s());
  });
}

void Fleet::exec(const ExecWish& wish, const Execs::Answer& answer) {
  with_execs(answer, [this, wish, answer](Execs&, Seconds) { exec_here(wish, answer); });
}

void Fleet::exec_here(const ExecWish& wish, const Execs::Answer& answer) {
  const RankPlace place = has_parts(wish.job.identity) ? replicas_->place_of(wish.run, wish.rank)
                                                       : runs_->place_of(wish.run, wish.rank);
  const std::string& name = wish.job.name;
  if (place.ranks == 0) return answer(exec_refusal(409, fmt::format("{} does not run now", name)));
  if (place.node == kNoNode) {
    return answer(exec_refusal(
        404, fmt::format("{} has no rank {}; it has {}, from 0 on", name, wish.rank, place.ranks)));
  }
  const AgentView& agent = links_[place.node].view;
  const std::string& node = cluster_.nodes[place.node].name;
  if (!agent.connected) {
    return answer(exec_refusal(503, fmt::format("the agent of {} is not here", node)));
  }
  if (std::find(agent.can.begin(), agent.can.end(), "exec") == agent.can.end()) {
    return answer(exec_refusal(409, fmt::format("the agent of {} is of version {} and cannot do it",
                                                node, agent.program)));
  }
  auto id = fresh_id();
  if (!id.ok()) return answer(exec_refusal(500, id.error().what));
  Execs::Request request{{*id, {place.run, place.epoch}, wish.rank, wish.command},
                         wish.job.identity.uuid,
                         place.node,
                         wish.caller.uid};
  // Not what is run: its words may hold secrets.
  const std::string what = fmt::format("exec in rank {}{} by {}", wish.rank,
                                       is_part(wish.run) ? " of a replica" : "", wish.caller.user);
  execs_->open(request, monotonic_s(), [this, answer, what, job = wish.job.id](ExecReply reply) {
    if (reply.status == 201) board_->note(job, brain_->now(), what);
    answer(std::move(reply));
  });
}

void Fleet::hear_of_exec(NodeId node, const std::string& op, const Json& message) {
  const auto news = read_exec_news(op, message);
  if (news.ok()) return execs_->take(node, *news, monotonic_s());
  links_[node].connection->fail(runtime::End::kBadFrame, news.error().what);
}

void Fleet::lose_execs(NodeId node, const std::string& why) {
  if (execs_ != nullptr) execs_->lost(node, why, monotonic_s());
}

}  // namespace weft::live

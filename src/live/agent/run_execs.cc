// Commands beside the ranks of this node.
#include <fmt/core.h>

#include "live/agent/run_table.h"

namespace weft::live {

void RunTable::open_execs() {
  execs_ = std::make_unique<NodeExecs>(
      reactor_, NodeExecs::Links{settings_.say,
                                 [this](const ExecOrder& order, const std::array<int, 3>& streams) {
                                   return server_->fork_exec_keeper(order.key, order.rank, order.id,
                                                                    streams);
                                 }});
}

std::string RunTable::exec_refusal(const RunKey& key, int number) {
  const Run* run = find(key);
  const Rank* rank = find(key, number);
  if (rank == nullptr) return fmt::format("rank {} does not run here", number);
  if (rank->end || rank->sweeping) return fmt::format("rank {} has ended", number);
  if (run->stopping) return fmt::format("rank {} is being stopped", number);
  if (!rank->executed) return fmt::format("rank {} is still starting", number);
  const bool freezing = run->op == "freeze" && run->result != "refused" && run->result != "failed";
  if (rank->frozen || freezing) return fmt::format("rank {} is frozen", number);
  return "";
}

Status RunTable::exec(const std::string& op, const Json& message) {
  if (op != "exec") {
    const auto word = read_exec_word(op, message);
    if (!word.ok()) return word.error();
    execs_->take(*word);
    return {};
  }
  const auto order = read_exec_order(message);
  if (!order.ok()) {
    const std::string id = message.contains("id") && message["id"].is_string() ? message["id"] : "";
    if (!is_exec_id(id)) return order.error();
    execs_->refuse(id, order.error().what);
    return {};
  }
  if (const std::string why = exec_refusal(order->key, order->rank); !why.empty()) {
    execs_->refuse(order->id, why);
    return {};
  }
  execs_->begin(*order, find(order->key)->order.uid);
  return {};
}

void RunTable::end_execs(const std::string& why) { execs_->kill_all(why); }

}  // namespace weft::live

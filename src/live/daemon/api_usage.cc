// Who has used how much.
#include "live/daemon/api_answers.h"
#include "live/daemon/budgets.h"
#include "live/daemon/routes.h"
#include "live/daemon/usage.h"

namespace weft::live::handlers {
namespace {

using Json = nlohmann::json;

Json sums(const std::map<std::string, Usage>& by_name, const char* what) {
  Json rows = Json::array();
  for (const auto& [name, used] : by_name) {
    rows.push_back({{what, name}, {"device_hours", used.device_s / kHour}, {"cost", used.cost}});
  }
  return rows;
}

Json budgets_of(const ApiParts& parts, const std::string& only) {
  Json rows = Json::array();
  if (parts.budgets == nullptr) return rows;
  for (const auto& [owner, account] : parts.budgets->accounts()) {
    const bool is_user = owner.first == Spending::Kind::kUser;
    if (!only.empty() && !(is_user && owner.second == only)) continue;
    rows.push_back({{"of", is_user ? "user" : "queue"},
                    {"name", owner.second},
                    {"cost", maybe(account.budget.cost)},
                    {"device_hours", maybe(account.budget.device_hours)},
                    {"spent_cost", account.spent.cost},
                    {"spent_device_hours", account.spent.device_s / kHour},
                    {"from_s", account.from},
                    {"until_s", maybe(account.until)},
                    {"action", account.budget.stops ? "stop" : "hold"},
                    {"exceeded", account.is_over()}});
  }
  return rows;
}

}  // namespace

void usage(ApiParts& parts, const ApiCall& call) {
  const Seconds now = parts.journal.now();
  const auto last = static_cast<Seconds>(call.number("last", 0));
  const Seconds asked = last > 0 && last < now ? now - last : 0;
  const auto page = parts.usage.look(asked, now);
  if (!page.ok()) return call.answer(error_answer(503, page.error().text()));
  const std::string only = call.text("user");
  std::map<std::string, Usage> users, queues;
  Usage total;
  Json jobs = Json::array();
  for (const auto& [id, used] : page->by_job) {
    const auto job = parts.board.at(id);
    if (!job || (!only.empty() && job->identity.user != only)) continue;
    users[job->identity.user] += used;
    queues[job->queue] += used;
    total += used;
    jobs.push_back({{"uuid", job->identity.uuid},
                    {"name", job->name},
                    {"user", job->identity.user},
                    {"queue", job->queue},
                    {"state", kStandingNames[static_cast<int>(job->standing)]},
                    {"device_hours", used.device_s / kHour},
                    {"cost", used.cost}});
  }
  call.answer(json_answer(200, {{"now_s", now},
                                {"from_s", std::max(asked, page->since)},
                                {"device_hours", total.device_s / kHour},
                                {"cost", total.cost},
                                {"users", sums(users, "user")},
                                {"queues", sums(queues, "queue")},
                                {"budgets", budgets_of(parts, only)},
                                {"jobs", jobs}}));
}

}  // namespace weft::live::handlers

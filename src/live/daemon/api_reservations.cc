// What is planned for nodes: reservations, maintenance, and word that one will be taken away.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <mutex>

#include "live/daemon/api_answers.h"
#include "live/daemon/routes.h"
#include "live/job/job_text.h"

namespace weft::live::handlers {
namespace {

using Json = nlohmann::json;

constexpr Seconds kLongest = 10 * 365 * 24 * kHour;

// "2h" from now, or a time with its zone: seconds from now.
std::optional<Seconds> from_now(const std::string& text) {
  const auto at = parse_deadline(text);
  if (!at || text.empty()) return std::nullopt;
  if (at->kind == JobDeadline::Kind::kAfterSubmission) return at->seconds;
  return at->seconds - static_cast<double>(std::time(nullptr));
}

// One that no reservation has or is about to have.
std::uint32_t fresh_number(const Board& board) {
  static std::mutex mutex;
  static std::uint32_t given = 0;
  const std::lock_guard lock(mutex);
  for (const Closure& closure : board.closures()) given = std::max(given, closure.number);
  return ++given;
}

void post(ApiParts& parts, const ApiCall& call, EventRecord record, Json what) {
  parts.brain.post(
      std::move(record), [answer = call.answer, what = std::move(what)](const Status& status) {
        answer(status.ok() ? json_answer(200, what) : error_answer(503, status.error().text()));
      });
}

}  // namespace

void reserve_node(ApiParts& parts, const ApiCall& call) {
  const std::string from_text = call.text("from").empty() ? "0s" : call.text("from");
  const auto from = from_now(from_text), until = from_now(call.text("to"));
  if (!from || !until) {
    return call.answer(error_answer(
        400, fmt::format("{} is no time", from ? "to" : "from"),
        "a duration from now such as 2h, or a time with its zone such as 2026-11-16T18:00:00Z"));
  }
  if (*until <= *from || *until <= 0 || *until > kLongest) {
    return call.answer(
        error_answer(400, "the reservation must end after it begins, and within ten years"));
  }
  const std::string queue = call.text("for");
  const Seconds now = parts.journal.now();
  EventRecord record;
  record.event.kind = EventKind::kClose;
  record.event.node = call.node;
  record.event.number = fresh_number(parts.board);
  record.event.value = now + std::max(0.0, *from);
  record.event.value2 = now + *until;
  if (!queue.empty()) record.event.epoch = parts.tenants.number_of(queue) + 1u;
  const std::string whom = queue.empty() ? "nobody" : "queue " + queue;
  const double unix_now = static_cast<double>(std::time(nullptr));
  record.why = fmt::format("reserved for {} from {} to {} by {}", whom,
                           instant_text(unix_now + std::max(0.0, *from)),
                           instant_text(unix_now + *until), call.request.caller.user);
  const Json what = {{"number", record.event.number},
                     {"from_s", record.event.value},
                     {"to_s", record.event.value2}};
  post(parts, call, std::move(record), what);
}

void open_node(ApiParts& parts, const ApiCall& call) {
  const std::uint64_t number = call.number("number", 0);
  for (const Closure& closure : parts.board.closures()) {
    if (closure.node != call.node || closure.number != number) continue;
    EventRecord record;
    record.event.kind = EventKind::kClose;
    record.event.node = call.node;
    record.event.number = closure.number;
    record.why = "reservation ended by " + call.request.caller.user;
    return post(parts, call, std::move(record), {{"done", true}});
  }
  call.answer(error_answer(404, fmt::format("the node has no reservation {}", number)));
}

void notice_node(ApiParts& parts, const ApiCall& call) {
  const auto in = from_now(call.text("in").empty() ? "2min" : call.text("in"));
  if (!in || *in < 0 || *in > kLongest) {
    return call.answer(error_answer(400, "in is no time", "a duration such as 2min"));
  }
  EventRecord record;
  record.event.kind = EventKind::kNodeNotice;
  record.event.node = call.node;
  record.event.value = parts.journal.now() + *in;
  record.why =
      fmt::format("will be taken away in {:.0f} s, says {}", *in, call.request.caller.user);
  // First the node takes no new work, then its jobs go: they must not come back to it.
  const Seconds at = record.event.value;
  parts.brain.post(std::move(record), [&fleet = parts.fleet, answer = call.answer, at,
                                       node = call.node](const Status& status) {
    if (status.ok()) fleet.leave(node, at);
    answer(status.ok() ? json_answer(200, {{"done", true}})
                       : error_answer(503, status.error().text()));
  });
}

}  // namespace weft::live::handlers

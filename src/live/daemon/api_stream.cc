// The story as it happens: server-sent events (WHATWG HTML, "Server-sent events").
#include <fmt/core.h>

#include <algorithm>

#include "live/daemon/api_answers.h"
#include "live/daemon/routes.h"

namespace weft::live {

nlohmann::json view_of(const StoryLine& line) {
  return {{"number", line.number}, {"at_s", line.at}, {"job", line.uuid}, {"what", line.what}};
}

namespace handlers {

void stream_events(ApiParts& parts, const ApiCall& call) {
  // Whoever lost the connection says what came last, and misses nothing that is still known.
  std::uint64_t after = call.number("after", 0);
  const std::string& last = call.request.last_event_id;
  if (!last.empty()) {
    if (last.size() > 18 || last.find_first_not_of("0123456789") != std::string::npos) {
      return call.answer(error_answer(400, "Last-Event-ID must be a whole number"));
    }
    after = std::stoull(last);
  }
  ApiAnswer answer{200, "", "text/event-stream"};
  answer.beat = ":\n\n";
  answer.more = [&board = parts.board, after]() mutable -> std::optional<std::string> {
    std::string text;
    for (const StoryLine& line : board.story_after(after)) {
      after = line.number;
      const std::string data =
          view_of(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      text += fmt::format("id: {}\ndata: {}\n\n", line.number, data);
    }
    return text;
  };
  call.answer(std::move(answer));
}

}  // namespace handlers
}  // namespace weft::live

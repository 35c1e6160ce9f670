// Notes that somebody wants in the journal.
#include <nlohmann/json.hpp>

#include "base/archive.h"
#include "live/daemon/api_answers.h"
#include "live/daemon/routes.h"
#include "live/store/notes.h"

namespace weft::live::handlers {

void write_note(ApiParts& parts, const ApiCall& call) {
  const auto body = nlohmann::json::parse(call.request.body, nullptr, false);
  const auto text_of = [&](const char* name) {
    const auto found = body.is_object() ? body.find(name) : body.end();
    return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const NoteRecord note{text_of("name"), call.request.caller.user, text_of("text")};
  if (note.name.empty() || note.text.empty()) {
    return call.answer(error_answer(400, "the body must be {\"name\": …, \"text\": …}"));
  }
  parts.journal.append(
      RecordKind::kNote, [&](Seconds) { return to_bytes(note); },
      [answer = call.answer](const Status& status, std::uint64_t seq) {
        answer(status.ok() ? json_answer(201, {{"seq", seq}})
                           : error_answer(503, status.error().text()));
      },
      DurableJournal::Weight::kMayFail);
}

}  // namespace weft::live::handlers

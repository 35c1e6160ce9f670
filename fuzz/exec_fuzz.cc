// Whatever an agent or a controller says of commands beside ranks is read or refused, and what was
// read is within its limits and comes back as it was.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/base64.h"
#include "base/check.h"
#include "live/agent/exec_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  using namespace weft::live;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CHECK(from_base64(to_base64(text)) == text);
  if (const auto bytes = from_base64(text)) CHECK(to_base64(*bytes) == text);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (const auto order = read_exec_order(json); order.ok()) {
    CHECK(is_exec_id(order->id) && !order->command.words.empty());
    CHECK(order->command.words.size() <= kMostExecWords);
    const auto again = read_exec_order(to_json(*order));
    CHECK(again.ok() && again->command.words == order->command.words && again->key == order->key);
  }
  for (const char* op : {"exec_input", "exec_more", "exec_size", "exec_end", "exec_"}) {
    if (const auto word = read_exec_word(op, json); word.ok()) {
      CHECK(is_exec_id(word->id) && word->data.size() <= kMostExecPiece);
    }
  }
  for (const char* op : {"exec_began", "exec_output", "exec_took", "exec_ended", "exec_"}) {
    if (const auto news = read_exec_news(op, json); news.ok()) {
      CHECK(is_exec_id(news->id) && news->data.size() <= kMostExecPiece);
    }
  }
  return 0;
}

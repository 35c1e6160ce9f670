#include "live/agent/exec_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kIdBytes = 32;
constexpr std::size_t kMostTermBytes = 64;

std::vector<std::string> read_words(JsonFields& fields) {
  const Json* list = fields.find("command");
  std::vector<std::string> words;
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMostExecWords) {
    fields.complain(fmt::format("command must be a list of 1 to {} words", kMostExecWords));
    return words;
  }
  for (const Json& word : *list) {
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos) {
      fields.complain("command must hold texts without zero bytes");
      return words;
    }
    words.push_back(word);
  }
  if (words[0].empty()) fields.complain("command must begin with the name of a program");
  const std::size_t bytes = list->dump(-1, ' ', false, Json::error_handler_t::replace).size();
  if (bytes > kMostExecText) {
    fields.complain(fmt::format("command has {} bytes as JSON; at most {}", bytes, kMostExecText));
  }
  return words;
}

int read_size(JsonFields& fields, const char* name, int otherwise) {
  return static_cast<int>(fields.whole(name, 1, kMostWindowSide, otherwise));
}

ExecTerminal read_terminal(const Json& object, JsonFields& outer) {
  JsonFields fields(object);
  ExecTerminal terminal;
  terminal.rows = read_size(fields, "rows", terminal.rows);
  terminal.columns = read_size(fields, "columns", terminal.columns);
  terminal.kind = fields.text("term", terminal.kind);
  const bool plain = std::all_of(terminal.kind.begin(), terminal.kind.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '+' || c == '_';
  });
  if (!plain || terminal.kind.empty() || terminal.kind.size() > kMostTermBytes) {
    fields.complain(fmt::format("term must have 1 to {} letters, digits or -._+", kMostTermBytes));
  }
  if (!fields.wrong().empty()) outer.complain("tty: " + fields.wrong());
  return terminal;
}

std::string read_id(JsonFields& fields) {
  std::string id = fields.text("id");
  if (!is_exec_id(id)) fields.complain(fmt::format("id must be {} hexadecimal digits", kIdBytes));
  return id;
}

std::string read_data(JsonFields& fields) {
  const auto data = from_base64(fields.text("data"));
  if (!data || data->size() > kMostExecPiece) {
    fields.complain(fmt::format("data must be base64 of at most {} bytes", kMostExecPiece));
    return "";
  }
  return *data;
}

Error unknown(const std::string& op) {
  return {ErrorKind::kInvalidInput, fmt::format("no message '{}' is known", op), ""};
}

}  // namespace

bool is_exec_id(const std::string& text) {
  return text.size() == kIdBytes && text.find_first_not_of("0123456789abcdef") == text.npos;
}

Result<ExecCommand> read_exec_command(const Json& object) {
  JsonFields fields(object);
  ExecCommand command;
  command.words = read_words(fields);
  if (const Json* tty = fields.find("tty")) command.terminal = read_terminal(*tty, fields);
  command.timeout_s = fields.number("timeout_s", 0.001, kMostExecSeconds, kMostExecSeconds);
  if (!fields.wrong().empty()) return fields.error();
  return command;
}

Json to_json(const ExecTerminal& terminal) {
  return {{"rows", terminal.rows}, {"columns", terminal.columns}, {"term", terminal.kind}};
}

Result<ExecOrder> read_exec_order(const Json& message) {
  JsonFields fields(message);
  ExecOrder order;
  order.id = read_id(fields);
  order.rank = static_cast<int>(fields.whole("rank", 0, kMostExecRank, -1));
  if (order.rank < 0) fields.complain("rank is missing");
  if (!fields.wrong().empty()) return fields.error();
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  auto command = read_exec_command(message);
  if (!command.ok()) return command.error();
  order.key = *key;
  order.command = std::move(*command);
  return order;
}

Json to_json(const ExecOrder& order) {
  Json message = {{"op", "exec"},
                  {"id", order.id},
                  {"uuid", order.key.uuid},
                  {"epoch", order.key.epoch},
                  {"rank", order.rank},
                  {"command", order.command.words},
                  {"timeout_s", order.command.timeout_s}};
  if (order.command.terminal) message["tty"] = to_json(*order.command.terminal);
  return message;
}

Result<ExecWord> read_exec_word(const std::string& op, const Json& message) {
  JsonFields fields(message);
  ExecWord word;
  word.id = read_id(fields);
  if (op == "exec_input") {
    word.kind = ExecWord::Kind::kInput;
    word.data = read_data(fields);
    word.last = fields.whole("last", 0, 1, 0) == 1;
  } else if (op == "exec_more") {
    word.kind = ExecWord::Kind::kMore;
    word.until = static_cast<std::uint64_t>(fields.whole("until", 0, kMostExecOffset, 0));
  } else if (op == "exec_size") {
    word.kind = ExecWord::Kind::kSize;
    word.rows = read_size(fields, "rows", 0);
    word.columns = read_size(fields, "columns", 0);
    if (word.rows == 0 || word.columns == 0) fields.complain("rows or columns are missing");
  } else if (op != "exec_end") {
    return unknown(op);
  }
  if (!fields.wrong().empty()) return fields.error();
  return word;
}

Result<ExecNews> read_exec_news(const std::string& op, const Json& message) {
  JsonFields fields(message);
  ExecNews news;
  news.id = read_id(fields);
  if (op == "exec_began") {
    news.kind = ExecNews::Kind::kBegan;
  } else if (op == "exec_output") {
    news.kind = ExecNews::Kind::kOutput;
    news.stream = static_cast<int>(fields.whole("stream", 1, 2, 0));
    if (news.stream == 0) fields.complain("stream is missing");
    news.data = read_data(fields);
  } else if (op == "exec_took") {
    news.kind = ExecNews::Kind::kTook;
    news.took = static_cast<std::uint64_t>(fields.whole("took", 0, kMostExecOffset, 0));
  } else if (op == "exec_ended") {
    news.code = static_cast<int>(fields.whole("code", 0, 255, 0));
    news.signal = static_cast<int>(fields.whole("signal", 0, 128, 0));
    news.why = fields.text("why");
  } else {
    return unknown(op);
  }
  if (!fields.wrong().empty()) return fields.error();
  return news;
}

}  // namespace weft::live

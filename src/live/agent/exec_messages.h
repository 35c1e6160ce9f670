// What controller and agent say of commands that run beside a rank (docs/agents.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "live/agent/run_order.h"

namespace weft::live {

// What readers of messages and of the API allow.
inline constexpr int kMostExecRank = 1 << 24;
inline constexpr int kMostWindowSide = 10'000;  // of a terminal, in letters
inline constexpr std::int64_t kMostExecOffset = std::int64_t{1} << 53;

inline constexpr Seconds kMostExecSeconds = 86400;
inline constexpr std::size_t kMostExecWords = 1024;
inline constexpr std::size_t kMostExecText = 48 << 10;   // of the words as JSON, bytes
inline constexpr std::size_t kMostExecPiece = 32 << 10;  // of input or output in a message, bytes
// Output that nobody has read yet, and input that the command has not read: no more is on the way.
inline constexpr std::size_t kExecWindow = 256 << 10;

struct ExecTerminal {
  int rows = 24, columns = 80;
  std::string kind = "xterm";  // TERM
};

// What a caller wants run.
struct ExecCommand {
  std::vector<std::string> words;        // at least one
  std::optional<ExecTerminal> terminal;  // none: three pipes
  Seconds timeout_s = kMostExecSeconds;  // after which it is killed
};
// From the fields command, tty and timeout_s of an object that may have others.
Result<ExecCommand> read_exec_command(const nlohmann::json& object);
nlohmann::json to_json(const ExecTerminal& terminal);

// `exec`: what an agent is told to start.
struct ExecOrder {
  std::string id;
  RunKey key;
  int rank = 0;
  ExecCommand command;
};
Result<ExecOrder> read_exec_order(const nlohmann::json& message);
nlohmann::json to_json(const ExecOrder& order);
// 32 small hexadecimal digits.
bool is_exec_id(const std::string& text);

// `exec_input`, `exec_more`, `exec_size`, `exec_end`: what an agent is told of one that runs.
struct ExecWord {
  enum class Kind : std::uint8_t { kInput, kMore, kSize, kEnd };
  Kind kind = Kind::kEnd;
  std::string id;
  std::string data;           // kInput
  bool last = false;          // kInput: no more will come
  std::uint64_t until = 0;    // kMore: output may be sent up to there
  int rows = 0, columns = 0;  // kSize
};
Result<ExecWord> read_exec_word(const std::string& op, const nlohmann::json& message);

// `exec_began`, `exec_output`, `exec_took`, `exec_ended`: what an agent says.
struct ExecNews {
  enum class Kind : std::uint8_t { kBegan, kOutput, kTook, kEnded };
  Kind kind = Kind::kEnded;
  std::string id;
  int stream = 1;          // kOutput: 1 standard output, 2 standard error
  std::string data;        // kOutput
  std::uint64_t took = 0;  // kTook: bytes of input that the command has, all together
  int code = 0, signal = 0;
  std::string why;  // kEnded: empty if it ended by itself
};
Result<ExecNews> read_exec_news(const std::string& op, const nlohmann::json& message);

}  // namespace weft::live

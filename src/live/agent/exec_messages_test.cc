#include "live/agent/exec_messages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

using Json = nlohmann::json;

const std::string kId(32, 'a');

Json order() {
  return {{"op", "exec"}, {"id", kId}, {"uuid", "u-1"},
          {"epoch", 3},   {"rank", 1}, {"command", {"ls", "-l"}}};
}

TEST(ExecMessages, AnOrderComesBackAsItWas) {
  ExecOrder out{kId, {"u-1", 3}, 1, {{"sh", "-c", "true"}, ExecTerminal{50, 132, "vt100"}, 7.5}};
  const auto in = read_exec_order(to_json(out));
  ASSERT_TRUE(in.ok()) << in.error().what;
  EXPECT_EQ(in->id, kId);
  EXPECT_EQ(in->key, out.key);
  EXPECT_EQ(in->rank, 1);
  EXPECT_EQ(in->command.words, out.command.words);
  ASSERT_TRUE(in->command.terminal);
  EXPECT_EQ(in->command.terminal->rows, 50);
  EXPECT_EQ(in->command.terminal->columns, 132);
  EXPECT_EQ(in->command.terminal->kind, "vt100");
  EXPECT_EQ(in->command.timeout_s, 7.5);
  out.command.terminal.reset();
  EXPECT_FALSE(read_exec_order(to_json(out))->command.terminal);
}

TEST(ExecMessages, WrongOrdersAreRefused) {
  ASSERT_TRUE(read_exec_order(order()).ok());
  const Json none;
  struct Row {
    const char* what;
    const char* field;
    Json value;
  };
  const Row rows[] = {
      {"no id", "id", none},
      {"an id that leaves its place", "id", std::string(29, 'a') + "../"},
      {"an id that is too short", "id", "ab"},
      {"no rank", "rank", none},
      {"a negative rank", "rank", -1},
      {"a rank that is a text", "rank", "0"},
      {"no run", "uuid", none},
      {"a run that leaves its folder", "uuid", "../x"},
      {"no command", "command", none},
      {"a command that is a text", "command", "ls"},
      {"a command without words", "command", Json::array()},
      {"a command without a name", "command", {""}},
      {"a word that is a number", "command", {"ls", 3}},
      {"a word with a zero byte", "command", {std::string("a\0b", 3)}},
      {"too many words", "command", std::vector<std::string>(kMostExecWords + 1, "a")},
      {"too long a word", "command", {std::string(kMostExecText, 'a')}},
      {"letters that grow as JSON", "command", {std::string(kMostExecText / 4, '\x01')}},
      {"a time of nothing", "timeout_s", 0},
      {"a time of more than a day", "timeout_s", 86401},
      {"a terminal that is a word", "tty", true},
      {"a terminal without rows", "tty", {{"rows", 0}}},
      {"a terminal of too many columns", "tty", {{"columns", 10'001}}},
      {"a terminal of a kind with a slash", "tty", {{"term", "../x"}}},
  };
  for (const Row& row : rows) {
    Json message = order();
    message[row.field] = row.value;
    EXPECT_FALSE(read_exec_order(message).ok()) << row.what;
  }
  EXPECT_FALSE(read_exec_order(Json::array()).ok());
}

TEST(ExecMessages, WordsOfTheControllerAreRead) {
  const auto input = read_exec_word("exec_input", {{"id", kId}, {"data", "aGk="}, {"last", 1}});
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->data, "hi");
  EXPECT_TRUE(input->last);
  EXPECT_EQ(read_exec_word("exec_more", {{"id", kId}, {"until", 77}})->until, 77u);
  EXPECT_EQ(read_exec_word("exec_size", {{"id", kId}, {"rows", 3}, {"columns", 9}})->columns, 9);
  EXPECT_EQ(read_exec_word("exec_end", {{"id", kId}})->kind, ExecWord::Kind::kEnd);
  struct Row {
    const char* what;
    const char* op;
    Json message;
  };
  const Row rows[] = {
      {"no id", "exec_end", Json::object()},
      {"a list", "exec_end", Json::array()},
      {"an op that is not there", "exec_dance", {{"id", kId}}},
      {"input that is no base64", "exec_input", {{"id", kId}, {"data", "%%%%"}}},
      {"input that is a number", "exec_input", {{"id", kId}, {"data", 3}}},
      {"too much input", "exec_input", {{"id", kId}, {"data", std::string(44'000, 'A')}}},
      {"a last that is a text", "exec_input", {{"id", kId}, {"data", ""}, {"last", "yes"}}},
      {"more up to before the beginning", "exec_more", {{"id", kId}, {"until", -1}}},
      {"a size without columns", "exec_size", {{"id", kId}, {"rows", 3}}},
      {"a size of half a row", "exec_size", {{"id", kId}, {"rows", 0.5}, {"columns", 3}}},
  };
  for (const Row& row : rows) EXPECT_FALSE(read_exec_word(row.op, row.message).ok()) << row.what;
}

TEST(ExecMessages, NewsOfAgentsAreRead) {
  EXPECT_EQ(read_exec_news("exec_began", {{"id", kId}})->kind, ExecNews::Kind::kBegan);
  const auto output = read_exec_news("exec_output", {{"id", kId}, {"stream", 2}, {"data", "aGk="}});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->stream, 2);
  EXPECT_EQ(output->data, "hi");
  EXPECT_EQ(read_exec_news("exec_took", {{"id", kId}, {"took", 5}})->took, 5u);
  const auto ended =
      read_exec_news("exec_ended", {{"id", kId}, {"code", 3}, {"signal", 0}, {"why", "x"}});
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 3);
  EXPECT_EQ(ended->why, "x");
  struct Row {
    const char* what;
    const char* op;
    Json message;
  };
  const Row rows[] = {
      {"no id", "exec_began", Json::object()},
      {"an op that is not there", "exec_danced", {{"id", kId}}},
      {"output of no stream", "exec_output", {{"id", kId}, {"data", ""}}},
      {"output of a third stream", "exec_output", {{"id", kId}, {"stream", 3}, {"data", ""}}},
      {"output that is no base64", "exec_output", {{"id", kId}, {"stream", 1}, {"data", "a"}}},
      {"less than nothing taken", "exec_took", {{"id", kId}, {"took", -3}}},
      {"a code that is none", "exec_ended", {{"id", kId}, {"code", 256}}},
      {"a signal that is none", "exec_ended", {{"id", kId}, {"signal", 500}}},
      {"a reason that is a list", "exec_ended", {{"id", kId}, {"why", Json::array()}}},
  };
  for (const Row& row : rows) EXPECT_FALSE(read_exec_news(row.op, row.message).ok()) << row.what;
}

}  // namespace
}  // namespace weft::live

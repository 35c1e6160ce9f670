#include "exec_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "daemon_client.h"
#include "exec_session.h"
#include "live/agent/exec_messages.h"
#include "live/daemon/daemon.h"
#include "option_checks.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct ExecArguments {
  const char* verb = "exec";
  std::string store, job, replica;
  int rank = 0;
  double timeout_s = 0;
  bool terminal = false;
  std::vector<std::string> words;
};

// The shell that the job's environment names, or a better one than plain sh if there is one.
constexpr const char* kShell =
    "s=${SHELL:-/bin/sh}; [ \"$s\" != /bin/sh ] || s=$(command -v bash || echo \"$s\"); exec $s";

Result<std::string> body_of(const ExecArguments& a) {
  Json body = {{"command", a.words}, {"rank", a.rank}};
  if (!a.replica.empty()) body["replica"] = a.replica;
  if (a.timeout_s > 0) body["timeout_s"] = a.timeout_s;
  if (a.terminal) {
    const WindowSize size = window_size();
    const char* term = getenv("TERM");
    body["tty"] = {{"rows", size.rows},
                   {"columns", size.columns},
                   {"term", term != nullptr && *term != '\0' ? term : "xterm"}};
  }
  try {
    return body.dump();
  } catch (const Json::exception&) {
    return Error{ErrorKind::kInvalidInput, "a word of the command is not UTF-8", ""};
  }
}

int run_exec(const ExecArguments& a) {
  if (a.words.empty()) {
    return report_error(a.verb, {ErrorKind::kInvalidInput, "there is no command",
                                 "weft exec JOB [options] -- COMMAND ARGUMENTS"});
  }
  if (a.terminal && (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)) {
    return report_error(a.verb,
                        {ErrorKind::kInvalidInput, "standard input or output is no terminal",
                         "without one, use `weft exec JOB -- COMMAND`"});
  }
  const auto body = body_of(a);
  if (!body.ok()) return report_error(a.verb, body.error());
  const auto daemon = live::endpoint_of(a.store, live::default_store());
  if (!daemon.ok()) return report_error(a.verb, daemon.error());
  block_exec_signals();
  const auto made =
      live::HttpClient(*daemon).ask("POST", "/v1/jobs/" + in_path(a.job) + "/exec", *body);
  if (!made.ok()) return report_error(a.verb, made.error());
  const Json answer = Json::parse(made->body, nullptr, false);
  if (made->status != 201 || !answer.is_object() || !answer.contains("id")) {
    const bool told = answer.is_object() && answer.contains("error");
    return report_error(a.verb, {ErrorKind::kInvalidInput,
                                 told ? answer["error"].get<std::string>()
                                      : fmt::format("the daemon answered {}", made->status),
                                 told ? answer.value("hint", "") : ""});
  }
  const RawTerminal raw(a.terminal);
  return run_exec_session(*daemon, answer.at("id"), a.terminal, a.verb);
}

}  // namespace

std::vector<std::string> take_exec_words(int& argc, char** argv) {
  if (argc < 2 || argv[1] != std::string_view("exec")) return {};
  char** const dashes = std::find_if(
      argv + 2, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes == argv + argc) return {};
  std::vector<std::string> words(dashes + 1, argv + argc);
  argc = static_cast<int>(dashes - argv);
  return words;
}

std::vector<Verb> add_exec_commands(CLI::App& app, std::vector<std::string> words) {
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, const char* says) {
    const auto a = std::make_shared<ExecArguments>();
    a->verb = name;
    CLI::App* verb = app.add_subcommand(name, says);
    verb->add_option("job", a->job, "uuid, its beginning, or name")->required();
    verb->add_option("--store", a->store,
                     "folder of the daemon's journal (WEFT_HOME, or a usual place)");
    verb->add_option("--rank", a->rank, "whose environment (0)")
        ->check(whole_number_from(0, 1 << 24));
    verb->add_option("--replica", a->replica, "of a service: which, as `weft status` names them");
    verb->add_option("--timeout", a->timeout_s, "seconds after which it is killed (a day)")
        ->check(number_from(0.001, live::kMostExecSeconds));
    verbs.push_back({verb, [a] { return run_exec(*a); }});
    return std::pair{verb, a};
  };
  const auto [exec, e] = add("exec", "run a command in a rank's environment");
  exec->add_flag("-t,--tty", e->terminal, "with a terminal, as for an editor or a debugger");
  exec->footer(
      "The exit code is the command's; 255 when it was lost.\n"
      "example: weft exec train --rank 3 -- nvidia-smi\n"
      "         weft exec train -- tar c checkpoints | tar x");
  e->words = std::move(words);
  const auto [attach, s] = add("attach", "open a shell in a rank's environment");
  s->terminal = true;
  s->words = {"/bin/sh", "-c", kShell};
  return verbs;
}

}  // namespace weft

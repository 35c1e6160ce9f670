#include "command_line.h"

#include <fmt/core.h>

#include <cstdio>

#include "agent_command.h"
#include "backup_command.h"
#include "base/delimited.h"
#include "bench_command.h"
#include "completions_command.h"
#include "demo_command.h"
#include "exec_command.h"
#include "forecast_commands.h"
#include "help_text.h"
#include "job_commands.h"
#include "launch_command.h"
#include "net_command.h"
#include "nodes_command.h"
#include "plan_command.h"
#include "recording_command.h"
#include "sim_verb.h"
#include "token_command.h"
#include "up_command.h"
#include "usage_command.h"

namespace weft {
namespace {

// CLI11 says of an unknown verb only that one is required.
Status check_verb(const CLI::App& app, const std::string& word) {
  if (word.starts_with('-')) return {};
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->check_name(word)) return {};
    if (verb->get_group() != kHidden) names.push_back(verb->get_name());
  }
  const std::string close = near_miss(word, names);
  return Error{ErrorKind::kInvalidInput, fmt::format("there is no verb {}", shown(word)),
               close.empty() ? "weft --help lists them" : fmt::format("did you mean '{}'?", close)};
}

}  // namespace

std::unique_ptr<CommandLine> make_command_line(std::vector<std::string> exec_words) {
  auto line = std::make_unique<CommandLine>();
  CLI::App& app = line->app;
  // Before the verbs, which inherit both.
  app.formatter_fn(
      [](const CLI::App* of, const std::string&, CLI::AppFormatMode) { return help_text(*of); });
  app.set_help_flag("-h,--help", "print this text");
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  std::vector<Verb>& verbs = line->verbs;
  verbs = {add_sim_command(app),         add_net_command(app),    add_bench_command(app),
           add_plan_command(app),        add_launch_command(app), add_recording_command(app),
           add_agent_command(app),       add_demo_command(app),   add_up_command(app),
           add_down_command(app),        add_token_command(app),  add_usage_command(app),
           add_top_command(app),         add_backup_command(app), add_restore_command(app),
           add_completions_command(app), add_nodes_command(app)};
  const auto add = [&](const std::vector<Verb>& more) {
    verbs.insert(verbs.end(), more.begin(), more.end());
  };
  add(add_job_commands(app));
  add(add_exec_commands(app, std::move(exec_words)));
  add(add_forecast_commands(app));
  // After the verbs, which would inherit it.
  app.footer(
      "weft VERB --help describes a verb; weft --version prints the version.\n"
      "start with: weft sim --cluster 16x8 --trace gen:philly,jobs=500 --policy fifo,srtf,2d-las");
  return line;
}

int run_command_line(int argc, char** argv) {
  if (const auto kept = run_keeper(argc, argv)) return *kept;
  if (const auto met = run_meeting(argc, argv)) return *met;
  const auto line = make_command_line(take_exec_words(argc, argv));
  if (argc < 2) {
    std::fputs(help_text(line->app).c_str(), stderr);
    return kExitBadInput;
  }
  if (const Status known = check_verb(line->app, argv[1]); !known.ok()) {
    std::fputs(fmt::format("weft: {}\n", known.error().text()).c_str(), stderr);
    return kExitBadInput;
  }
  protect_launch_words(argc, argv);
  try {
    line->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return line->app.exit(error) == 0 ? kExitDone : kExitBadInput;
  }
  for (const Verb& verb : line->verbs) {
    if (verb.app->parsed()) return verb.run();
  }
  return kExitBadInput;
}

}  // namespace weft

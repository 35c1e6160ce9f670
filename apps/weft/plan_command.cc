#include "plan_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/delimited.h"

namespace weft {

Result<std::vector<planner::TrainingRun>> read_run_files(const std::vector<std::string>& files,
                                                         const std::vector<std::string>& sets) {
  std::vector<planner::TrainingRun> runs;
  std::vector<std::string> known;
  for (const std::string& file : files) {
    auto some = planner::read_runs(file);
    if (!some.ok()) return some.error();
    for (planner::TrainingRun& one : *some) {
      if (files.size() > 1 && one.set == planner::kNoSet)
        one.set = file.substr(file.rfind('/') + 1);
      if (std::find(known.begin(), known.end(), one.set) == known.end()) known.push_back(one.set);
      const bool wanted =
          sets.empty() || std::find(sets.begin(), sets.end(), one.set) != sets.end();
      if (wanted) runs.push_back(std::move(one));
    }
  }
  for (const std::string& set : sets) {
    if (std::find(known.begin(), known.end(), set) != known.end()) continue;
    return Error{ErrorKind::kNotFound,
                 fmt::format("no row is of set {}{}", shown(set), did_you_mean(set, known)), ""};
  }
  return runs;
}

Verb add_plan_command(CLI::App& app) {
  CLI::App* plan = app.add_subcommand(
      "plan", "plan the training of a large model: layout, pipeline, failures, energy");
  plan->require_subcommand(1);
  plan->footer(
      "examples: weft plan pipeline --schedule 1f1b,zb-h1,zb-v --stages 8 --microbatches 32\n"
      "          weft plan goodput --nodes 2048 --node-mtbf 6333h --checkpoint 10 --restart 5min\n"
      "          weft plan energy --schedule 1f1b --stages 8 --microbatches 32 --watts 400");
  const std::vector<Verb> verbs = {add_plan_pipeline(*plan),  add_plan_evaluate(*plan),
                                   add_plan_calibrate(*plan), add_plan_search(*plan),
                                   add_plan_goodput(*plan),   add_plan_energy(*plan),
                                   add_plan_compare(*plan)};
  return {plan, [verbs] {
            for (const Verb& verb : verbs) {
              if (verb.app->parsed()) return verb.run();
            }
            return kExitBadInput;
          }};
}

}  // namespace weft

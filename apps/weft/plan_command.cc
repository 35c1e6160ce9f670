#include "plan_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <vector>

namespace weft {

int plan_fail(const std::string& verb, const Error& error) {
  std::fputs(fmt::format("weft plan {}: {}\n", verb, error.text()).c_str(), stderr);
  return kExitBadInput;
}

Verb add_plan_command(CLI::App& app) {
  CLI::App* plan = app.add_subcommand("plan", "how to train a model");
  plan->require_subcommand(1);
  plan->footer(
      "example: weft plan pipeline --schedule 1f1b,zb-h1,zb-v --stages 8 --microbatches 32");
  const std::vector<Verb> verbs = {add_plan_pipeline(*plan), add_plan_evaluate(*plan),
                                   add_plan_goodput(*plan)};
  return {plan, [verbs] {
            for (const Verb& verb : verbs) {
              if (verb.app->parsed()) return verb.run();
            }
            return kExitBadInput;
          }};
}

}  // namespace weft

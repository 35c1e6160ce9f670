// weft-sim: the verb `sim` in a program of its own. It needs half of the rooms, so `./dev demo`
// builds and shows it while the rest is still to come.
#include <CLI/CLI.hpp>

#include "sim_verb.h"
#include "verb.h"

int main(int argc, char** argv) {
  CLI::App app{"The simulator of Weft by itself."};
  app.require_subcommand(1);
  const weft::Verb sim = weft::add_sim_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? weft::kExitDone : weft::kExitBadInput;
  }
  return sim.run();
}

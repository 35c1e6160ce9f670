#include "net_command.h"

namespace weft {

Verb add_net_command(CLI::App& app) {
  CLI::App* net =
      app.add_subcommand("net", "time collectives, coflows and training steps on a network");
  net->require_subcommand(1);
  net->footer(
      "example: weft net topology clos:hosts=1024,radix=32,oversubscription=4 --svg net.svg\n"
      "         weft net collective --topology clos:hosts=64,radix=16 --algorithm auto --bytes "
      "1GB\n"
      "         weft net iteration --job examples/flows/vgg16.yaml --scheduler fifo,bytescheduler\n"
      "         weft net sync --slow 3:4 --modes bsp ssp:bound=3 asp local:period=8");
  const std::vector<Verb> verbs = {add_net_topology(*net), add_net_collective(*net),
                                   add_net_coflow(*net), add_net_iteration(*net),
                                   add_net_sync(*net)};
  return {net, [verbs] {
            for (const Verb& verb : verbs) {
              if (verb.app->parsed()) return verb.run();
            }
            return kExitBadInput;
          }};
}

}  // namespace weft

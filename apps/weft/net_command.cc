#include "net_command.h"

#include "base/check.h"

namespace weft {
namespace {

void add_iteration(CLI::App& net, IterationArguments& a) {
  CLI::App* const iteration =
      net.add_subcommand("iteration", "time training iterations under flow schedulers");
  iteration->add_option("--job", a.job, "jobs and links as YAML (docs/formats.md)");
  iteration
      ->add_option("--scheduler", a.schedulers,
                   "WITHIN, BETWEEN or WITHIN+BETWEEN (docs/flows.md), comma separated")
      ->delimiter(',');
  iteration->add_option("--iterations", a.iterations, "of each job; the second half is measured")
      ->check(CLI::Range(2, 10000));
  iteration->add_option("--svg", a.svg, "write the last iterations as a chart");
  iteration->add_option("--trace-out", a.trace_out, "write all iterations for Perfetto (JSON)");
  iteration->add_flag("--json", a.json, "print JSON");
  iteration->add_flag("--csv", a.csv, "print the table as CSV");
  iteration->add_flag("--md", a.markdown, "print the table as Markdown");
  iteration->add_flag("--list-schedulers", a.list_schedulers,
                      "print every scheduler with its rule's source");
  iteration->footer(
      "example: weft net iteration --job examples/flows/vgg16.yaml --scheduler "
      "fifo,p3,bytescheduler");
}

}  // namespace

CLI::App* add_net_command(CLI::App& app, NetArguments& arguments) {
  CLI::App* const net = app.add_subcommand("net", "flows on a network, without a cluster");
  net->require_subcommand(1);
  add_iteration(*net, arguments.iteration);
  return net;
}

int run_net(const CLI::App& net, const NetArguments& arguments) {
  CHECK(net.got_subcommand("iteration"));
  return run_net_iteration(arguments.iteration);
}

}  // namespace weft

#include "nodes_command.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon_client.h"
#include "node_page.h"
#include "option_checks.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct NodesArguments {
  std::string store, node, from, to, queue, in;
  bool json = false;
  int number = 0, lasts_s = 3600;
};

int list_nodes(const NodesArguments& a) {
  DaemonClient client(a.store);
  const auto nodes = client.ask("GET", "/v1/nodes");
  if (!nodes.ok()) return report_error("nodes", nodes.error());
  if (a.json) {
    fmt::print("{}\n", nodes->dump());
    return kExitDone;
  }
  const auto jobs = client.ask("GET", "/v1/jobs");
  if (!jobs.ok()) return report_error("nodes", jobs.error());
  fmt::print("{}", nodes_page(*nodes, *jobs));
  return kExitDone;
}

// Posts to the node; `tell` prints the answer for people.
int change_node(
    const NodesArguments& a, const std::string& request,
    const std::function<void(const Json&)>& tell = [](const Json&) {}) {
  DaemonClient client(a.store);
  const auto changed = client.ask("POST", "/v1/nodes/" + in_path(a.node) + "/" + request);
  if (!changed.ok()) return report_error("nodes", changed.error(), kExitNo);
  a.json ? fmt::print("{}\n", changed->dump()) : tell(*changed);
  return kExitDone;
}

int reserve_node(const NodesArguments& a) {
  std::string request = "reserve?to=" + in_path(a.to);
  if (!a.from.empty()) request += "&from=" + in_path(a.from);
  if (!a.queue.empty()) request += "&for=" + in_path(a.queue);
  return change_node(a, request, [&](const Json& made) {
    fmt::print("reservation {} of {}\n", made.at("number").get<std::uint32_t>(), a.node);
  });
}

int invite_node(const NodesArguments& a) {
  return change_node(a, fmt::format("invite?lasts={}", a.lasts_s), [&](const Json& made) {
    // Alone on standard output, so that it can go to a file and never be seen.
    fmt::print("{}\n", made.at("token").get<std::string>());
    fmt::print(stderr, "weft nodes: for {}, once, within {} s; it is not shown again\n", a.node,
               a.lasts_s);
  });
}

}  // namespace

Verb add_nodes_command(CLI::App& app) {
  const auto a = std::make_shared<NodesArguments>();
  CLI::App* nodes = app.add_subcommand("nodes", "list nodes; drain, fence, reserve or invite one");
  const auto common = [&](CLI::App* verb) {
    verb->add_option("--store", a->store,
                     "folder of the daemon's journal (WEFT_HOME, or a usual place)");
    verb->add_flag("--json", a->json, "print JSON");
  };
  common(nodes);
  nodes->require_subcommand(0, 1);
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, const char* says, int (*run)(const NodesArguments&)) {
    CLI::App* verb = nodes->add_subcommand(name, says);
    verb->add_option("node", a->node, "its name")->required();
    common(verb);
    verbs.push_back({verb, [a, run] { return run(*a); }});
    return verb;
  };
  add("drain", "start nothing more there; what runs there goes on",
      [](const NodesArguments& of) { return change_node(of, "drain"); });
  add("undrain", "put a drained node back into service",
      [](const NodesArguments& of) { return change_node(of, "undrain"); });
  add("fence", "declare that nothing runs there any more, so that its jobs may start elsewhere",
      [](const NodesArguments& of) { return change_node(of, "fence"); });
  CLI::App* reserve = add("reserve", "keep a node for a queue, or for nobody", reserve_node);
  reserve->add_option("--from", a->from, "when it begins, 2h from now or a time (now)");
  reserve->add_option("--to", a->to, "when it ends")->required();
  reserve->add_option("--for", a->queue, "whose jobs may be there (nobody's)");
  CLI::App* unreserve = add("unreserve", "end a reservation", [](const NodesArguments& of) {
    return change_node(of, fmt::format("open?number={}", of.number));
  });
  unreserve->alias("open");  // its old name
  unreserve->add_option("--number", a->number, "of the reservation, as `weft nodes` shows it")
      ->required();
  CLI::App* notice =
      add("notice", "say that a node will be taken away", [](const NodesArguments& of) {
        return change_node(of, of.in.empty() ? "notice" : "notice?in=" + in_path(of.in));
      });
  notice->add_option("--in", a->in, "after how long (2min)");
  CLI::App* invite = add("invite", "print a token with which its agent may join once", invite_node);
  invite->add_option("--lasts", a->lasts_s, "seconds in which it may (3600)")
      ->check(whole_number_from(1, 30 * 24 * 3600));
  nodes->footer(
      "example: weft nodes drain node-3\n"
      "         weft nodes reserve node-3 --from 2h --to 4h --for research");
  return {nodes, [a, verbs] {
            for (const Verb& verb : verbs) {
              if (verb.app->parsed()) return verb.run();
            }
            return list_nodes(*a);
          }};
}

}  // namespace weft

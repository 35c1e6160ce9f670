#include "usage_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/table.h"
#include "base/wrap.h"
#include "daemon_client.h"
#include "live/http/poll.h"
#include "option_checks.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct UsageArguments {
  std::string store, since, user;
  std::vector<std::string> budgets;
  bool json = false;
};

// 90, 90s, 30m, 12h, 7d or 2w, in seconds.
std::optional<std::uint64_t> duration_of(const std::string& text) {
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const std::string unit = text.substr(used);
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "m"               ? 60
                       : unit == "h"               ? kHour
                       : unit == "d"               ? 24 * kHour
                       : unit == "w"               ? 7 * 24 * kHour
                                                   : 0;
  if (scale == 0 || !(number > 0) || number * scale > 1e12) return std::nullopt;
  return static_cast<std::uint64_t>(number * scale + 0.5);
}

std::string amount(const Json& row, const char* name) {
  return fmt::format("{:.4g}", row.at(name).get<double>());
}

// Users whose cost is above their budget, as NAME=COST says. Error: one is not of that form.
Result<Json> over_budget(const UsageArguments& a, const Json& answer) {
  Json over = Json::array();
  for (const std::string& budget : a.budgets) {
    const std::size_t equals = budget.find('=');
    double most = 0;
    try {
      most = std::stod(budget.substr(std::min(equals, budget.size() - 1) + 1));
    } catch (const std::exception&) {
      most = -1;
    }
    if (equals == std::string::npos || equals == 0 || !(most >= 0)) {
      return Error{ErrorKind::kInvalidInput, fmt::format("'{}' is no budget", budget),
                   "write --budget USER=COST"};
    }
    const std::string user = budget.substr(0, equals);
    for (const Json& row : answer.at("users")) {
      if (row.at("user") == user && row.at("cost").get<double>() > most) {
        over.push_back({{"user", user}, {"cost", row.at("cost")}, {"budget", most}});
      }
    }
  }
  return over;
}

void print_usage(const Json& answer) {
  for (const char* what : {"user", "queue"}) {
    Table table({what, "device hours", "cost"});
    for (const Json& row : answer.at(std::string(what) + "s")) {
      table.row({row.at(what), amount(row, "device_hours"), amount(row, "cost")});
    }
    fmt::print("{}\n", table.text());
  }
  Table budgets({"budget of", "cost", "of", "device hours", "of", "in force"});
  const Json known = answer.value("budgets", Json::array());  // older daemons know of none
  for (const Json& row : known) {
    const auto limit = [&](const char* name) {
      return row.at(name).is_null() ? "-" : amount(row, name);
    };
    const std::string kind = row.at("of"), name = row.at("name"), action = row.at("action");
    budgets.row({(kind == "queue" ? "queue " : "") + name, amount(row, "spent_cost"), limit("cost"),
                 amount(row, "spent_device_hours"), limit("device_hours"),
                 row.at("exceeded") ? action : "-"});
  }
  if (!known.empty()) fmt::print("{}\n", budgets.text());
  Table table({"uuid", "job", "user", "queue", "state", "device hours", "cost"});
  for (const Json& row : answer.at("jobs")) {
    table.row({row.at("uuid").get<std::string>().substr(0, 8), row.at("name"), row.at("user"),
               row.at("queue"), row.at("state"), amount(row, "device_hours"), amount(row, "cost")});
  }
  fmt::print("{}", table.text());
  fmt::print("{:.4g} device hours, cost {:.4g}, in the last {:.4g} h\n",
             answer.at("device_hours").get<double>(), answer.at("cost").get<double>(),
             (answer.at("now_s").get<double>() - answer.at("from_s").get<double>()) / kHour);
}

int run_usage(const UsageArguments& a) {
  std::string target = "/v1/usage?";
  if (!a.since.empty()) {
    const auto last = duration_of(a.since);
    if (!last) {
      return report_error(
          "usage", {ErrorKind::kInvalidInput, fmt::format("--since '{}' is no duration", a.since),
                    "write 90s, 30m, 12h, 7d or 2w: so far back"});
    }
    target += fmt::format("last={}&", *last);
  }
  if (!a.user.empty()) target += "user=" + in_path(a.user);
  DaemonClient client(a.store);
  auto answer = client.ask("GET", target);
  if (!answer.ok()) return report_error("usage", answer.error());
  const auto over = over_budget(a, *answer);
  if (!over.ok()) return report_error("usage", over.error());
  if (a.json) {
    (*answer)["over_budget"] = *over;
    fmt::print("{}\n", answer->dump());
  } else {
    print_usage(*answer);
    for (const Json& row : *over) {
      fmt::print("{} is over budget: {} of {}\n", row.at("user").get<std::string>(),
                 amount(row, "cost"), amount(row, "budget"));
    }
  }
  return over->empty() ? kExitDone : kExitNo;
}

struct TopArguments {
  std::string store;
  bool json = false, once = false;
};

std::string amount_cell(const Json& value) {
  return value.is_number() && value.get<double>() != 0 ? fmt::format("{:.4g}", value.get<double>())
                                                       : "-";
}

std::string picture(const Json& all) {
  const Json& status = all.at("status");
  double devices = 0, used = 0;
  std::string text;
  Table nodes({"<node", "<type", "devices", "used", "<state", "<why"});
  for (const Json& node : all.at("nodes")) {
    devices += node.at("devices").get<double>();
    used += node.at("devices_used").get<double>();
    const std::string state = node.at("drained")      ? "drained"
                              : node.at("in_service") ? "in service"
                                                      : "out of service";
    nodes.row({node.at("node"), node.at("type"), amount_cell(node.at("devices")),
               amount_cell(node.at("devices_used")), state, node.at("why")});
  }
  text += fmt::format("{} policy, term {}, {} decisions (last {:.1f} ms, worst {:.1f} ms)\n",
                      status.at("policy").get<std::string>(), status.at("term").get<int>(),
                      status.at("decisions").get<std::uint64_t>(),
                      1e3 * status.at("last_round_s").get<double>(),
                      1e3 * status.at("worst_round_s").get<double>());
  text += fmt::format("{:g} of {:g} devices held\n\n{}\n", used, devices, nodes.text(kPageColumns));
  Table jobs(
      {"<uuid", "<job", "<user", "<queue", "<state", "devices", "step", "loss", "steps/s", "<why"});
  for (const Json& job : all.at("jobs")) {
    jobs.row({job.at("uuid").get<std::string>().substr(0, 8), job.at("name"), job.at("user"),
              job.at("queue"), job.at("state"), amount_cell(job.at("devices")),
              amount_cell(job.at("step")), amount_cell(job.at("loss")), amount_cell(job.at("rate")),
              job.at("why")});
  }
  return text + jobs.text(kPageColumns);
}

Result<Json> look(DaemonClient& client) {
  const auto status = client.ask("GET", "/v1/status");
  if (!status.ok()) return status.error();
  const auto nodes = client.ask("GET", "/v1/nodes");
  if (!nodes.ok()) return nodes.error();
  const auto jobs = client.ask("GET", "/v1/jobs");
  if (!jobs.ok()) return jobs.error();
  return Json{{"status", *status}, {"nodes", nodes->at("nodes")}, {"jobs", jobs->at("jobs")}};
}

int run_top(const TopArguments& a) {
  DaemonClient client(a.store);
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  int code = kExitDone;
  long asked = 0;
  live::poll_until([&] {  // ten times a second; a picture each second
    if (asked++ % 10 != 0) return false;
    const auto all = look(client);
    if (!all.ok()) {
      code = report_error("top", all.error());
      return true;
    }
    if (terminal && !a.once && !a.json) fmt::print("\033[H\033[2J");
    fmt::print("{}\n", a.json ? all->dump() : picture(*all));
    std::fflush(stdout);
    return a.once || std::ferror(stdout) != 0;
  });
  return code;
}

}  // namespace

Verb add_usage_command(CLI::App& app) {
  const auto a = std::make_shared<UsageArguments>();
  CLI::App* verb =
      app.add_subcommand("usage", "add up device hours and cost by user, queue and job");
  verb->add_option("--since", a->since, "how far back: 12h, 7d (all that the journal keeps)");
  verb->add_option("--user", a->user, "of one user");
  verb->add_option("--budget", a->budgets, "USER=COST: exit with 1 if it is exceeded; repeatable");
  verb->add_option("--store", a->store, "folder of the daemon's journal");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer("example: weft usage --since 7d --budget ann=500");
  return {verb, [a] { return run_usage(*a); }};
}

Verb add_top_command(CLI::App& app) {
  const auto a = std::make_shared<TopArguments>();
  CLI::App* verb = app.add_subcommand("top", "show nodes and jobs, refreshed every second");
  verb->add_flag("--once", a->once, "print one picture");
  verb->add_option("--store", a->store, "folder of the daemon's journal");
  verb->add_flag("--json", a->json, "print JSON, a line for each picture");
  return {verb, [a] { return run_top(*a); }};
}

}  // namespace weft

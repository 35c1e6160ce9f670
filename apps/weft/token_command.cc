#include "token_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/table.h"
#include "daemon_client.h"
#include "option_checks.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct TokenArguments {
  std::string store, role = "user", user, id;
  double days = 0;
  bool json = false;
};

int code_of(const Error& error) {
  return error.kind == ErrorKind::kNotFound ? kExitBadInput : kExitNo;
}

// The token alone on standard output, so that it can go to a file and never be seen.
int create(const TokenArguments& a) {
  DaemonClient client(a.store);
  Json body = {{"role", a.role}, {"lasts_s", a.days * 24 * kHour}};
  if (!a.user.empty()) body["user"] = a.user;
  const auto made = client.ask("POST", "/v1/tokens", body);
  if (!made.ok()) return report_error("token", made.error(), code_of(made.error()));
  if (a.json) {
    fmt::print("{}\n", made->dump());
    return kExitDone;
  }
  fmt::print("{}\n", made->at("token").get<std::string>());
  fmt::print(stderr, "weft token: {} of {} ({}); it is not shown again\n",
             made->at("id").get<std::string>(), made->at("user").get<std::string>(),
             made->at("role").get<std::string>());
  return kExitDone;
}

std::string day(const Json& at) {
  return at.is_number() ? fmt::format("{:.0f}", at.get<double>()) : "never";
}

int list(const TokenArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("GET", "/v1/tokens");
  if (!answer.ok()) return report_error("token", answer.error(), code_of(answer.error()));
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  Table table({"id", "role", "user", "made (Unix s)", "expires (Unix s)"});
  for (const Json& row : answer->at("tokens")) {
    table.row({row.at("id"), row.at("role"), row.at("user"), day(row.at("made_s")),
               day(row.at("expires_s"))});
  }
  fmt::print("{}", table.text());
  return kExitDone;
}

int revoke(const TokenArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("DELETE", "/v1/tokens/" + in_path(a.id));
  if (!answer.ok()) return report_error("token", answer.error(), kExitNo);
  if (a.json) fmt::print("{}\n", answer->dump());
  return kExitDone;
}

}  // namespace

Verb add_token_command(CLI::App& app) {
  const auto a = std::make_shared<TokenArguments>();
  CLI::App* verb =
      app.add_subcommand("token", "create, list and revoke tokens for callers over the network");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* says) {
    CLI::App* one = verb->add_subcommand(name, says);
    one->add_option("--store", a->store, "folder of the daemon's journal");
    one->add_flag("--json", a->json, "print JSON");
    return one;
  };
  CLI::App* made = add("create", "make one and print it, once");
  made->add_option("--role", a->role, "what it allows (user)")
      ->check(CLI::IsMember({"user", "operator", "admin"}));
  made->add_option("--user", a->user, "who it stands for (you)");
  made->add_option("--expires", a->days, "days until it ends (0: never)")
      ->check(number_from(0, 36500));
  CLI::App* listed = add("list", "whose tokens there are");
  CLI::App* revoked = add("revoke", "end one");
  revoked->add_option("id", a->id, "as `weft token list` shows it")->required();
  verb->footer(
      "Callers set WEFT_URL (http://host:port or https://host:port) and WEFT_TOKEN_FILE or\n"
      "WEFT_TOKEN, and WEFT_CA_FILE for a certificate that the system does not know.\n"
      "example: (umask 077; weft token create --role operator --expires 30 >ann.token)");
  return {verb, [=] {
            return made->parsed() ? create(*a) : listed->parsed() ? list(*a) : revoke(*a);
          }};
}

}  // namespace weft

// Commands beside ranks, as HTTP has them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "live/agent/exec_messages.h"
#include "live/agent/json_fields.h"
#include "live/daemon/api_answers.h"
#include "live/daemon/replicas.h"
#include "live/daemon/routes.h"

namespace weft::live::handlers {
namespace {

using Json = nlohmann::json;

Execs::Answer to_http(const ApiCall& call) {
  return [answer = call.answer](const ExecReply& reply) {
    answer(json_answer(reply.status, reply.body));
  };
}

// The uuid of the run in which the command shall be, or what is wrong with the replica's name.
Result<std::string> run_of(const JobView& job, const std::string& replica) {
  const auto wrong = [](std::string what, std::string hint = "") {
    return Error{ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
  };
  if (!is_service(job.identity)) {
    if (replica.empty()) return job.identity.uuid;
    return wrong(fmt::format("{} is no service and has no replicas", job.name));
  }
  const bool number = !replica.empty() && replica.size() <= 18 &&
                      replica.find_first_not_of("0123456789") == std::string::npos;
  if (number) return replica_uuid(job.identity.uuid, replica);
  return wrong(fmt::format("replica is '{}'; of a service it must be a number", replica),
               fmt::format("`weft status {}` names them", job.name));
}

}  // namespace

void exec_job(ApiParts& parts, const ApiCall& call) {
  const Json body = Json::parse(call.request.body, nullptr, false);
  JsonFields fields(body);
  if (body.is_object()) {
    constexpr std::array kKnown = {"command", "rank", "replica", "tty", "timeout_s"};
    for (const auto& [name, value] : body.items()) {
      if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
      fields.complain(fmt::format("no field '{}' is known", name));
    }
  }
  const int rank = static_cast<int>(fields.whole("rank", 0, kMostExecRank, 0));
  const std::string replica = fields.text("replica");
  if (!fields.wrong().empty()) return call.answer(error_answer(400, fields.wrong()));
  const auto command = read_exec_command(body);
  if (!command.ok()) return call.answer(error_answer(400, command.error().what));
  const auto run = run_of(*call.job, replica);
  if (!run.ok()) return call.answer(error_answer(400, run.error().what, run.error().hint));
  const JobStanding standing = call.job->standing;
  if (standing != JobStanding::kRunning) {
    return call.answer(error_answer(409, fmt::format("{} is {}, not running", call.job->name,
                                                     kStandingNames[static_cast<int>(standing)])));
  }
  parts.fleet.exec({*call.job, *run, rank, *command, call.request.caller}, to_http(call));
}

void exec_output(ApiParts& parts, const ApiCall& call) {
  const auto answer = to_http(call);
  parts.fleet.with_execs(
      answer, [answer, id = call.id, caller = call.request.caller, after = call.number("after", 0)](
                  Execs& execs, Seconds now) { execs.read(id, caller, after, now, answer); });
}

void exec_input(ApiParts& parts, const ApiCall& call) {
  const auto answer = to_http(call);
  const std::uint64_t offset = call.number("offset", kMostExecOffset + 1);
  if (offset > kMostExecOffset) {
    return call.answer(error_answer(400, "offset is missing, or beyond all input"));
  }
  parts.fleet.with_execs(
      answer, [answer, offset, id = call.id, caller = call.request.caller,
               bytes = call.request.body, last = call.flag("last")](Execs& execs, Seconds now) {
        execs.write(id, caller, offset, bytes, last, now, answer);
      });
}

void exec_size(ApiParts& parts, const ApiCall& call) {
  const std::uint64_t rows = call.number("rows", 0), columns = call.number("columns", 0);
  if (rows < 1 || rows > kMostWindowSide || columns < 1 || columns > kMostWindowSide) {
    return call.answer(
        error_answer(400, fmt::format("rows and columns must be from 1 to {}", kMostWindowSide)));
  }
  const auto answer = to_http(call);
  parts.fleet.with_execs(answer, [answer, rows, columns, id = call.id,
                                  caller = call.request.caller](Execs& execs, Seconds) {
    execs.resize(id, caller, static_cast<int>(rows), static_cast<int>(columns), answer);
  });
}

void end_exec(ApiParts& parts, const ApiCall& call) {
  const auto answer = to_http(call);
  parts.fleet.with_execs(
      answer, [answer, id = call.id, caller = call.request.caller](Execs& execs, Seconds now) {
        execs.end(id, caller, now, answer);
      });
}

}  // namespace weft::live::handlers

#include "live/daemon/api.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "live/daemon/api_answers.h"
#include "live/job/job_json.h"
#include "live/job/submission.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostJobsAtOnce = 10'000;  // members of one array
constexpr std::uint64_t kLogPart = 1 << 20;

Result<std::string> fresh_uuid() {
  const auto nonce = runtime::fresh_nonce();
  if (!nonce.ok()) return nonce.error();
  std::string hex;
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) hex += '-';
    hex += fmt::format("{:02x}", (*nonce)[i]);
  }
  return hex;
}

// What a job may say and nobody would do: refused rather than ignored.
std::string not_supported(const JobSpec& spec) {
  if (!spec.depends_on.empty()) return "depends_on";
  if (spec.array.at_once > 0) return "a limit on members of an array that run at once (%N)";
  if (spec.kind == WorkloadKind::kService) return "kind: service";
  if (spec.hang.action == HangAction::kRestart) return "hang: restart";
  if (spec.bandwidth.guarantee > 0) return "bandwidth: guarantee";
  return "";
}

// What a job may say and this daemon does not keep to yet: accepted, and said.
Json not_kept(const JobSpec& spec) {
  const JobSpec plain;
  Json names = Json::array();
  const auto add = [&](bool said, const char* name) {
    if (said) names.push_back(name);
  };
  const RetryRule &asked = spec.retries, &usual = plain.retries;
  add(asked.backoff != usual.backoff || asked.max_backoff != usual.max_backoff,
      "retries: backoff, max_backoff (failures are retried after 1, 2, 4, … 64 s)");
  add(spec.hang != plain.hang, "hang (nothing watches for it)");
  add(!spec.resources.notice_signal.empty(), "resources: notice_signal");
  add(spec.resources.cpus_or_more || spec.resources.memory_or_more,
      "resources: + (what is written is also the limit)");
  return names;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    if (to > from) parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

}  // namespace

Api::Api(Parts parts) : parts_(std::move(parts)) {
  for (const JobView& job : parts_.board.jobs([](const JobView&) { return true; })) {
    tenants_.emplace(job.queue, job.tenant);
  }
}

TenantId Api::tenant_of(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  return tenants_.emplace(queue, static_cast<TenantId>(tenants_.size())).first->second;
}

void Api::handle(const ApiRequest& request, Answer answer) {
  Target target;
  const std::size_t question = request.target.find('?');
  const std::vector<std::string> path = split(request.target.substr(0, question), '/');
  if (question != std::string::npos) {
    for (const std::string& pair : split(request.target.substr(question + 1), '&')) {
      const std::size_t equals = std::min(pair.find('='), pair.size());
      target.query[pair.substr(0, equals)] =
          equals < pair.size() ? pair.substr(equals + 1) : std::string();
    }
  }
  if (path == std::vector<std::string>{"metrics"} && request.method == "GET")
    return metrics(answer);
  if (path.size() < 2 || path[0] != "v1") {
    return answer(error_answer(404, "no such address", "addresses begin with /v1/"));
  }
  target.path.assign(path.begin() + 1, path.end());
  const std::string& what = target.path[0];
  if (what == "jobs") return jobs(request, target, answer);
  if (what == "nodes") return nodes(request, target, answer);
  if (what == "events" && request.method == "GET") return events(target, answer);
  if (what == "status" && request.method == "GET") return status(answer);
  if (what == "down" && request.method == "POST") {
    if (!request.caller.admin)
      return answer(error_answer(403, "only an administrator may do that"));
    answer(json_answer(200, {{"stopping", true}}));
    return parts_.stop();
  }
  answer(error_answer(404, "no such address"));
}

void Api::jobs(const ApiRequest& request, const Target& target, const Answer& answer) {
  if (target.path.size() > 1) return one_job(request, target, answer);
  if (request.method == "POST") return submit(request, answer);
  if (request.method == "GET") return list(target, answer);
  answer(error_answer(405, "GET and POST are known here"));
}

void Api::submit(const ApiRequest& request, const Answer& answer) {
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object() || !body.contains("spec")) {
    return answer(error_answer(400, "the body must be {\"spec\": …}, a job as JSON"));
  }
  const auto spec = spec_from_json(body.at("spec"));
  if (!spec.ok()) return answer(error_answer(400, spec.error().what, spec.error().hint));
  if (const std::string missing = not_supported(*spec); !missing.empty()) {
    return answer(error_answer(400, missing + " is not supported by this daemon yet"));
  }
  const std::vector<JobSpec> members =
      spec->array.ranges.empty() ? std::vector<JobSpec>{*spec} : expand_array(*spec);
  if (members.size() > kMostJobsAtOnce) {
    return answer(error_answer(400, fmt::format("an array of {} jobs; at most {} at once",
                                                members.size(), kMostJobsAtOnce)));
  }
  const SubmitTime time{parts_.journal.now(), static_cast<double>(std::time(nullptr))};
  std::vector<EventRecord> records;
  Json made = Json::array();
  for (const JobSpec& member : members) {
    auto submission = make_submission(member, parts_.cluster, tenant_of(member.queue), time);
    if (!submission.ok()) {
      return answer(error_answer(400, submission.error().what, submission.error().hint));
    }
    const auto uuid = fresh_uuid();
    if (!uuid.ok()) return answer(error_answer(500, uuid.error().what));
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    record.event.submission = std::make_shared<const Submission>(std::move(*submission));
    record.job = JobIdentity{*uuid, request.caller.user, request.caller.uid, request.caller.gid,
                             to_json(member).dump()};
    records.push_back(std::move(record));
    made.push_back({{"uuid", *uuid}, {"name", member.name}});
  }
  const Json ignored = not_kept(*spec);
  if (body.value("dry_run", false)) {
    return answer(json_answer(200, {{"valid", true}, {"not_kept", ignored}}));
  }
  // Answered when the last is durable; records of one array stand together in the journal.
  struct Shared {
    std::atomic<std::size_t> left;
    std::atomic<bool> failed = false;
    std::string why;
  };
  const auto shared = std::make_shared<Shared>();
  shared->left = records.size();
  for (EventRecord& record : records) {
    parts_.brain.post(
        std::move(record),
        [shared, answer, made, ignored](const Status& status) {
          if (!status.ok() && !shared->failed.exchange(true)) shared->why = status.error().text();
          if (--shared->left > 0) return;
          if (shared->failed) return answer(error_answer(503, "not accepted: " + shared->why));
          answer(json_answer(201, {{"jobs", made}, {"not_kept", ignored}}));
        },
        DurableJournal::Weight::kMayFail);
  }
}

Json Api::view_of(const JobView& job) const {
  Json nodes = Json::array();
  NodeId last = kNoNode;
  for (const DeviceShare& share : job.held.devices) {
    const NodeId node = parts_.cluster.node_of(share.device);
    if (node != last) nodes.push_back(parts_.cluster.nodes[node].name);
    last = node;
  }
  return {{"uuid", job.identity.uuid},
          {"name", job.name},
          {"user", job.identity.user},
          {"queue", job.queue},
          {"priority", job.priority},
          {"state", kStandingNames[static_cast<int>(job.standing)]},
          {"submitted_s", job.submitted},
          {"started_s", maybe(job.started)},
          {"ended_s", maybe(job.ended)},
          {"epoch", job.epoch},
          {"restarts", job.restarts},
          {"failures", job.failures},
          {"nodes", nodes},
          {"devices", job.held.devices.size()},
          {"why", job.why},
          {"step", job.step},
          {"loss", job.loss},
          {"rate", job.rate}};
}

void Api::list(const Target& target, const Answer& answer) {
  const bool all = target.query.contains("all");
  const auto user = target.query.find("user");
  const auto chosen = [&](const JobView& job) {
    return (all || !has_ended(job.standing)) &&
           (user == target.query.end() || job.identity.user == user->second);
  };
  Json rows = Json::array();
  for (const JobView& job : parts_.board.jobs(chosen)) rows.push_back(view_of(job));
  answer(json_answer(200, {{"now_s", parts_.journal.now()}, {"jobs", rows}}));
}

void Api::one_job(const ApiRequest& request, const Target& target, const Answer& answer) {
  const auto job = parts_.board.find(target.path[1]);
  if (!job) return answer(error_answer(404, fmt::format("no job '{}'", target.path[1])));
  const std::string verb = target.path.size() > 2 ? target.path[2] : "";
  if (verb.empty() && request.method == "GET") {
    Json view = view_of(*job);
    view["spec"] = Json::parse(job->identity.spec, nullptr, false);
    view["now_s"] = parts_.journal.now();
    return answer(json_answer(200, view));
  }
  if (!request.caller.admin && request.caller.uid != job->identity.uid) {
    return answer(error_answer(403, fmt::format("{} belongs to {}, not to {}", job->name,
                                                job->identity.user, request.caller.user)));
  }
  if (verb == "logs" && request.method == "GET") return log_part(target, *job, answer);
  if (verb == "cancel" && request.method == "POST") return cancel(request, *job, answer);
  if (verb == "signal" && request.method == "POST") {
    const std::uint64_t number = number_of(target.query, "number", 0);
    if (number < 1 || number > 64) return answer(error_answer(400, "number must be from 1 to 64"));
    parts_.fleet.signal(job->identity.uuid, static_cast<int>(number));
    return answer(json_answer(202, {{"sent", true}}));
  }
  answer(error_answer(404, "no such address"));
}

void Api::cancel(const ApiRequest& request, const JobView& job, const Answer& answer) {
  if (has_ended(job.standing)) {
    return answer(error_answer(
        409, fmt::format("{} has {}", job.name, kStandingNames[static_cast<int>(job.standing)])));
  }
  EventRecord record;
  record.event.kind = EventKind::kWithdraw;
  record.event.job = job.id;
  record.why = "cancelled by " + request.caller.user;
  parts_.brain.post(
      std::move(record),
      [answer](const Status& status) {
        answer(status.ok() ? json_answer(200, {{"cancelled", true}})
                           : error_answer(503, status.error().text()));
      },
      DurableJournal::Weight::kMayFail);
}

void Api::log_part(const Target& target, const JobView& job, const Answer& answer) {
  const std::uint64_t rank = number_of(target.query, "rank", 0);
  const std::uint64_t offset = number_of(target.query, "offset", 0);
  const std::string path =
      fmt::format("{}/{}/rank-{}.log", parts_.log_root, job.identity.uuid, rank);
  std::FILE* file = std::fopen(path.c_str(), "re");
  std::string text;
  if (file != nullptr) {
    text.resize(kLogPart);
    const bool there = fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0;
    text.resize(there ? std::fread(text.data(), 1, text.size(), file) : 0);
    std::fclose(file);
  }
  answer(json_answer(200, {{"rank", rank},
                           {"offset", offset},
                           {"next", offset + text.size()},
                           {"text", text},
                           {"ended", has_ended(job.standing)}}));
}

void Api::nodes(const ApiRequest& request, const Target& target, const Answer& answer) {
  if (target.path.size() == 3 && request.method == "POST") {
    const std::vector<Node>& all = parts_.cluster.nodes;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Node& node) { return node.name == target.path[1]; });
    if (found == all.end()) {
      return answer(error_answer(404, fmt::format("no node '{}'", target.path[1])));
    }
    return change_node(request, static_cast<NodeId>(found - all.begin()), target.path[2], answer);
  }
  if (target.path.size() != 1 || request.method != "GET") {
    return answer(error_answer(404, "no such address"));
  }
  const std::vector<AgentView> agents = parts_.fleet.agents();
  std::vector<std::uint32_t> used(parts_.cluster.nodes.size(), 0);
  for (const JobView& job : parts_.board.jobs([](const JobView& v) { return !v.held.empty(); })) {
    for (const DeviceShare& share : job.held.devices) {
      used[parts_.cluster.node_of(share.device)] += share.milli;
    }
  }
  Json rows = Json::array();
  for (NodeId id = 0; id < parts_.cluster.nodes.size(); ++id) {
    const Node& node = parts_.cluster.nodes[id];
    const NodeView view = parts_.board.node(id);
    rows.push_back({{"node", node.name},
                    {"type", parts_.cluster.types[node.type].name},
                    {"devices", node.devices},
                    {"devices_used", static_cast<double>(used[id]) / kWhole},
                    {"in_service", view.in_service},
                    {"drained", view.drained},
                    {"why", view.why},
                    {"connected", agents[id].connected},
                    {"silent_s", agents[id].silent_s},
                    {"can", agents[id].can}});
  }
  answer(json_answer(200, {{"nodes", rows}}));
}

void Api::change_node(const ApiRequest& request, NodeId node, const std::string& verb,
                      const Answer& answer) {
  if (!request.caller.admin) return answer(error_answer(403, "only an administrator may do that"));
  EventRecord record;
  record.event.node = node;
  if (verb == "drain") {
    record.event.kind = EventKind::kNodeNotice;
    record.event.value = kNever;
    record.why = fmt::format("{} by {}", kDrained, request.caller.user);
  } else if (verb == "undrain") {
    record.event.kind = EventKind::kNodeUp;
    record.why = fmt::format("{} by {}", kUndrained, request.caller.user);
  } else if (verb == "fence") {
    record.event.kind = EventKind::kNodeNotice;
    record.why = "fenced by " + request.caller.user;
    parts_.fleet.fence(node, record.why);
  } else {
    return answer(error_answer(404, "drain, undrain and fence are known"));
  }
  parts_.brain.post(std::move(record), [answer, verb](const Status& status) {
    answer(status.ok() ? json_answer(200, {{verb, true}})
                       : error_answer(503, status.error().text()));
  });
}

}  // namespace weft::live

// What is asked of jobs and nodes.
#include <fmt/core.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "live/daemon/api_answers.h"
#include "live/daemon/budgets.h"
#include "live/daemon/holds.h"
#include "live/daemon/menu_view.h"
#include "live/daemon/replicas.h"
#include "live/daemon/routes.h"
#include "live/job/job_json.h"
#include "live/job/job_text.h"
#include "live/job/profile.h"
#include "live/job/submission.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostJobsAtOnce = 10'000;  // members of one array
constexpr std::uint64_t kLogPart = 1 << 20;

// What was measured of the job, where the request has it.
Status take_profile(const Json& body, const JobSpec& job, Submission& submission) {
  if (!body.contains("profile")) return {};
  const auto profile = profile_from_json(body.at("profile"));
  return profile.ok() ? apply_profile(*profile, job, submission) : profile.error();
}

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

// Whether this cluster can do what the job asks for; else the error names what to do instead.
Status can_run(const JobSpec& spec, Fleet& fleet) {
  const std::vector<AgentView> agents = fleet.agents();
  // Shares of a link need nodes that have one (live/agent/rank_traffic.h).
  const bool shares = std::all_of(agents.begin(), agents.end(), [](const AgentView& agent) {
    return std::find(agent.can.begin(), agent.can.end(), "guarantee") != agent.can.end();
  });
  if (spec.bandwidth.guarantee > 0 && !shares) {
    return Error{ErrorKind::kUnsupported,
                 "bandwidth.guarantee cannot be kept: a node has no link of its own",
                 "leave it out, or run nodes with --namespaces; limits hold"};
  }
  return check_needs(spec, fleet.statement());
}

// Answered when the last is durable; records of one array stand together in the journal.
void post_all(ApiParts& parts, std::vector<EventRecord> records, Json made,
              const std::function<void(ApiAnswer)>& answer) {
  struct Shared {
    std::atomic<std::size_t> left;
    std::atomic<bool> failed = false;
    std::string why;
    Json made;
  };
  const auto shared = std::make_shared<Shared>();
  shared->left = records.size();
  shared->made = std::move(made);
  for (EventRecord& record : records) {
    parts.brain.post(
        std::move(record),
        [shared, answer](const Status& status) {
          if (!status.ok() && !shared->failed.exchange(true)) shared->why = status.error().text();
          if (--shared->left > 0) return;
          if (shared->failed) return answer(error_answer(503, "not accepted: " + shared->why));
          answer(json_answer(201, shared->made));
        },
        DurableJournal::Weight::kMayFail);
  }
}

void add_service(const JobView& job, Json& view) {
  const auto spec = spec_from_json(Json::parse(job.identity.spec, nullptr, false));
  if (!spec.ok()) return;
  const std::size_t replicas = job.held.empty() ? 0 : job.held.replicas;
  Json names = Json::array();
  for (std::size_t i = 0; i < replicas; ++i) {
    names.push_back(job.held.devices[i * job.held.devices.size() / replicas].device);
  }
  view["service"] = {{"replicas", names},
                     {"min_replicas", spec->service.min_replicas},
                     {"max_replicas", spec->service.max_replicas},
                     {"qps", job.qps},
                     {"latency_s", job.latency},
                     {"latency_objective_s", spec->service.latency_objective}};
}

}  // namespace

Json view_of(const ApiParts& parts, const JobView& job) {
  Json nodes = Json::array();
  NodeId last = kNoNode;
  for (const DeviceShare& share : job.held.devices) {
    const NodeId node = parts.cluster.node_of(share.device);
    if (node != last) nodes.push_back(parts.cluster.nodes[node].name);
    last = node;
  }
  std::string way;  // codec and sync mode of the run
  if (!job.held.empty() && job.held.configuration < job.labels.size()) {
    const auto& [codec, sync] = job.labels[job.held.configuration];
    way = codec + (codec.empty() || sync.empty() ? "" : "/") + sync;
  }
  Json view = {{"uuid", job.identity.uuid},
               {"way", way},
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
               {"rate", job.rate},
               {"idle_s", job.idle_s},
               {"remark", job.remark}};
  if (is_service(job.identity)) add_service(job, view);
  return view;
}

namespace handlers {

void submit_job(ApiParts& parts, const ApiCall& call) {
  const ApiRequest& request = call.request;
  const auto& answer = call.answer;
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object() || !body.contains("spec")) {
    return answer(error_answer(400, "the body must be {\"spec\": …}, a job as JSON"));
  }
  const Json dry_run = body.value("dry_run", Json(false));
  if (!dry_run.is_boolean()) return answer(error_answer(400, "dry_run must be true or false"));
  const auto spec = spec_from_json(body.at("spec"));
  if (!spec.ok()) return answer(error_answer(400, spec.error().what, spec.error().hint));
  if (const Status can = can_run(*spec, parts.fleet); !can.ok()) {
    return answer(error_answer(400, can.error().what, can.error().hint));
  }
  std::vector<JobSpec> members =
      spec->array.ranges.empty() ? std::vector<JobSpec>{*spec} : expand_array(*spec);
  if (members.size() > kMostJobsAtOnce) {
    return answer(error_answer(400, fmt::format("an array of {} jobs; at most {} at once",
                                                members.size(), kMostJobsAtOnce)));
  }
  auto held = resolve_holds(members, parts.board);
  if (!held.ok()) return answer(error_answer(400, held.error().what, held.error().hint));
  if (parts.budgets != nullptr) {
    const HoldVerdict verdict = parts.budgets->verdict(request.caller.user, spec->queue);
    for (std::string& why : *held) why = why.empty() ? verdict.why : why;
  }
  const SubmitTime time{parts.journal.now(), static_cast<double>(std::time(nullptr))};
  std::vector<EventRecord> records;
  Json made = Json::array();
  for (JobSpec& member : members) {
    auto submission =
        make_submission(member, parts.cluster, parts.tenants.number_of(member.queue), time);
    if (!submission.ok()) {
      return answer(error_answer(400, submission.error().what, submission.error().hint));
    }
    if (const Status taken = take_profile(body, member, *submission); !taken.ok()) {
      return answer(error_answer(400, "profile: " + taken.error().what));
    }
    const auto uuid = fresh_uuid();
    if (!uuid.ok()) return answer(error_answer(500, uuid.error().what));
    if (is_array_member(member)) {
      const std::string first = made.empty() ? *uuid : made.at(0).at("uuid").get<std::string>();
      member.envs[kArrayVariable] = member.envs["SLURM_ARRAY_JOB_ID"] = first;
    }
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    record.why = (*held)[records.size()];
    if (!record.why.empty()) record.event.value2 = kNever;
    record.event.submission = std::make_shared<const Submission>(std::move(*submission));
    record.job = JobIdentity{*uuid, request.caller.user, request.caller.uid, request.caller.gid,
                             to_json(member).dump()};
    records.push_back(std::move(record));
    made.push_back({{"uuid", *uuid}, {"name", member.name}});
  }
  if (dry_run.get<bool>()) {
    const Json menu = menu_view(*records[0].event.submission->menu, members[0], parts.cluster);
    return answer(json_answer(200, {{"valid", true}, {"menu", menu}}));
  }
  post_all(parts, std::move(records), {{"jobs", made}}, answer);
}

void list_jobs(ApiParts& parts, const ApiCall& call) {
  const bool all = call.flag("all");
  const std::string user = call.text("user");
  const auto chosen = [&](const JobView& job) {
    return (all || !has_ended(job.standing)) && (user.empty() || job.identity.user == user);
  };
  Json rows = Json::array();
  for (const JobView& job : parts.board.jobs(chosen)) rows.push_back(view_of(parts, job));
  call.answer(json_answer(200, {{"now_s", parts.journal.now()}, {"jobs", rows}}));
}

void show_job(ApiParts& parts, const ApiCall& call) {
  Json view = view_of(parts, *call.job);
  view["spec"] = Json::parse(call.job->identity.spec, nullptr, false);
  view["now_s"] = parts.journal.now();
  call.answer(json_answer(200, view));
}

void signal_job(ApiParts& parts, const ApiCall& call) {
  const std::uint64_t number = call.number("number", 0);
  if (number < 1 || number > 64) {
    return call.answer(error_answer(400, "number must be from 1 to 64"));
  }
  parts.fleet.signal(call.job->identity.uuid, static_cast<int>(number));
  call.answer(json_answer(202, {{"sent", true}}));
}

void cancel_job(ApiParts& parts, const ApiCall& call) {
  const JobView& job = *call.job;
  if (has_ended(job.standing)) {
    return call.answer(error_answer(
        409, fmt::format("{} has {}", job.name, kStandingNames[static_cast<int>(job.standing)])));
  }
  EventRecord record;
  record.event.kind = EventKind::kWithdraw;
  record.event.job = job.id;
  record.why = "cancelled by " + call.request.caller.user;
  parts.brain.post(
      std::move(record),
      [answer = call.answer](const Status& status) {
        answer(status.ok() ? json_answer(200, {{"cancelled", true}})
                           : error_answer(503, status.error().text()));
      },
      DurableJournal::Weight::kMayFail);
}

void job_log(ApiParts& parts, const ApiCall& call) {
  const JobView& job = *call.job;
  const std::uint64_t rank = call.number("rank", 0);
  const std::uint64_t offset = call.number("offset", 0);
  const std::string replica = call.text("replica");
  if (!std::all_of(replica.begin(), replica.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return call.answer(error_answer(400, "replica must be a number"));
  }
  const std::string run =
      replica.empty() ? job.identity.uuid : replica_uuid(job.identity.uuid, replica);
  const std::string path = fmt::format("{}/{}/rank-{}.log", parts.log_root, run, rank);
  std::FILE* file = std::fopen(path.c_str(), "re");
  std::string text;
  if (file != nullptr) {
    text.resize(kLogPart);
    const bool there = fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0;
    text.resize(there ? std::fread(text.data(), 1, text.size(), file) : 0);
    std::fclose(file);
  }
  call.answer(json_answer(200, {{"rank", rank},
                                {"offset", offset},
                                {"next", offset + text.size()},
                                {"text", text},
                                {"ended", has_ended(job.standing)}}));
}

namespace {

Json reservations_of(const ApiParts& parts, NodeId node) {
  Json rows = Json::array();
  for (const Closure& closure : parts.board.closures()) {
    if (closure.node != node || closure.until <= parts.journal.now()) continue;
    rows.push_back({{"number", closure.number},
                    {"from_s", closure.from},
                    {"to_s", closure.until},
                    {"for", closure.for_tenant ? parts.tenants.name_of(closure.tenant) : ""}});
  }
  return rows;
}

}  // namespace

void list_nodes(ApiParts& parts, const ApiCall& call) {
  const std::vector<AgentView> agents = parts.fleet.agents();
  std::vector<std::uint32_t> used(parts.cluster.nodes.size(), 0);
  for (const JobView& job : parts.board.jobs([](const JobView& v) { return !v.held.empty(); })) {
    for (const DeviceShare& share : job.held.devices) {
      used[parts.cluster.node_of(share.device)] += share.milli;
    }
  }
  Json rows = Json::array();
  for (NodeId id = 0; id < parts.cluster.nodes.size(); ++id) {
    const Node& node = parts.cluster.nodes[id];
    const NodeView view = parts.board.node(id);
    rows.push_back({{"node", node.name},
                    {"type", parts.cluster.types[node.type].name},
                    {"devices", node.devices},
                    {"devices_used", static_cast<double>(used[id]) / kWhole},
                    {"in_service", view.in_service},
                    {"drained", view.drained},
                    {"reservations", reservations_of(parts, id)},
                    {"why", view.why},
                    {"connected", agents[id].connected},
                    {"silent_s", agents[id].silent_s},
                    {"cpu_milli", agents[id].cpu_milli},
                    {"memory_bytes", agents[id].memory},
                    {"can", agents[id].can}});
  }
  call.answer(json_answer(200, {{"now_s", parts.journal.now()}, {"nodes", rows}}));
}

namespace {

void change_node(ApiParts& parts, const ApiCall& call, EventKind kind, const char* verb,
                 Seconds value = 0) {
  EventRecord record;
  record.event.node = call.node;
  record.event.kind = kind;
  record.event.value = value;
  record.why = fmt::format("{} by {}", verb, call.request.caller.user);
  parts.brain.post(std::move(record), [answer = call.answer](const Status& status) {
    answer(status.ok() ? json_answer(200, {{"done", true}})
                       : error_answer(503, status.error().text()));
  });
}

}  // namespace

void drain_node(ApiParts& parts, const ApiCall& call) {
  change_node(parts, call, EventKind::kNodeNotice, kDrained, kNever);
}

void undrain_node(ApiParts& parts, const ApiCall& call) {
  change_node(parts, call, EventKind::kNodeUp, kUndrained);
}

void fence_node(ApiParts& parts, const ApiCall& call) {
  parts.fleet.fence(call.node, "fenced by " + call.request.caller.user);
  change_node(parts, call, EventKind::kNodeNotice, kFenced);
}

}  // namespace handlers

}  // namespace weft::live

// Requests about what is to come: why a job waits, when it will start, what another policy would
// do.
#include <fmt/core.h>

#include "live/daemon/api_answers.h"
#include "live/daemon/forecasts.h"
#include "live/daemon/recorded.h"
#include "live/daemon/routes.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr Seconds kBudget = 1;  // of a forecast

ApiAnswer explained(const ApiParts& parts, const JobView& job, const Brain::Snapshot& snapshot,
                    const Forecaster& forecaster) {
  if (snapshot.image.empty()) return error_answer(503, "the daemon is ending");
  const auto forecast =
      forecaster.forecast({parts.cluster, *snapshot.policy, snapshot.image, job.id, kBudget});
  if (!forecast.ok()) return error_answer(500, forecast.error().text());
  Json out = {{"uuid", job.identity.uuid},
              {"name", job.name},
              {"state", kStandingNames[static_cast<int>(job.standing)]},
              {"policy", snapshot.policy->name()},
              {"now_s", parts.journal.now()},
              {"state_age_s", parts.journal.now() - snapshot.at},
              {"forecast_until_s", forecast->until},
              {"forecast_whole", forecast->whole}};
  const auto found = forecast->jobs.find(job.id);
  if (job.standing == JobStanding::kHeld) out["why"] = "held: " + job.why;
  if (found == forecast->jobs.end()) return json_answer(200, out);
  const JobForecast& its = found->second;
  out["predicted_start_s"] = maybe(its.start);
  out["predicted_end_s"] = maybe(its.end);
  out["predicted_rejected"] = its.rejected;
  out["needs_s"] = its.needs_s;
  out["estimate_from"] = kForecastSourceNames[static_cast<int>(its.source)];
  // Why it waits now is what the first decision says.
  if (job.standing != JobStanding::kHeld) out["why"] = nullptr;
  if (!forecast->reasons.empty() && forecast->reasons.front().at == forecast->at) {
    const Reason& reason = forecast->reasons.front();
    out["why"] = reason.text;
    out["ahead"] = reason.ahead;
    out["free_devices"] = reason.free_devices;
  }
  return json_answer(200, out);
}

Json job_names(const ApiParts& parts, const std::vector<JobId>& jobs) {
  Json out = Json::array();
  for (const JobId id : jobs) {
    const auto job = parts.board.at(id);
    if (job) out.push_back({{"uuid", job->identity.uuid}, {"name", job->name}});
  }
  return out;
}

ApiAnswer previewed(const ApiParts& parts, const Policy& policy, const Brain::Snapshot& snapshot) {
  if (snapshot.image.empty()) return error_answer(503, "the daemon is ending");
  const auto takeover = preview_policy(parts.cluster, policy, snapshot.image);
  if (!takeover.ok()) return error_answer(500, takeover.error().text());
  return json_answer(200, {{"policy", policy.name()},
                           {"instead_of", snapshot.policy->name()},
                           {"stopped", job_names(parts, takeover->stopped)},
                           {"changed", job_names(parts, takeover->changed)},
                           {"started", job_names(parts, takeover->started)},
                           {"rejected", job_names(parts, takeover->rejected)},
                           {"dry_run", true}});
}

void ask(ApiParts& parts, const ApiCall& call, Forecasts::Question question) {
  if (parts.forecasts == nullptr) {
    return call.answer(error_answer(501, "this daemon has nobody who forecasts"));
  }
  if (!parts.forecasts->ask(std::move(question))) {
    call.answer(error_answer(503, "too many forecasts are asked for", "ask again later"));
  }
}

}  // namespace

namespace handlers {

void explain_job(ApiParts& parts, const ApiCall& call) {
  ask(parts, call,
      [&parts, job = *call.job, answer = call.answer](const Brain::Snapshot& snapshot,
                                                      const Forecaster& forecaster) {
        answer(explained(parts, job, snapshot, forecaster));
      });
}

void set_policy(ApiParts& parts, const ApiCall& call) {
  const Json body = Json::parse(call.request.body, nullptr, false);
  if (!body.is_object() || !body.contains("policy") || !body.at("policy").is_string()) {
    return call.answer(error_answer(400, "the body must be {\"policy\": NAME or composition}"));
  }
  const Json dry_run = body.value("dry_run", Json(false));
  if (!dry_run.is_boolean()) return call.answer(error_answer(400, "dry_run must be true or false"));
  const std::string text = body.at("policy");
  const auto composition = composition_of_text(text);
  if (!composition.ok()) {
    return call.answer(error_answer(400, composition.error().what, composition.error().hint));
  }
  if (const Status can = check_needs(*composition, parts.fleet.statement()); !can.ok()) {
    return call.answer(error_answer(400, can.error().what, can.error().hint));
  }
  auto policy = assemble(*composition);
  if (!policy.ok()) {
    return call.answer(error_answer(400, policy.error().what, policy.error().hint));
  }
  std::shared_ptr<const Policy> made = std::move(*policy);
  if (dry_run.get<bool>()) {
    return ask(
        parts, call,
        [&parts, made, answer = call.answer](const Brain::Snapshot& snapshot, const Forecaster&) {
          answer(previewed(parts, *made, snapshot));
        });
  }
  parts.brain.change_policy(made, text, [made, answer = call.answer](const Status& status) {
    answer(status.ok() ? json_answer(200, {{"policy", made->name()}})
                       : error_answer(503, status.error().text()));
  });
}

}  // namespace handlers
}  // namespace weft::live

#include "plan_found.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "plan_layout.h"

namespace weft {

using nlohmann::ordered_json;

std::int64_t FoundPlan::configurations() const {
  std::int64_t all = 0;
  for (const planner::Offer& one : offers) all += one.answer.configurations;
  return all;
}

std::string FoundPlan::name_of_offer(std::size_t i) const {
  return fmt::format("{} x {}", offers[i].devices, offers[i].machines.device.name);
}

const char* FoundPlan::cost_unit() const {
  return offer().machines.device.price_per_hour > 0 ? "money" : "device-hours";
}

namespace {

ordered_json describe_offer(const FoundPlan& found, std::size_t i) {
  const planner::Offer& offer = found.offers[i];
  ordered_json out = {{"device", offer.machines.device.name},
                      {"devices", offer.devices},
                      {"price_per_hour", offer.machines.device.price_per_hour},
                      {"configurations", offer.answer.configurations},
                      {"feasible", offer.answer.feasible},
                      {"step_s", nullptr},
                      {"cost_per_step", nullptr}};
  if (!offer.answer.ranked.empty()) {
    const Seconds seconds = planner::seconds_per_sample(offer.answer.ranked[0]) * found.batch;
    out["step_s"] = seconds;
    out["cost_per_step"] = offer.cost(seconds);
  }
  return out;
}

ordered_json describe_point(const FoundPlan& found, const planner::FrontPoint& point) {
  ordered_json out = describe_candidate(found.work(point.offer), *point.candidate);
  out["device"] = found.offers[point.offer].machines.device.name;
  out["devices"] = found.offers[point.offer].devices;
  out["seconds_per_batch"] = point.seconds_per_sample * found.batch;
  out["cost_per_step"] = point.cost_per_sample * found.batch;
  return out;
}

}  // namespace

std::string plan_json(const FoundPlan& found) {
  const planner::Workload work = found.work();
  const planner::SearchAnswer& answer = found.answer();
  std::int64_t feasible = 0;
  for (const planner::Offer& one : found.offers) feasible += one.answer.feasible;
  ordered_json out = {{"schema", 1},
                      {"model", work.model.name},
                      {"device", work.machines.device.name},
                      {"devices", found.offer().devices},
                      {"network", work.machines.network.name},
                      {"framework", work.framework.name},
                      {"configurations", found.configurations()},
                      {"feasible", feasible},
                      {"cpu_s", found.cpu_s},
                      {"configurations_per_cpu_s", double(found.configurations()) / found.cpu_s},
                      {"peak_rss_bytes", found.peak_rss_bytes},
                      {"best", nullptr},
                      {"runner_up", nullptr},
                      {"rejected", ordered_json::object()}};
  for (const auto& [reason, count] : answer.rejected) out["rejected"][reason] = count;
  if (found.fits()) out["best"] = describe_candidate(work, answer.ranked[0], true);
  if (answer.ranked.size() > 1) {
    out["runner_up"] = describe_candidate(work, answer.ranked[1], true);
    out["runner_up"]["to_win"] = what_would_win(answer.ranked[0], answer.ranked[1]);
  }
  if (answer.nearest) out["nearest"] = describe_candidate(work, *answer.nearest);
  out["cost_unit"] = found.cost_unit();
  out["offers"] = ordered_json::array();
  for (std::size_t i = 0; i < found.offers.size(); ++i) {
    out["offers"].push_back(describe_offer(found, i));
  }
  out["ranked"] = ordered_json::array();
  for (const planner::Candidate& one : answer.ranked)
    out["ranked"].push_back(describe_candidate(work, one));
  out["pareto"] = ordered_json::array();
  for (const planner::FrontPoint& one : found.front)
    out["pareto"].push_back(describe_point(found, one));
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Table ranked_table(const FoundPlan& found) {
  Table table({"<layout", "step s", "vs best", "MFU %", "memory GB", "compute", "recompute",
               "tensor", "expert", "pipeline", "data", "bubble", "host", "optimizer", "offload"});
  const std::vector<planner::Candidate>& ranked = found.answer().ranked;
  for (const planner::Candidate& one : ranked) {
    const planner::StepTime& t = one.time;
    const auto part = [&](Seconds s) { return fmt::format("{:.1f}%", 100 * s / t.total()); };
    table.row({planner::describe(one.layout) + (&one == &ranked.front() ? " ✓" : ""),
               three_digits(t.total()),
               fmt::format("{:.3f}x", planner::seconds_per_sample(one) /
                                          planner::seconds_per_sample(ranked[0])),
               fmt::format("{:.1f}", 100 * flops_utilisation(found.work(), one)),
               three_digits(one.memory.total() / 1e9), part(t.compute), part(t.recompute),
               part(t.tensor), part(t.expert), part(t.pipeline), part(t.data), part(t.bubble),
               part(t.host), part(t.optimizer), part(t.offload)});
  }
  return table;
}

Table memory_table(const FoundPlan& found, int most_stages) {
  const planner::Candidate& best = found.answer().ranked[0];
  const planner::Layout& l = best.layout;
  Table table({"<best layout's memory, GB", "weights", "gradients", "optimizer", "activations",
               "output", "working", "allowance", "total", "peak in time", "at s"});
  std::set<int> stages = {0, l.pipeline / 2, l.pipeline - 1};
  if (l.pipeline <= most_stages) {
    for (int stage = 0; stage < l.pipeline; ++stage) stages.insert(stage);
  }
  for (const int stage : stages) {
    const planner::MemoryUse m = planner::memory_use(found.model, found.framework, l, stage);
    const auto gb = [](double bytes) { return three_digits(bytes / 1e9); };
    const planner::StageMemory* exact =
        best.exact ? &best.exact->memory[static_cast<std::size_t>(stage)] : nullptr;
    table.row({fmt::format("stage {} of {}", stage, l.pipeline), gb(m.weights), gb(m.gradients),
               gb(m.optimizer), gb(m.activations), gb(m.output), gb(m.working), gb(m.allowance),
               gb(m.total()), exact ? gb(exact->peak_bytes) : "",
               exact ? three_digits(exact->peak_at) : ""});
  }
  return table;
}

Table front_table(const FoundPlan& found) {
  const bool many = found.offers.size() > 1;
  Table table({"<time against memory and cost", "<devices", "step s", "memory GB",
               fmt::format("{} per step", found.cost_unit())});
  for (const planner::FrontPoint& one : found.front) {
    table.row({planner::describe(one.candidate->layout), many ? found.name_of_offer(one.offer) : "",
               three_digits(one.seconds_per_sample * found.batch),
               three_digits(one.memory_bytes / 1e9),
               three_digits(one.cost_per_sample * found.batch)});
  }
  return table;
}

Table offers_table(const FoundPlan& found) {
  Table table({"<devices", "configurations", "fit", "<fastest layout", "step s",
               fmt::format("{} per step", found.cost_unit())});
  for (std::size_t i = 0; i < found.offers.size(); ++i) {
    const planner::Offer& offer = found.offers[i];
    const bool fits = !offer.answer.ranked.empty();
    const Seconds seconds =
        fits ? planner::seconds_per_sample(offer.answer.ranked[0]) * found.batch : kNever;
    table.row({found.name_of_offer(i) + (i == found.chosen ? " ✓" : ""),
               fmt::format("{}", offer.answer.configurations),
               fmt::format("{}", offer.answer.feasible),
               fits ? planner::describe(offer.answer.ranked[0].layout) : "nothing fits",
               fits ? three_digits(seconds) : "", fits ? three_digits(offer.cost(seconds)) : ""});
  }
  return table;
}

namespace {

std::string exact_text(const planner::Candidate& best) {
  if (!best.exact) return "the best layout's pipeline is too large to solve: closed forms\n";
  return fmt::format(
      "exact schedule: {}: makespan {} s, idle {:.1f} % ({:.1f} % inside the devices' spans)\n",
      planner::name_of(best.layout.schedule), three_digits(best.exact->makespan),
      100 * best.exact->idle_fraction, 100 * best.exact->span_idle_fraction);
}

}  // namespace

std::string plan_text(const FoundPlan& found) {
  const planner::SearchAnswer& answer = found.answer();
  constexpr int kStages = 3;
  std::string text = ranked_table(found).text() + "\n" + memory_table(found, kStages).text() +
                     "\n" + front_table(found).text() + "\n";
  if (found.offers.size() > 1) text += offers_table(found).text() + "\n";
  text +=
      fmt::format("{} configurations, {} fit; {:.2f} CPU s ({:.3g} per CPU second), {:.0f} MB\n",
                  found.configurations(), answer.feasible, found.cpu_s,
                  double(found.configurations()) / found.cpu_s, double(found.peak_rss_bytes) / 1e6);
  for (const auto& [reason, count] : answer.rejected) {
    text += fmt::format("rejected: {} ({})\n", count, reason);
  }
  text += exact_text(answer.ranked[0]);
  if (answer.ranked.size() > 1) {
    text += fmt::format("runner-up: {}: {}\n", planner::describe(answer.ranked[1].layout),
                        what_would_win(answer.ranked[0], answer.ranked[1]));
  }
  return text +
         fmt::format("best: {}{}, {} s per step\n", planner::describe(answer.ranked[0].layout),
                     found.offers.size() > 1 ? " on " + found.name_of_offer(found.chosen) : "",
                     three_digits(answer.ranked[0].seconds()));
}

}  // namespace weft

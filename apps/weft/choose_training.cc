#include "choose_training.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "base/table.h"
#include "runtime/compress/automatic.h"
#include "verb.h"

namespace weft {
namespace {

constexpr double kSampled = 1 << 20;  // values that codecs are timed on

std::string link_text(const runtime::LinkSpeed& link) {
  return fmt::format("a message {}, {}", seconds_text(link.message_s),
                     bytes_per_s_text(link.bytes_per_s));
}

void print_predictions(const TrainingQuestion& q, const runtime::GroupShape& shape,
                       const runtime::AutomaticAnswer& answer) {
  Table table({"<", "<codec", "<sync", "<algorithm", "MB sent", "coding s", "exchange s",
               "exposed s", "step s", "progress", "s per progress", "<source"});
  for (const StepPrediction& one : answer.considered) {
    if (!std::isfinite(one.step_s)) continue;
    const bool chosen =
        one.sync == answer.mode && one.codec == answer.predicted.codec &&
        (answer.predicted.algorithm.empty() || one.algorithm == answer.predicted.algorithm);
    table.row(
        {chosen ? "✓" : "", one.codec, one.sync, one.algorithm, three_digits(one.sent_bytes * 1e-6),
         three_digits(one.coding_s), three_digits(one.exchange_s), three_digits(one.exposed_s),
         three_digits(one.step_s), one.efficiency ? three_digits(*one.efficiency) : "not known",
         one.efficiency ? three_digits(one.progress_s()) : "-", one.efficiency ? one.source : "-"});
  }
  std::string exchanges;
  for (const ExchangeCost& one : answer.exchanges) {
    const std::string text = one.slice_bytes > 0
                                 ? fmt::format("{} in slices of {} KiB", one.algorithm,
                                               three_digits(one.slice_bytes / 1024))
                                 : one.algorithm + ", whole";
    if (exchanges.find(text) == std::string::npos) {
      exchanges += (exchanges.empty() ? "Buckets are exchanged by " : "; ") + text;
    }
  }
  if (!exchanges.empty()) exchanges += ".\n";
  const auto& links = shape.one_host ? shape.links.same_host : shape.links.other_host;
  std::fputs(fmt::format("{:.4g} parameters, {} ranks, {} of computing a step; links {}: {}\n\n"
                         "{}\nA step, its parts and what it sends are means of one rank; progress: "
                         "of a step, beside a plain one.\n{}{}\n",
                         q.parameters, shape.ranks, seconds_text(q.compute_s),
                         q.links_measured ? "as measured" : "as given", link_text(links),
                         table.text(), exchanges, in_words(answer))
                 .c_str(),
             stdout);
}

}  // namespace

int choose_training(const TrainingQuestion& q, const runtime::GroupShape& shape) {
  runtime::AutomaticQuestion question;
  question.step = even_step(sizeof(float) * q.parameters, q.compute_s);
  question.ranks = shape.ranks;
  question.modes = runtime::automatic_modes();
  if (!q.optimizer.empty()) question.adaptive = q.optimizer == "adam";
  auto coding = runtime::measured_coding(static_cast<std::size_t>(std::min(q.parameters, kSampled)),
                                         shape.ranks);
  if (coding.ok()) question.codecs = std::move(*coding);
  const auto answer = coding.ok()
                          ? runtime::choose_automatically(question, runtime::clock_of(shape))
                          : Result<runtime::AutomaticAnswer>(coding.error());
  if (!answer.ok()) {
    std::fputs(fmt::format("weft bench choose: {}\n", answer.error().text()).c_str(), stderr);
    return kExitBadInput;
  }
  if (!q.json) {
    print_predictions(q, shape, *answer);
    return kExitDone;
  }
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"parameters", q.parameters},
                                 {"ranks", shape.ranks},
                                 {"compute_s", q.compute_s},
                                 {"links", to_text(shape.links)},
                                 {"links_measured", q.links_measured}};
  for (const runtime::CodingSpeed& speed : question.codecs) {
    json["coding_s_per_value"][speed.codec] = speed.value.total_s();
  }
  json.update(nlohmann::ordered_json::parse(to_json(*answer)));
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
  return kExitDone;
}

}  // namespace weft

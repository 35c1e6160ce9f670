#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pipeline/recording.h"

namespace weft::pipeline {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson arguments(const Op& op, std::size_t step, std::size_t place) {
  OrderedJson out = {{"step", step}, {"place", place}, {"version", op.version}};
  const auto work = [](const Work& one) {
    return OrderedJson{
        {"micro_batch", one.micro_batch}, {"chunk", one.chunk}, {"slice", one.slice}};
  };
  if (op.kind != Kind::kOptimizer) out.update(work(op.work));
  if (op.kind == Kind::kForwardBackward) out["other"] = work(op.other);
  if (op.kind == Kind::kSend || op.kind == Kind::kReceive) out["flow"] = name_of(op.flow);
  if (!computes(op.kind)) out["peer"] = op.peer;
  if (op.joules > 0) out["joules"] = op.joules;
  return out;
}

class Writer {
 public:
  void add(const Recording& recording) {
    name("process_name", 0, recording.name);
    double from = 0;
    for (std::size_t step = 0; step < recording.steps.size(); ++step) {
      add(recording.steps[step], step, from);
      from += recording.steps[step].seconds;
    }
    ++process_;
  }

  std::string text() {
    return OrderedJson{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump(
               -1, ' ', false, OrderedJson::error_handler_t::replace) +
           "\n";
  }

 private:
  void name(const char* what, std::size_t thread, const std::string& text) {
    events_.push_back({{"name", what},
                       {"ph", "M"},
                       {"pid", process_},
                       {"tid", thread},
                       {"args", {{"name", text}}}});
  }

  void add(const RecordedStep& one, std::size_t step, double from) {
    const Schedule& s = one.schedule;
    for (std::size_t d = 0; d < s.programs.size(); ++d) {
      if (step == 0) name("thread_name", 2 * d, fmt::format("device {}", d));
      bool moves = false;
      for (std::size_t i = 0; i < s.programs[d].size(); ++i) {
        const Op& op = s.programs[d][i];
        const Span& span = one.spans[d][i];
        const bool transfer = !computes(op.kind);
        moves = moves || transfer;
        events_.push_back({{"name", describe(s, op)},
                           {"cat", name_of(op.kind)},
                           {"ph", "X"},
                           {"ts", 1e6 * (from + span.begin)},
                           {"dur", 1e6 * (span.end - span.begin)},
                           {"pid", process_},
                           {"tid", 2 * d + (transfer ? 1 : 0)},
                           {"args", arguments(op, step, i)}});
      }
      if (moves && step == 0) name("thread_name", 2 * d + 1, fmt::format("device {} transfers", d));
    }
  }

  OrderedJson events_ = OrderedJson::array();
  std::size_t process_ = 0;
};

}  // namespace

Recording record(const Schedule& schedule, const Timeline& timeline) {
  return {schedule.name, {{schedule, timeline.spans, timeline.makespan}}};
}

Timeline timeline_of(const RecordedStep& step) {
  const Result<Index> index = index_schedule(step.schedule);
  CHECK(index.ok());  // its shape was proved when it was read or solved
  return summarize(step.schedule, *index, step.spans);
}

std::string write_recordings(const std::vector<Recording>& recordings) {
  Writer writer;
  for (const Recording& one : recordings) writer.add(one);
  return writer.text();
}

}  // namespace weft::pipeline

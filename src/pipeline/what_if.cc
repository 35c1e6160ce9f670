#include "pipeline/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"

namespace weft::pipeline {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Ideal {
  std::array<double, kKinds> seconds = {};
  double transfer = 0;
};

Ideal ideal_of(const Recording& recording) {
  std::array<std::vector<double>, kKinds> seen;
  std::vector<double> transfers;
  for (const RecordedStep& step : recording.steps) {
    for (const auto& program : step.schedule.programs) {
      for (const Op& op : program) seen[static_cast<std::size_t>(op.kind)].push_back(op.seconds);
    }
    const std::vector<double>& one = step.schedule.transfer_seconds;
    transfers.insert(transfers.end(), one.begin(), one.end());
  }
  Ideal ideal;
  for (std::size_t k = 0; k < seen.size(); ++k) ideal.seconds[k] = median(std::move(seen[k]));
  ideal.transfer = median(std::move(transfers));
  return ideal;
}

bool holds(const Part& part, std::size_t device, Kind kind) {
  switch (part.what) {
    case Part::What::kEverything:
      return true;
    case Part::What::kWorker:
      return static_cast<std::size_t>(part.worker) == device;
    case Part::What::kKind:
      return part.kind == kind;
    case Part::What::kTransfers:
      return kind == Kind::kSend;
  }
  return false;
}

Timeline replay_step(const RecordedStep& step, const Ideal& ideal, const std::vector<Part>& parts,
                     bool inverted) {
  Schedule s = step.schedule;
  for (std::size_t d = 0; d < s.programs.size(); ++d) {
    for (Op& op : s.programs[d]) {
      const bool held = std::any_of(parts.begin(), parts.end(),
                                    [&](const Part& part) { return holds(part, d, op.kind); });
      if (held != inverted) op.seconds = ideal.seconds[static_cast<std::size_t>(op.kind)];
    }
  }
  const bool transfers = std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return part.what == Part::What::kTransfers || part.what == Part::What::kEverything;
  });
  if (transfers != inverted) {
    for (double& seconds : s.transfer_seconds) seconds = ideal.transfer;
  }
  const Result<Timeline> timeline = solve(s);
  CHECK(timeline.ok());  // the order was proved when the recording was read
  return *timeline;
}

double total(const std::vector<Timeline>& steps) {
  double sum = 0;
  for (const Timeline& step : steps) sum += step.makespan;
  return sum;
}

}  // namespace

std::string name_of(const Part& part) {
  switch (part.what) {
    case Part::What::kEverything:
      return "all";
    case Part::What::kWorker:
      return fmt::format("worker={}", part.worker);
    case Part::What::kKind:
      return fmt::format("op={}", name_of(part.kind));
    case Part::What::kTransfers:
      return "op=transfer";
  }
  return "";
}

Result<Part> parse_part(const std::string& text) {
  std::vector<std::string> known = {"all", "op=transfer"};
  for (int i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    known.push_back(fmt::format("op={}", name_of(kind)));
    if (text == known.back()) return Part{Part::What::kKind, 0, kind};
  }
  if (text == known[0]) return Part{};
  if (text == known[1]) return Part{Part::What::kTransfers, 0, Kind::kForward};
  constexpr std::string_view kWorker = "worker=";
  if (text.starts_with(kWorker)) {
    Part part{Part::What::kWorker, 0, Kind::kForward};
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + kWorker.size(), end, part.worker);
    if (read.ec == std::errc() && read.ptr == end && part.worker >= 0) return part;
  }
  const std::string near = near_miss(text, known);
  return Error{ErrorKind::kInvalidInput,
               fmt::format("'{}' is no part of a recording; parts are all, worker=N, op=KIND and "
                           "op=transfer",
                           text),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

std::vector<Timeline> replay(const Recording& recording, const std::vector<Part>& ideal,
                             bool inverted) {
  const Ideal times = ideal_of(recording);
  std::vector<Timeline> steps;
  for (const RecordedStep& step : recording.steps) {
    steps.push_back(replay_step(step, times, ideal, inverted));
  }
  return steps;
}

double idle_fraction(const std::vector<Timeline>& steps) {
  double idle = 0, all = 0;
  for (const Timeline& step : steps) {
    for (const double one : step.idle) idle += one;
    all += step.makespan * static_cast<double>(step.idle.size());
  }
  return all > 0 ? idle / all : 0;
}

Causes find_causes(const Recording& recording) {
  Causes out;
  int devices = 0;
  std::array<bool, kKinds> seen = {};
  bool transfers = false;
  for (const RecordedStep& step : recording.steps) {
    out.recorded_s += step.seconds;
    devices = std::max(devices, step.schedule.devices);
    transfers = transfers || !step.schedule.transfer_seconds.empty();
    for (const auto& program : step.schedule.programs) {
      for (const Op& op : program) seen[static_cast<std::size_t>(op.kind)] = true;
    }
  }
  const std::vector<Timeline> replayed = replay(recording, {});
  out.replayed_s = total(replayed);
  out.replayed_idle_fraction = idle_fraction(replayed);
  out.ideal_s = total(replay(recording, {Part{}}));
  std::vector<Part> parts;
  for (int d = 0; d < devices; ++d) parts.push_back({Part::What::kWorker, d, Kind::kForward});
  for (int k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (seen[static_cast<std::size_t>(k)] && kind != Kind::kReceive) {
      parts.push_back({Part::What::kKind, 0, kind});
    }
  }
  if (transfers) parts.push_back({Part::What::kTransfers, 0, Kind::kForward});
  for (const Part& part : parts) {
    out.causes.push_back({part, total(replay(recording, {part})),
                          total(replay(recording, {part}, /*inverted=*/true))});
  }
  return out;
}

}  // namespace weft::pipeline

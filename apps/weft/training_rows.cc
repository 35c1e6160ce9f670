#include "training_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace weft {
namespace {

Error unreadable(const std::string& what) {
  return Error{ErrorKind::kInvalidInput, "what the ranks printed cannot be read: " + what, ""};
}

// Adds one rank's line to the run. Throws what nlohmann throws.
void add_rank(const nlohmann::json& j, int ranks, TrainingRun& run) {
  const auto& losses = j.at("loss");
  for (std::size_t step = 0; step < losses.size(); ++step) {
    if (losses[step].is_null()) {
      throw std::out_of_range(
          fmt::format("the loss of step {} is not finite; a lower --lr may help", step));
    }
  }
  const auto loss = j.at("loss").get<std::vector<double>>();
  const auto end_s = j.at("end_s").get<std::vector<double>>();
  const auto common = j.at("common").get<std::vector<bool>>();
  const auto warm_up = j.at("warm_up").get<std::size_t>();
  if (run.loss.empty()) {
    run.loss.resize(loss.size());
    run.end_s.resize(loss.size());
    run.common.assign(loss.size(), true);
  }
  if (loss.size() != run.loss.size() || end_s.size() != loss.size() ||
      common.size() != loss.size() || warm_up < 1 || warm_up >= loss.size()) {
    throw std::out_of_range("ranks took different numbers of steps");
  }
  run.parameters = j.at("parameters").get<double>();
  run.choice = j.value("choice", "");
  const auto counted = static_cast<double>(loss.size() - warm_up);
  run.step_s = std::max(run.step_s, (end_s.back() - end_s[warm_up - 1]) / counted);
  run.bytes_per_step += j.at("sent_bytes").get<double>() / counted / ranks;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    run.loss[i] += loss[i] / ranks;
    run.end_s[i] = std::max(run.end_s[i], end_s[i]);
    run.common[i] = run.common[i] && common[i];
  }
}

}  // namespace

Result<TrainingRun> read_training(const std::string& lines, int ranks) {
  TrainingRun run;
  std::istringstream in(lines);
  std::string line;
  int seen = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line.front() != '{') continue;
    try {
      add_rank(nlohmann::json::parse(line), ranks, run);
    } catch (const std::out_of_range& error) {
      return Error{ErrorKind::kInvalidInput, error.what(), ""};
    } catch (const std::exception& error) {
      return unreadable(error.what());
    }
    ++seen;
  }
  if (seen != ranks) return unreadable(fmt::format("{} of {} ranks said something", seen, ranks));
  return run;
}

std::optional<double> time_to_loss(const TrainingRun& run, double loss) {
  for (std::size_t i = 0; i < run.loss.size(); ++i) {
    if (run.common[i] && run.loss[i] <= loss) return run.end_s[i];
  }
  return std::nullopt;
}

double loss_reached_by_all(const std::vector<TrainingRun>& runs) {
  double reached = -std::numeric_limits<double>::infinity();
  for (const TrainingRun& run : runs) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < run.loss.size(); ++i) {
      if (run.common[i]) least = std::min(least, run.loss[i]);
    }
    reached = std::max(reached, least);
  }
  return reached;
}

}  // namespace weft

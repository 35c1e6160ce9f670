// The names of modes, their presets and parameters: one row each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sync/mode.h"

namespace weft::sync {

// A parameter of modes. Values travel as numbers; words as their place in the list.
struct ModeParameter {
  std::string_view name;
  double low = 0, high = 0;
  bool whole = false;                   // whole numbers only
  std::vector<std::string_view> words;  // not empty: one of these instead of a number
  double (*get)(const Mode&) = nullptr;
  void (*set)(Mode&, double) = nullptr;
  std::string Mode::*text = nullptr;  // instead of get and set: a short text
};

struct ModeRow {
  std::string_view summary, source;
  Mode preset;
  std::vector<std::string_view> parameters;  // names in mode_parameters()
};

const std::vector<ModeParameter>& mode_parameters();
const std::vector<ModeRow>& mode_rows();
const ModeParameter& mode_parameter(std::string_view name);

}  // namespace weft::sync

// What the readers and checks of this room have in common.
#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "base/result.h"

namespace weft::pipeline {

inline constexpr const char* kFormHint = "docs/pipelines.md shows the form";

inline Error fault(std::string what) { return {ErrorKind::kInvalidInput, std::move(what), ""}; }

// A time or an amount.
inline bool sound(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace weft::pipeline

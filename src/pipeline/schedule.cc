#include "pipeline/schedule.h"

#include <fmt/core.h>

#include <array>

#include "base/check.h"

namespace weft::pipeline {
namespace {

constexpr std::array<std::string_view, kKinds> kNames = {
    "forward", "backward", "backward-input", "weight-gradient", "forward-backward", "recompute",
    "send",    "receive",  "offload",        "reload",          "optimizer"};

}  // namespace

std::string_view name_of(Kind kind) {
  CHECK(static_cast<int>(kind) < kKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Flow flow) { return flow == Flow::kForward ? "forward" : "backward"; }

std::string describe(const Schedule& schedule, const Work& work) {
  const std::string text = fmt::format("micro-batch {}, chunk {}", work.micro_batch, work.chunk);
  return schedule.slices > 1 ? fmt::format("{}, slice {}", text, work.slice) : text;
}

std::string describe(const Schedule& schedule, const Op& op) {
  if (op.kind == Kind::kOptimizer) return fmt::format("optimizer to version {}", op.version);
  const std::string text = fmt::format("{} of {}", name_of(op.kind), describe(schedule, op.work));
  if (op.kind != Kind::kForwardBackward) return text;
  return fmt::format("{} with {}", text, describe(schedule, op.other));
}

bool runs_forward(Kind kind) { return kind == Kind::kForward || kind == Kind::kForwardBackward; }

bool runs_backward(Kind kind) {
  return kind == Kind::kBackward || kind == Kind::kBackwardInput || kind == Kind::kForwardBackward;
}

bool makes_gradient(Kind kind) {
  return kind == Kind::kBackward || kind == Kind::kWeightGradient || kind == Kind::kForwardBackward;
}

bool computes(Kind kind) {
  return kind != Kind::kSend && kind != Kind::kReceive && kind != Kind::kOffload &&
         kind != Kind::kReload;
}

}  // namespace weft::pipeline

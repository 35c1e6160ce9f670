#include "pipeline/schedules.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

std::string any(const Request&) { return ""; }

std::string whole_groups(const Request& r) {
  if (r.chunks < 1 || r.chunks > kMaxChunks / r.stages) {
    return fmt::format("chunks per device is {}; it must lie in 1 .. {}", r.chunks,
                       kMaxChunks / r.stages);
  }
  if (r.micro_batches % r.stages == 0) return "";
  return fmt::format("there are {} micro-batches; their number must be a multiple of the {} stages",
                     r.micro_batches, r.stages);
}

constexpr std::array kGenerators = {
    Generator{"gpipe", "all forwards, then all backwards", "Huang 2019", any, gpipe},
    Generator{"1f1b", "one forward, one backward in turn", "Narayanan 2021, Fan 2021 (DAPPLE)", any,
              one_f_one_b},
    Generator{"interleaved", "1f1b with several chunks per device", "Narayanan 2021", whole_groups,
              interleaved},
    Generator{"zb-h1", "1f1b, weight gradients put off, memory of 1f1b", "Qi 2024", any, zb_h1},
    Generator{"zb-h2", "the same with about twice the memory", "Qi 2024", any, zb_h2},
};

}  // namespace

std::span<const Generator> generators() { return kGenerators; }

Result<Schedule> generate(std::string_view name, const Request& request) {
  const auto bad = [](std::string what, std::string hint = "") {
    return Error{ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
  };
  if (request.stages < 1 || request.stages > kMaxDevices) {
    return bad(fmt::format("stages is {}; it must lie in 1 .. {}", request.stages, kMaxDevices));
  }
  if (request.micro_batches < 1 || request.micro_batches > kMaxMicroBatches) {
    return bad(fmt::format("micro-batches is {}; it must lie in 1 .. {}", request.micro_batches,
                           kMaxMicroBatches));
  }
  std::vector<std::string> known;
  for (const Generator& generator : kGenerators) {
    known.emplace_back(generator.name);
    if (generator.name != name) continue;
    const std::string refusal = generator.refusal(request);
    if (!refusal.empty()) return bad(fmt::format("{}: {}", name, refusal));
    constexpr double kMostWorks = 1 << 23;
    if (1.0 * request.stages * request.micro_batches > kMostWorks) {
      return bad(fmt::format("{} stages and {} micro-batches are too many; their product may be {}",
                             request.stages, request.micro_batches, kMostWorks));
    }
    return generator.make(request);
  }
  const std::string near = near_miss(std::string(name), known);
  return Error{ErrorKind::kNotFound, fmt::format("there is no schedule called '{}'", name),
               near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                            : fmt::format("did you mean '{}'?", near)};
}

}  // namespace weft::pipeline

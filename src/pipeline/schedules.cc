#include "pipeline/schedules.h"

#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

std::string any(const Request&) { return ""; }

std::string even(const Request& r) {
  if (r.stages % 2 == 0 && r.micro_batches % 2 == 0) return "";
  return fmt::format("there are {} stages and {} micro-batches; both numbers must be even",
                     r.stages, r.micro_batches);
}

std::string even_and_long(const Request& r) {
  const std::string refusal = even(r);
  if (!refusal.empty() || r.micro_batches >= 2 * r.stages) return refusal;
  return fmt::format("there are {} micro-batches; {} stages need at least {}", r.micro_batches,
                     r.stages, 2 * r.stages);
}

std::string some_chunks(const Request& r) {
  if (r.chunks >= 1 && r.chunks <= kMaxChunks / r.stages) return "";
  return fmt::format("chunks per device is {}; it must lie in 1 .. {}", r.chunks,
                     kMaxChunks / r.stages);
}

std::string waves(const Request& r) {
  const std::string refusal = some_chunks(r);
  if (!refusal.empty() || r.chunks % 2 == 0) return refusal;
  return fmt::format("chunks per device is {}; a wave has 2, so their number must be even",
                     r.chunks);
}

std::string whole_groups(const Request& r) {
  const std::string refusal = some_chunks(r);
  if (!refusal.empty() || r.micro_batches % r.stages == 0) return refusal;
  return fmt::format("there are {} micro-batches; their number must be a multiple of the {} stages",
                     r.micro_batches, r.stages);
}

std::string whole_windows(const Request& r) {
  const int window = r.window == 0 ? r.stages : r.window;
  if (window < r.stages) {
    return fmt::format("a window of {} is less than the {} stages; two versions would not do",
                       window, r.stages);
  }
  if (r.micro_batches % window == 0) return "";
  return fmt::format("there are {} micro-batches; their number must be a multiple of the window {}",
                     r.micro_batches, window);
}

std::string some_slices(const Request& r) {
  if (r.slices >= 1 && r.slices <= kMaxSlices) return "";
  return fmt::format("slices is {}; it must lie in 1 .. {}", r.slices, kMaxSlices);
}

constexpr std::array kGenerators = {
    Generator{"gpipe", "all forwards, then all backwards", "Huang 2019", 1, any, gpipe},
    Generator{"1f1b", "one forward, one backward in turn", "Narayanan 2021; Fan 2021 (DAPPLE)", 1,
              any, one_f_one_b},
    Generator{"pipedream", "1f1b without flush, an update per backward", "Narayanan 2019", 1, any,
              pipedream},
    Generator{"pipedream-2bw", "1f1b without flush, an update per window", "Narayanan 2021", 1,
              whole_windows, pipedream_2bw},
    Generator{"interleaved", "1f1b, several chunks per device, round and round", "Narayanan 2021",
              kAsAsked, whole_groups, interleaved},
    Generator{"chimera", "two pipelines in opposite directions", "Li 2021", 1, even, chimera},
    Generator{"hanayo", "chunks in waves, to the last device and back", "Liu 2023", kAsAsked, waves,
              hanayo},
    Generator{"bpipe", "1f1b, early stages park activations on late ones", "Kim 2023", 1, any,
              bpipe},
    Generator{"zb-h1", "1f1b, weight gradients put off, memory of 1f1b", "Qi 2024", 1, any, zb_h1},
    Generator{"zb-h2", "the same with about twice the memory", "Qi 2024", 1, any, zb_h2},
    Generator{"zb-v", "blocks in a V, memory of 1f1b", "Qi 2024 (controllable memory)", 2, any,
              zb_v},
    Generator{"v-half", "blocks in a V, half the memory", "Qi 2024 (controllable memory)", 2, any,
              v_half},
    Generator{"v-min", "blocks in a V, a third of the memory", "Qi 2024 (controllable memory)", 2,
              any, v_min},
    Generator{"dualpipe", "two directions, passes overlapped", "DeepSeek-AI 2024", 1, even_and_long,
              dualpipe},
    Generator{"seq1f1b", "1f1b over slices of the sequence", "Sun 2024", 1, some_slices, seq1f1b},
    Generator{"terapipe", "gpipe over slices of the sequence", "Li 2021 (TeraPipe)", 1, some_slices,
              terapipe},
};

// A work takes up to three operations and some hundred bytes.
constexpr double kMaxWorks = 1 << 23;

double works_of(const Generator& generator, const Request& r) {
  const bool sliced = generator.refusal == some_slices;
  const int chunks = generator.chunks == kAsAsked ? r.chunks : generator.chunks;
  return 1.0 * r.stages * chunks * r.micro_batches * (sliced ? r.slices : 1);
}

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
    const double works = works_of(generator, request);
    if (works > kMaxWorks) {
      return bad(
          fmt::format("{}: micro-batches, chunks and slices make {} works; at most {} are "
                      "allowed",
                      name, works, kMaxWorks));
    }
    return generator.make(request);
  }
  const std::string near = near_miss(std::string(name), known);
  return Error{ErrorKind::kNotFound, fmt::format("there is no schedule called '{}'", name),
               near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                            : fmt::format("did you mean '{}'?", near)};
}

}  // namespace weft::pipeline

// What a pipeline really did: the operations of one or more steps with the times at which they ran,
// as Chrome/Perfetto trace events. docs/pipelines.md describes the form; the solver's timelines and
// the live runtime are written in the same one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule.h"
#include "pipeline/solve.h"

namespace weft::pipeline {

// Text beyond this is not read.
inline constexpr std::size_t kMaxRecordingText = std::size_t{512} << 20;

// One step. Operations carry the time they took; `spans`, shaped as the programs, say when, from
// the beginning of the step.
struct RecordedStep {
  Schedule schedule;
  std::vector<std::vector<Span>> spans;
  double seconds = 0;  // from the first beginning to the last end
};

struct Recording {
  std::string name;
  std::vector<RecordedStep> steps;
};

// A timeline as the recording of one step.
Recording record(const Schedule& schedule, const Timeline& timeline);

// And the other way round: the numbers of a step as it was recorded.
Timeline timeline_of(const RecordedStep& step);

// A process per recording, a thread per device and, if it moves data by listed operations, one for
// these. Steps follow one another.
std::string write_recordings(const std::vector<Recording>& recordings);

// Nothing in the text is trusted: every step that is returned has passed verify(). Events that are
// not pipeline operations are passed over. What a trace cannot tell is filled in: routes from where
// the passes ran; where transfers are not listed, the time of each from the least time that ever
// lay between the end of a pass and the beginning of the pass it feeds on another device. The error
// names the event or the step.
Result<Recording> parse_recording(std::string_view text);

}  // namespace weft::pipeline

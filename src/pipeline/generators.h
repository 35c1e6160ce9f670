// The functions behind generators().  Requires: the matching refusal() is empty.
#pragma once

#include "pipeline/schedule.h"
#include "pipeline/schedules.h"

namespace weft::pipeline {

// Huang and others, "GPipe" (2019): all forwards, then all backwards.
Schedule gpipe(const Request& request);

// Narayanan and others, "Memory-efficient pipeline-parallel DNN training" (2021), PipeDream-Flush;
// Fan and others, "DAPPLE" (2021): the same order.
Schedule one_f_one_b(const Request& request);

// Narayanan and others, "PipeDream" (2019): an update after every backward, stashed weights.
Schedule pipedream(const Request& request);

// Narayanan and others (2021), PipeDream-2BW: an update per window, two weight versions.
Schedule pipedream_2bw(const Request& request);

// Narayanan and others, "Efficient large-scale language model training on GPU clusters using
// Megatron-LM" (2021): several chunks per device, round and round.
Schedule interleaved(const Request& request);

// Li and Hoefler, "Chimera" (2021): two pipelines in opposite directions.
Schedule chimera(const Request& request);

// Liu and others, "Hanayo" (2023): chunks in waves, to the last device and back.
Schedule hanayo(const Request& request);

// Kim and others, "BPipe" (2023): 1F1B; early stages park activations on late ones.
Schedule bpipe(const Request& request);

// Qi and others, "Zero bubble pipeline parallelism" (2024), the handcrafted schedules.
Schedule zb_h1(const Request& request);
Schedule zb_h2(const Request& request);

// Qi and others, "Pipeline parallelism with controllable memory" (2024): a block of six passes in
// the shape of a V, repeated.
Schedule zb_v(const Request& request);
Schedule v_half(const Request& request);
Schedule v_min(const Request& request);

// DeepSeek-AI, "DeepSeek-V3 technical report" (2024): two directions, forward and backward passes
// overlapped.
Schedule dualpipe(const Request& request);

// Sun and others, "Seq1F1B" (2024): 1F1B over slices of the sequence.
Schedule seq1f1b(const Request& request);
// Li and others, "TeraPipe" (2021): slices of the sequence, all forwards first.
Schedule terapipe(const Request& request);

}  // namespace weft::pipeline

// How often to write checkpoints: classic rules, and the exact optimum.
#pragma once

namespace weft::planner {

// Checkpoints of a job that fails at random (exponentially, `rate` times per second of running or
// recovering) and then needs `recovery_s` before it goes on from the last checkpoint. A failure
// during recovery begins it anew.
struct Checkpointing {
  double rate = 0;        // failures per second
  double blocking_s = 0;  // the job stands still for each checkpoint
  double delay_s = 0;     // and runs on until the checkpoint is safe
  double slowdown = 0;    // during that delay it runs this part slower (0 .. 1)
  double recovery_s = 0;  // detection and restart
};

// Young, "A first order approximation to the optimum checkpoint interval" (1974).
double young_interval(double blocking_s, double mtbf_s);

// Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
double daly_interval(double blocking_s, double mtbf_s);

// Part of the time that is work which is never lost, when `interval_s` of work lie between two
// checkpoints. Exact: with x = interval + slowdown * delay + blocking,
//   rate * interval * exp(-rate * (recovery + (1 - slowdown) * delay)) / (exp(rate * x) - 1).
// Without delay this is Daly's complete cost function. With it, work is safe only `delay` after the
// checkpoint; the process begins anew at each failure and at each moment a checkpoint becomes safe,
// which gives the formula by renewal. A rate of 0 gives interval / x.
// Requires: interval_s > 0 and interval_s >= delay_s (one checkpoint is written at a time).
double goodput_of(const Checkpointing& checkpointing, double interval_s);

// The interval that makes goodput_of() the greatest: the root of 1 - T * rate = exp(-rate * x), but
// at least `delay_s`. With a rate of 0 it is infinite.
double best_interval(const Checkpointing& checkpointing);

}  // namespace weft::planner

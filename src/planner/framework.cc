#include "planner/framework.h"

#include <fmt/core.h>

#include "base/delimited.h"
#include "model/readers/table_reader.h"
#include "planner/transformer.h"

namespace weft::planner {

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = [] {
    Framework lm;
    lm.name = "megatron-lm";
    lm.host_forward_s = 10e-6;
    lm.host_backward_s = 30e-6;
    lm.step_s = 3e-3;
    lm.accumulate_bytes = 1.5;
    lm.optimizer_bytes = 40;
    Framework deepspeed;
    deepspeed.name = "megatron-deepspeed";
    deepspeed.host_forward_s = 99e-6;
    deepspeed.host_backward_s = 5.3e-6;
    deepspeed.step_s = 7.5e-3;
    deepspeed.accumulate_bytes = 14.4;
    deepspeed.shards_optimizer = true;
    Framework core = lm;
    core.name = "megatron-core";
    core.flash_attention = true;
    core.shards_optimizer = true;
    core.overlaps_gradients = true;
    return std::vector<Framework>{lm, deepspeed, core};
  }();
  return all;
}

Result<Framework> find_framework(const std::string& name) {
  std::vector<std::string> known;
  for (const Framework& one : frameworks()) {
    if (plain_name(one.name) == plain_name(name)) return one;
    known.push_back(one.name);
  }
  return Error{ErrorKind::kNotFound,
               fmt::format("no framework is named {}{}", shown(name), did_you_mean(name, known)),
               "known: megatron-lm, megatron-deepspeed, megatron-core"};
}

}  // namespace weft::planner

// The schedulers themselves; scheduler.cc lists them with their rules and sources.
#pragma once

#include "timing/iteration/scheduler.h"

namespace weft {

TransferPlan plan_fifo(const WithinInput& input);
TransferPlan plan_per_flow(const WithinInput& input);
TransferPlan plan_p3(const WithinInput& input);
TransferPlan plan_tic(const WithinInput& input);
TransferPlan plan_tac(const WithinInput& input);
TransferPlan plan_bytescheduler(const WithinInput& input);
TransferPlan plan_prophet(const WithinInput& input);
TransferPlan plan_echelon(const WithinInput& input);

void apply_fair(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_shares(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_srpt(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_jpas(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_cassini(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_crux(const BetweenInput& input, std::vector<IterationSetting>& settings);
void apply_mltcp(const BetweenInput& input, std::vector<IterationSetting>& settings);

// A window that holds one message at a time.
inline constexpr double kOneMessage = 0;

}  // namespace weft

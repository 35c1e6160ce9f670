// `weft plan`: how to train a model. Each verb is a file of its own that adds its options and gives
// back what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rows.h"
#include "verb.h"

namespace weft {

Verb add_plan_pipeline(CLI::App& plan);
Verb add_plan_goodput(CLI::App& plan);
Verb add_plan_energy(CLI::App& plan);
Verb add_plan_evaluate(CLI::App& plan);
Verb add_plan_calibrate(CLI::App& plan);
Verb add_plan_search(CLI::App& plan);
Verb add_plan_compare(CLI::App& plan);

// The runs of several files. With more than one file, rows that name no set are of the set that is
// their file's name. `sets`: only these, unless empty; the error names one that no row is of.
Result<std::vector<planner::TrainingRun>> read_run_files(const std::vector<std::string>& files,
                                                         const std::vector<std::string>& sets);

// Adds `plan` and all its verbs. The result's app is `plan`; its run() runs the verb that was
// named.
Verb add_plan_command(CLI::App& app);

}  // namespace weft

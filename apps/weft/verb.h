// A verb of the command line: a file of its own adds its options and gives back what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/result.h"

namespace weft {

// Exit codes: done; ran, but the answer is no; bad usage or input.
inline constexpr int kExitDone = 0, kExitNo = 1, kExitBadInput = 2;

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit code
};

// Prints `weft VERB: ERROR` to stderr and returns the exit code `code`.
int report_error(const std::string& verb, const Error& error, int code = kExitBadInput);

}  // namespace weft

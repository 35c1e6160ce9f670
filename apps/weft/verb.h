// A verb of the command line: a file of its own adds its options and gives back what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/result.h"

namespace weft {

// Exit codes: done; ran, but the answer is no; bad usage or input.
inline constexpr int kExitDone = 0, kExitNo = 1, kExitBadInput = 2;

// The group of verbs that only the program itself starts and of old spellings of options: neither
// --help nor completions show them.
inline constexpr const char* kHidden = "";

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit code
};

// The old spelling of an option that writes to `value`: still understood, no longer shown.
template <typename Value>
void add_old_option(CLI::App& verb, const char* name, Value& value) {
  verb.add_option(name, value)->group(kHidden);
}

// Prints `weft VERB: ERROR` to stderr and returns the exit code `code`.
int report_error(const std::string& verb, const Error& error, int code = kExitBadInput);

}  // namespace weft

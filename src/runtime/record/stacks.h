// Where the threads of this process are, written to a file: for hangs.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace weft::runtime {

// The signal by which threads are asked; its handler is installed by the first save_stacks() or
// prepare_stacks(). Default SIGRTMIN + 5.
int stacks_signal();
// Installs the handler and loads what unwinding needs, so that a later save need not. May be called
// again. Thread-safe.
void prepare_stacks();

// Writes `why`, then the stack of every thread but the caller's: those that answer within
// `at_most`; of the others that they did not. Functions of a program that hides its symbols show as
// offsets, which addr2line reads. Thread-safe; one save runs at a time.
Status save_stacks(const std::string& path, const std::string& why, Seconds at_most);

}  // namespace weft::runtime

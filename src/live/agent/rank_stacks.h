// Where the threads of a rank are, as the kernel shows it: for runs that hang.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft::live {

// A Python program that weft was imported into writes its stacks to its standard error on this.
int python_stacks_signal();

// Of every thread of these processes its name, state, what it waits for in the kernel and, as root,
// the kernel's stack.
std::string stacks_text(const std::vector<pid_t>& processes);

// Appends the text to the file, which then belongs to the user (-1: nobody else).
Status append_stacks(const std::string& path, const std::string& text, std::int64_t uid,
                     std::int64_t gid);

}  // namespace weft::live

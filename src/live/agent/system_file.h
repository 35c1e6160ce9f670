// Reads files that the kernel makes up as they are read, under /proc and /sys.
#pragma once

#include <string>

namespace weft::live {

// Ensures: empty if the file cannot be read.
std::string content_of(const std::string& path);

}  // namespace weft::live

// Whole files: read with a limit, written so that nobody ever sees half of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// Reads a regular file or a pipe. Directories and devices are refused, and so is a file larger than
// `limit_bytes`, before the first byte of it is read.
Result<std::string> read_file(const std::string& path, std::uint64_t limit_bytes);

// Ensures: afterwards `path` holds all of `content`, or an error is returned and whatever `path`
// held before is untouched. The content goes to a temporary file in the same folder, which is then
// renamed; pipes and devices such as /dev/stdout are written to directly.
Status write_file_atomically(const std::string& path, std::string_view content);

// The same, and afterwards it survives a loss of power.
Status write_file_durably(const std::string& path, std::string_view content);
// Makes what was made, renamed or removed in the folder survive a loss of power.
Status sync_folder(const std::string& path);

// Whether a file can be made at `path`, so that hours of work do not end in "no such folder".
// Ensures: nothing is left behind, and what `path` held is untouched.
Status check_writable(const std::string& path);

// The folder part of a path, "." when it has none.
std::string folder_of(const std::string& path);
// `name` inside `folder`; an absolute `name` stays as it is.
std::string path_in(const std::string& folder, const std::string& name);
bool is_folder(const std::string& path);
bool is_file(const std::string& path);

}  // namespace weft

// `weft bench allreduce`: the all-reduce of several libraries on this machine, side by side.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "verb.h"

namespace weft {

// Adds `allreduce` to `bench`.
Verb add_bench_allreduce(CLI::App& bench);

// Bytes of a message as its literature writes them: "4KB" is 4096 bytes, as "4KiB" is; a bare
// number is bytes. Only whole numbers of fp32, at most 4 GB, are taken.
Result<std::uint64_t> parse_message_size(const std::string& text);
std::string message_size_text(std::uint64_t bytes);  // "4 KB"

}  // namespace weft

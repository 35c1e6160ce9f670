// Copies that memcpy does not offer. Buffers need no alignment and may not overlap; with 0 bytes
// pointers are not looked at. Thread-safety: no state.
#pragma once

#include <cstddef>

namespace weft::runtime {

// One read, two writes.
void copy_twice(std::byte* target1, std::byte* target2, const std::byte* source, std::size_t bytes);

// `streaming` writes around the caches, which pays when the target would push something out that is
// read, or lies in the caches of another processor (shm/store_choice.h). Copies of less than 1 KiB
// are never streamed.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes, bool streaming);

}  // namespace weft::runtime

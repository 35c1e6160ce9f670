// One rank's encoded part on its way to another: its length and its bytes, or the sentence that
// says why there are none, so that whoever waits for it learns of the failure and does not wait in
// vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"

namespace weft::runtime {

// Room for a letter of at most `bytes` encoded bytes. A sentence is cut to fit.
std::size_t letter_room(std::size_t bytes);

// Writes what `encode` writes into the room it is given, or its error. Returns the bytes used.
// Requires: room.size() is letter_room() of what encode may write.
std::size_t write_letter(std::span<std::byte> room,
                         const std::function<Result<std::size_t>(std::span<std::byte>)>& encode);

// The encoded bytes in `letter`, which may have padding behind them; or the sender's error, or one
// that says what is wrong with the letter.
Result<std::span<const std::byte>> read_letter(std::span<const std::byte> letter);

}  // namespace weft::runtime

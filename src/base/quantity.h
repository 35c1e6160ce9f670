// Quantities with units, as people write them: "100MB", "12.5GB/s", "400Gb/s", "5us".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace weft {

// K, M, G, T, P are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024. B is byte and b is bit: case
// matters, because 100 GB/s is eight times 100 Gb/s. Nothing when the text is no such quantity, is
// negative, or is too large to be finite.

// "4096", "100MB", "64KiB", "8Gb". Without a unit: bytes.
std::optional<double> parse_bytes(std::string_view text);
// "12.5GB/s", "400Gb/s", "400Gbps", "400Gbit/s". A unit is required, for nobody knows whether a
// bare number means bits or bytes.
std::optional<double> parse_bytes_per_s(std::string_view text);
// "5us", "5µs", "1.5ms", "30s", "2min", "1h", "10ns". Without a unit: seconds.
std::optional<Seconds> parse_seconds(std::string_view text);

// What the parsers above read, for messages.
inline constexpr std::string_view kBytesWanted = "a size such as 4096, 64KiB or 100MB";
inline constexpr std::string_view kBytesPerSecondWanted =
    "a bandwidth above 0 with its unit, such as 12.5GB/s or 100Gb/s (B: byte, b: bit)";
inline constexpr std::string_view kSecondsWanted = "a time such as 5us, 1.5ms or 30s";

// Three significant digits and the unit that keeps the number between 1 and 1000.
std::string bytes_text(double bytes);              // "1.5 GB"
std::string bytes_per_s_text(double bytes_per_s);  // "12.5 GB/s"
std::string seconds_text(Seconds seconds);         // "5 us"

}  // namespace weft

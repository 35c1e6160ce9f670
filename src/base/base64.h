// Bytes as letters that any text can carry (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

std::string to_base64(std::string_view bytes);
// Nothing for what to_base64() does not make: other letters, missing or wrong padding, bits that
// are left over.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace weft

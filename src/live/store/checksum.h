// Of records and images: tells what the disk changed, not what an enemy changed.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string_view>

namespace weft::live {

inline std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace weft::live

#include "live/agent/system_file.h"

#include <fstream>
#include <sstream>

namespace weft::live {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace weft::live

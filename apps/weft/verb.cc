#include "verb.h"

#include <fmt/core.h>

#include <cstdio>

namespace weft {

int report_error(const std::string& verb, const Error& error, int code) {
  std::fputs(fmt::format("weft {}: {}\n", verb, error.text()).c_str(), stderr);
  return code;
}

}  // namespace weft

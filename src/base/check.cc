#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weft::internal {

void check_failed(const char* condition, const char* file, int line, const char* message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed%s%s\n", file, line, condition,
               message[0] != '\0' ? ": " : "", message);
  std::abort();
}

}  // namespace weft::internal

// CHECK: what only we can do wrong. Prints the condition and its place, then aborts, also in
// release.
#pragma once

namespace weft::internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const char* message);
}  // namespace weft::internal

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::weft::internal::check_failed(#condition, __FILE__, __LINE__, ""); \
  } while (false)

#define CHECK_MSG(condition, message)                                            \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::weft::internal::check_failed(#condition, __FILE__, __LINE__, (message)); \
  } while (false)

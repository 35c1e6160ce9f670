#include "base/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "base/stopwatch.h"

namespace weft {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1), began_ns_(monotonic_ns()) {}

ProgressLine::~ProgressLine() {
  if (shown_ns_ != 0) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(double done, double total, const std::string& what) {
  if (!terminal_) return;
  const std::int64_t now = monotonic_ns();
  if (now - began_ns_ < 1'000'000'000 || now - shown_ns_ < 200'000'000) return;
  shown_ns_ = now;
  const double elapsed_s = static_cast<double>(now - began_ns_) * 1e-9;
  const double left_s = done > 0 ? elapsed_s * (total - done) / done : 0;
  std::fputs(fmt::format("\r\033[K{:3.0f} %  {}  {:.0f} s left", total > 0 ? 100 * done / total : 0,
                         what, left_s)
                 .c_str(),
             stderr);
}

}  // namespace weft

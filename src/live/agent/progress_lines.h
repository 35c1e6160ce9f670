// What a job says about itself, line by line: `step=10 loss=0.5`, or {"step": 10, "loss": 0.5}.
// The lines come from the user's program, so nothing about them is trusted.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft::live {

class ProgressLines {
 public:
  static constexpr std::size_t kMostLineBytes = 1024, kMostValues = 16, kMostNameBytes = 32;

  // Takes whole lines. A later value of a name replaces the earlier one.
  void feed(std::string_view lines);
  bool empty() const { return values_.empty(); }
  // What came since the last call.
  std::map<std::string, double> take();
  // Lines that were not understood, or said too much.
  long malformed() const { return malformed_; }

 private:
  void line(std::string_view text);

  std::map<std::string, double> values_;
  long malformed_ = 0;
};

}  // namespace weft::live

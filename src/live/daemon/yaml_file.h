// Files of YAML that the daemon is given.
#pragma once

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>

#include "base/result.h"

namespace weft::live {

// All that is wrong with a file, each with its line.
class Complaints {
 public:
  explicit Complaints(std::string path) : path_(std::move(path)) {}
  void add(const YAML::Node& node, const std::string& what) {
    const int line = std::max(0, node.Mark().line) + 1;  // an empty file has no lines
    text_ += fmt::format("{}{}:{}: {}", text_.empty() ? "" : "\n", path_, line, what);
  }
  bool empty() const { return text_.empty(); }
  Error error() const { return {ErrorKind::kInvalidInput, text_, ""}; }

 private:
  std::string path_, text_;
};

// What `read` makes of the text, or where it is no YAML.
template <typename Read>
auto read_yaml(const std::string& text, const std::string& path, const Read& read)
    -> decltype(read(YAML::Node())) {
  try {
    return read(YAML::Load(text));
  } catch (const YAML::Exception& wrong) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:{}: {}", path, wrong.mark.line + 1, wrong.msg), ""};
  }
}

}  // namespace weft::live

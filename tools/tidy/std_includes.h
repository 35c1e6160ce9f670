// Finds names of the standard library whose header a file gets by accident: through another header
// of the standard library or of a third party. What those include changes with every release, so
// such a file compiles with one compiler and not with the next.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "include_graph.h"
#include "tidy.h"

namespace tidy {

// Knows the names that this project uses or is likely to use. Names that nearly every header
// declares (std::size_t, std::move, std::pair) are left alone. fmt::join has moved and counts too.
class StdIncludes {
 public:
  // Requires: `path` is relative to the root of the project; `code` comes from code_only(lines).
  void add(const std::string& path, const std::vector<std::string>& lines,
           const std::vector<std::string>& code);

  // Ensures: one finding for each file and header that neither the file nor a project header it
  // includes, directly or through others, names; it stands at the first use.
  std::vector<Finding> findings() const;

 private:
  struct Use {
    int line;
    std::string name;
  };

  IncludeGraph graph_;
  std::map<std::string, std::vector<Use>> uses_;  // the first one of each name, by file
};

}  // namespace tidy

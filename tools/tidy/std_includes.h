// Finds names of the standard library whose header a file gets by accident: through another header
// of the standard library or of a third party. What those include changes with every release, so
// such a file compiles with one compiler and not with the next.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  struct File {
    std::vector<std::string> includes;      // in quotes, as written
    std::set<std::string> system_includes;  // in angle brackets
    std::vector<Use> uses;                  // the first one of each name
  };

  const std::string* resolve(const std::string& from, const std::string& include) const;
  void gather(const std::string& path, std::set<std::string>& visited,
              std::set<std::string>& system) const;

  std::map<std::string, File> files_;
};

}  // namespace tidy

// Which files of the project include which, and what else they include.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tidy {

class IncludeGraph {
 public:
  // Requires: `path` is relative to the root of the project; `code` comes from code_only(lines).
  void add(const std::string& path, const std::vector<std::string>& lines,
           const std::vector<std::string>& code);

  // The file itself and every file of the project that it includes, directly or through others.
  std::set<std::string> closure(const std::string& path) const;
  // The headers in angle brackets that the closure names.
  std::set<std::string> system_headers(const std::string& path) const;

 private:
  struct File {
    std::vector<std::string> includes;      // in quotes, as written
    std::set<std::string> system_includes;  // in angle brackets
  };

  const std::string* resolve(const std::string& from, const std::string& include) const;
  void gather(const std::string& path, std::set<std::string>& visited) const;

  std::map<std::string, File> files_;
};

}  // namespace tidy

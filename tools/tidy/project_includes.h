// Finds names of the project whose header a file does not include. Sources are compiled several at
// a time, so the source before it in its batch may have included the header by chance; `./dev soak`
// asks the compiler, source by source.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "include_graph.h"
#include "tidy.h"

namespace tidy {

// Knows types, constants and functions that headers declare at the scope of a namespace.
class ProjectIncludes {
 public:
  // The rooms that each room sees; names of other rooms are none of its business.
  void set_rooms(std::map<std::string, std::set<std::string>> seen) { seen_ = std::move(seen); }
  // Requires: `path` is relative to the root of the project; `code` comes from code_only(lines).
  void add(const std::string& path, const std::vector<std::string>& lines,
           const std::vector<std::string>& code);

  // Ensures: one finding for each file and name that neither the file itself nor a header that it
  // includes, directly or through others, so much as mentions, though a header declares it.
  std::vector<Finding> findings() const;

 private:
  struct Use {
    int line;
    std::string qualifier;  // the namespace before it, if one is named
  };
  bool is_declared_for(const std::string& path, const std::string& name, const Use& use) const;

  IncludeGraph graph_;
  std::map<std::string, std::set<std::string>> seen_;
  std::map<std::string, std::set<std::string>> mentioned_;             // names, by file
  std::map<std::string, std::map<std::string, Use>> uses_;             // by file and name
  std::map<std::string, std::vector<std::string>> declaring_headers_;  // by name
  std::set<std::string> namespaces_;                                   // of the project
};

}  // namespace tidy

// Finds names in anonymous namespaces that meet others when a target's sources are compiled
// together.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tidy.h"

namespace tidy {

struct DeclaredName {
  std::string name;
  int line;           // of its declaration, counted from 1
  std::string scope;  // the namespaces around it that have names: `weft::live`
  bool local;         // in an anonymous namespace
  std::string alias;  // `using Json = nlohmann::json` and the like, in full; empty for the others
};

// Requires: `code` comes from code_only().
// Ensures: what is declared at the scope of namespaces, in order: types, functions, variables and
// aliases; also `using namespace`, by that name, but for literals. Operators, specialisations,
// members and tests are left out.
std::vector<DeclaredName> declared_names(const std::vector<std::string>& code);

// Requires: `code` comes from code_only().
// Ensures: the types, aliases and constants (kLikeThis) that are declared inside functions.
std::vector<std::pair<std::string, int>> names_in_functions(const std::vector<std::string>& code);

// The rooms that each room sees, as CMakeLists.txt says in `room(a SEES b c)`.
std::map<std::string, std::set<std::string>> rooms_seen(const std::vector<std::string>& lines);

// Whether the source, or another of its target, may include the header. `seen` comes from
// rooms_seen().
bool may_include(const std::string& source, const std::string& header,
                 const std::map<std::string, std::set<std::string>>& seen);

// Local names must be unique among the local names of their target, but for aliases of the same
// thing, and must not be those of a header in the namespace around them. No function of
// another source may hide them. `using namespace` must not stand outside functions.
class LocalNames {
 public:
  void set_rooms(std::map<std::string, std::set<std::string>> seen) { seen_ = std::move(seen); }
  // Requires: `code` is code_only() of the file at `path`; files come in order of path.
  void add(const std::string& path, const std::vector<std::string>& code);
  std::vector<Finding> findings() const;

 private:
  struct Local {
    std::string path, target;
    DeclaredName declared;
  };
  std::string header_of(const Local& local) const;

  std::map<std::string, std::set<std::string>> seen_;
  std::vector<Local> locals_, hiding_;  // in anonymous namespaces, in functions
  // By scope and name, the headers that declare it.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> headers_;
};

}  // namespace tidy

#include "include_graph.h"

#include <cstddef>

namespace tidy {
namespace {

// The text between `open` and `close` after an #include, or nothing.
std::string included(const std::string& line, char open, char close) {
  const std::size_t begin = line.find(open);
  const std::size_t end = line.find(close, begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return line.substr(begin + 1, end - begin - 1);
}

}  // namespace

void IncludeGraph::add(const std::string& path, const std::vector<std::string>& lines,
                       const std::vector<std::string>& code) {
  File& file = files_[path];
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!code[i].starts_with("#include")) continue;  // also not the text of one in a literal
    const std::string quoted = included(lines[i], '"', '"');
    if (!quoted.empty()) file.includes.push_back(quoted);
    const std::string system = included(lines[i], '<', '>');
    if (quoted.empty() && !system.empty()) file.system_includes.insert(system);
  }
}

// Where a header can be: in a room, below the root, or beside the file.
const std::string* IncludeGraph::resolve(const std::string& from,
                                         const std::string& include) const {
  const std::string folder = from.substr(0, from.rfind('/') + 1);
  for (const std::string& path : {"src/" + include, include, folder + include}) {
    const auto found = files_.find(path);
    if (found != files_.end()) return &found->first;
  }
  return nullptr;
}

void IncludeGraph::gather(const std::string& path, std::set<std::string>& visited) const {
  if (!visited.insert(path).second) return;
  for (const std::string& include : files_.at(path).includes) {
    if (const std::string* header = resolve(path, include)) gather(*header, visited);
  }
}

std::set<std::string> IncludeGraph::closure(const std::string& path) const {
  std::set<std::string> visited;
  gather(path, visited);
  return visited;
}

std::set<std::string> IncludeGraph::system_headers(const std::string& path) const {
  std::set<std::string> system;
  for (const std::string& file : closure(path)) {
    const std::set<std::string>& named = files_.at(file).system_includes;
    system.insert(named.begin(), named.end());
  }
  return system;
}

}  // namespace tidy

// The arrays of words that exec() and posix_spawn() take.
#pragma once

#include <string>
#include <vector>

namespace weft::live {

// Ensures: a pointer to each word, then a null. Requires: `words` outlive the result.
inline std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace weft::live

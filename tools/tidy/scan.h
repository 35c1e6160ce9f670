// Reads C++ text just well enough to judge its style: no preprocessor, no grammar.
#pragma once

#include <string>
#include <vector>

namespace tidy {

bool is_word(char c);  // may be part of an identifier
std::string trimmed(const std::string& text);

// Ensures: as many lines of the same length, with comments and the insides of string and character
// literals turned into spaces.
std::vector<std::string> code_only(const std::vector<std::string>& lines);

struct Function {
  std::string name;  // `parse`, `Trace::read`, `TEST(Trace,Reads)`
  int first_line;    // counted from 1
  int lines;         // from the first line of its head to its closing brace
};

// Requires: `code` comes from code_only().
// Ensures: every function body that stands in a namespace or class, in order; lambdas and local
// classes count as part of the function around them.
std::vector<Function> functions(const std::vector<std::string>& code);

}  // namespace tidy

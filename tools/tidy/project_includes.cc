#include "project_includes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

#include "local_names.h"
#include "scan.h"

namespace tidy {
namespace {

struct Token {
  std::string text;  // a word, `::`, `->` or one mark
  int line;
};

std::vector<Token> tokens_of(const std::vector<std::string>& code) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string& line = code[i];
    if (trimmed(line).starts_with('#')) continue;
    for (std::size_t at = 0; at < line.size();) {
      std::size_t end = at + 1;
      if (is_word(line[at])) {
        while (end < line.size() && is_word(line[end])) ++end;
      } else if (line.compare(at, 2, "::") == 0 || line.compare(at, 2, "->") == 0) {
        ++end;
      }
      if (line[at] != ' ') tokens.push_back({line.substr(at, end - at), static_cast<int>(i) + 1});
      at = end;
    }
  }
  return tokens;
}

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

bool is_type_name(const std::string& word) {
  return upper(word[0]) && std::any_of(word.begin(), word.end(), lower);
}
bool is_constant_name(const std::string& word) {
  return word.size() > 1 && word[0] == 'k' && upper(word[1]);
}

// After these a name is used; after any other word it is declared.
constexpr std::array<std::string_view, 9> kBeforeUses = {
    "return", "else", "case", "throw", "co_return", "co_await", "and", "or", "not"};
constexpr std::array<std::string_view, 8> kBeforeTypes = {
    "struct", "class", "enum", "union", "using", "typename", "namespace", "concept"};

template <typename List>
bool in_list(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Whether tokens[i] names something that a header must have declared.
bool is_use(const std::vector<Token>& tokens, std::size_t i) {
  const std::string& word = tokens[i].text;
  const std::string before = i > 0 ? tokens[i - 1].text : "";
  if (before == "." || before == "->") return false;  // a member
  if (before == "::" && (i < 2 || !lower(tokens[i - 2].text[0]))) return false;
  if (is_type_name(word)) return before != ")" && !in_list(kBeforeTypes, before);  // alignas(8) A
  const bool word_before = !before.empty() && is_word(before[0]);
  const bool declared = word_before && !in_list(kBeforeUses, before);
  if (is_constant_name(word)) {
    const std::string after = i + 2 < tokens.size() ? tokens[i + 1].text + tokens[i + 2].text : "";
    const bool given = after == "[]" || (after[0] == '=' && after != "==");
    return !declared && !given && before != ">";
  }
  const bool called = i + 1 < tokens.size() && tokens[i + 1].text == "(";
  return called && lower(word[0]) && !declared && before != ">" && before != "*" && before != "&";
}

// The names of tests are not names of the program.
bool is_test_head(const std::vector<Token>& tokens, std::size_t i) {
  return i > 1 && tokens[i - 1].text == "(" && tokens[i - 2].text.starts_with("TEST");
}

}  // namespace

void ProjectIncludes::add(const std::string& path, const std::vector<std::string>& lines,
                          const std::vector<std::string>& code) {
  graph_.add(path, lines, code);
  std::set<std::string>& mentioned = mentioned_[path];
  std::map<std::string, Use>& uses = uses_[path];
  const std::vector<Token> tokens = tokens_of(code);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& word = tokens[i].text;
    if (!is_word(word[0])) continue;
    const bool use = is_use(tokens, i) || is_test_head(tokens, i);
    if (!use) mentioned.insert(word);
    if (!use || is_test_head(tokens, i)) continue;
    const bool qualified = i > 1 && tokens[i - 1].text == "::";
    uses.try_emplace(word, Use{tokens[i].line, qualified ? tokens[i - 2].text : ""});
  }
  if (!path.ends_with(".h")) return;
  for (const DeclaredName& declared : declared_names(code)) {
    mentioned.insert(declared.name);
    const std::size_t last = declared.scope.rfind(':');
    namespaces_.insert(last == std::string::npos ? declared.scope
                                                 : declared.scope.substr(last + 1));
    declaring_headers_[declared.name].push_back(path);
  }
}

bool ProjectIncludes::is_declared_for(const std::string& path, const std::string& name,
                                      const Use& use) const {
  if (!use.qualifier.empty() && !namespaces_.contains(use.qualifier)) return false;
  const auto headers = declaring_headers_.find(name);
  return headers != declaring_headers_.end() &&
         std::any_of(headers->second.begin(), headers->second.end(),
                     [&](const std::string& header) { return may_include(path, header, seen_); });
}

std::vector<Finding> ProjectIncludes::findings() const {
  std::vector<Finding> findings;
  for (const auto& [path, uses] : uses_) {
    const std::set<std::string> closure = graph_.closure(path);
    for (const auto& [name, use] : uses) {
      if (!is_declared_for(path, name, use)) continue;
      const bool known =
          std::any_of(closure.begin(), closure.end(), [&, &word = name](const std::string& file) {
            return mentioned_.at(file).contains(word);
          });
      if (known) continue;
      findings.push_back({path, use.line,
                          "'" + name + "' is declared in " + declaring_headers_.at(name).front() +
                              ", which this file does not include, not even through others"});
    }
  }
  return findings;
}

}  // namespace tidy

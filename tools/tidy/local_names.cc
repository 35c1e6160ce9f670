#include "local_names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "scan.h"

namespace tidy {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kUsingNamespace = "using namespace";

// Words, `::` and single marks.
Words pieces_of(const std::string& text) {
  Words pieces;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text.compare(i, 2, "::") == 0) {
      ++end;
    }
    if (text[i] != ' ') pieces.push_back(text.substr(i, end - i));
    i = end;
  }
  return pieces;
}

// Without `<...>`, `[...]` and `(...)`, which leave the mark that opened them.
Words without_nested(const Words& pieces) {
  Words out;
  int depth = 0;
  bool value = false;  // after `=` a `<` may be less than
  for (const std::string& piece : pieces) {
    if (depth == 0 && piece == "=") value = true;
    if (depth == 0 && piece == ",") value = false;
    const bool opens = piece == "(" || piece == "[" || (piece == "<" && !value);
    const bool closes = piece == ")" || piece == "]" || (piece == ">" && !value);
    if (depth == 0) out.push_back(piece);
    if (opens) ++depth;
    if (closes && depth > 0) --depth;
  }
  return out;
}

bool is_name(const std::string& piece) {
  return is_word(piece[0]) && (piece[0] < '0' || piece[0] > '9');
}

bool has(const Words& pieces, std::string_view word) {
  return std::find(pieces.begin(), pieces.end(), word) != pieces.end();
}

// The names of one declaration without what is nested in it: `int a = 1, b` has two.
Words declared_by(const Words& pieces) {
  const auto call = std::find(pieces.begin(), pieces.end(), "(");
  const auto value = std::find(pieces.begin(), pieces.end(), "=");
  if (call < value) {  // a function, or a variable with its arguments
    const size_t at = static_cast<size_t>(call - pieces.begin());
    const bool member = at > 1 && pieces[at - 2] == "::";
    return at > 1 && is_name(pieces[at - 1]) && !member ? Words{pieces[at - 1]} : Words{};
  }
  Words names;
  std::string last;
  bool open = true;  // the name of this declarator has not been passed
  for (const std::string& piece : pieces) {
    if (open && is_name(piece)) last = piece;
    if (piece == "=" || piece == "[" || piece == "{") open = false;
    if (piece == ",") {
      names.push_back(last);
      open = true;
    }
  }
  if (!last.empty()) names.push_back(last);
  return names;
}

// Of the words after `struct`, `enum class` and so on, the name.
std::string type_in(const Words& pieces) {
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i] == "class" || pieces[i] == "struct" || pieces[i] == "alignas") continue;
    if (i + 1 < pieces.size() && pieces[i + 1] == "<") return "";  // a specialisation
    return is_name(pieces[i]) ? pieces[i] : "";
  }
  return "";
}

bool is_macro(const std::string& word) {
  return word.size() > 3 &&
         std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_type(const Words& pieces) {
  return !pieces.empty() && (pieces[0] == "struct" || pieces[0] == "class" || pieces[0] == "enum" ||
                             pieces[0] == "union");
}

// Walks through a file and gathers each declaration that stands right in a namespace.
class Gatherer {
 public:
  void take(char c, int line) {
    if (inside_ > 0) return take_inside(c);
    if (c == '{') return open();
    if (c == ';') return end();
    if (c == '}') {
      if (!scopes_.empty()) scopes_.pop_back();
      return text_.clear();
    }
    if (trimmed(text_).empty() && c != ' ') line_ = line;
    text_ += c;
  }

  std::vector<DeclaredName> found;

 private:
  void open() {
    const Words pieces = pieces_of(text_);
    if (has(pieces, "namespace")) {
      std::string name;
      const auto word = std::find(pieces.begin(), pieces.end(), "namespace");
      for (auto piece = word + 1; piece != pieces.end(); ++piece) name += *piece;
      scopes_.push_back(name);
      return text_.clear();
    }
    inside_ = 1;
  }

  // A body ends its declaration unless it is a value, or a type that may name a variable.
  void take_inside(char c) {
    if (c == '{') ++inside_;
    if (c != '}' || --inside_ > 0) return;
    const Words pieces = without_nested(pieces_of(text_));
    const bool argument =
        std::count(text_.begin(), text_.end(), '(') != std::count(text_.begin(), text_.end(), ')');
    const bool function = !argument && has(pieces, "(") && !has(pieces, "=") && !is_type(pieces);
    text_ += "{";
    if (function) end();
  }

  void end() {
    if (!scopes_.empty()) keep();
    text_.clear();
  }

  void keep() {
    Words pieces = pieces_of(text_);
    if (pieces.empty() || pieces[0] == "static_assert" || is_macro(pieces[0])) return;
    if (pieces[0] == "using" || pieces[0] == "namespace") return keep_alias(pieces);
    while (pieces.size() > 1 && pieces[0] == "[" && pieces[1] == "[") {  // [[maybe_unused]]
      const auto close = std::find(pieces.begin(), pieces.end(), "]");
      pieces.erase(pieces.begin(), std::min(close + 2, pieces.end()));
    }
    pieces = without_nested(pieces);
    if (pieces.size() > 2 && pieces[0] == "template")
      pieces.erase(pieces.begin(), pieces.begin() + 2);
    if (has(pieces, "operator")) return;
    if (is_type(pieces)) {
      const std::string name = type_in(pieces);
      if (!name.empty()) put(name, "");
      return;
    }
    for (const std::string& name : declared_by(pieces)) put(name, "");
  }

  // `using A = B`, `namespace a = b` and `using b::A`.
  void keep_alias(const Words& pieces) {
    if (pieces.size() < 3) return;
    if (pieces[1] == "namespace") {
      if (!pieces.back().ends_with("literals")) put(kUsingNamespace, "");
      return;
    }
    std::string whole;
    for (const std::string& piece : pieces) whole += piece + " ";
    put(pieces[2] == "=" ? pieces[1] : pieces.back(), whole);
  }

  void put(const std::string& name, const std::string& alias) {
    std::string scope;
    for (const std::string& one : scopes_)
      scope += (scope.empty() || one.empty() ? "" : "::") + one;
    found.push_back({name, line_, scope, scopes_.back().empty(), alias});
  }

  std::string text_;
  int line_ = 0;
  int inside_ = 0;                   // braces that are open and open no namespace
  std::vector<std::string> scopes_;  // namespaces that are open; empty: without a name
};

bool is_testing(const std::string& path) {
  return path.find("_test.") != std::string::npos || path.find("_testing.") != std::string::npos;
}

// The folder of the target that compiles a source together with others; empty if nothing does.
std::string folder_of(const std::string& path) {
  if (path.starts_with("src/")) return path.substr(0, path.find('/', 4) + 1);
  for (const char* folder : {"apps/weft/", "tests/live/", "tests/"}) {
    if (path.starts_with(folder)) return folder;
  }
  return "";
}

bool is_program(const std::string& path) {
  return path.ends_with("/main.cc") || path.ends_with("_program.cc");
}

}  // namespace

std::vector<DeclaredName> declared_names(const std::vector<std::string>& code) {
  Gatherer gatherer;
  bool directive = false;
  for (size_t i = 0; i < code.size(); ++i) {
    directive = directive || trimmed(code[i]).starts_with('#');
    if (!directive) {
      for (const char c : code[i] + " ") gatherer.take(c, static_cast<int>(i) + 1);
    }
    directive = directive && !code[i].empty() && code[i].back() == '\\';
  }
  return gatherer.found;
}

std::vector<std::pair<std::string, int>> names_in_functions(const std::vector<std::string>& code) {
  std::vector<std::pair<std::string, int>> names;
  for (const Function& f : functions(code)) {
    for (int line = f.first_line + 1; line < f.first_line + f.lines; ++line) {
      const Words pieces = without_nested(pieces_of(code[static_cast<size_t>(line) - 1]));
      if (pieces.size() < 2) continue;
      if (is_type(pieces) || (pieces[0] == "using" && pieces.size() > 2 && pieces[2] == "=")) {
        const std::string name = pieces[0] == "using" ? pieces[1] : type_in(pieces);
        if (!name.empty()) names.emplace_back(name, line);
      } else if (has(pieces, "constexpr") || pieces[0] == "const") {
        for (const std::string& name : declared_by(pieces)) {
          if (name.size() > 1 && name[0] == 'k' && name[1] < 'a') names.emplace_back(name, line);
        }
      }
    }
  }
  return names;
}

std::map<std::string, std::set<std::string>> rooms_seen(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find('#')) + " ";
  std::map<std::string, std::set<std::string>> all;
  Words pieces = pieces_of(text);
  for (size_t i = 0; i + 2 < pieces.size(); ++i) {
    if (pieces[i] != "room" || pieces[i + 1] != "(") continue;
    std::set<std::string>& seen = all["src/" + pieces[i + 2] + "/"];
    bool listed = false;
    for (i += 3; i < pieces.size() && pieces[i] != ")"; ++i) {
      if (listed) seen.insert("src/" + pieces[i] + "/");
      if (pieces[i] == "SEES") listed = true;
      if (pieces[i] == "LINKS" || pieces[i] == "TEST_LINKS") listed = false;
    }
  }
  return all;
}

bool may_include(const std::string& source, const std::string& header,
                 const std::map<std::string, std::set<std::string>>& seen) {
  const std::string from = folder_of(source), of = folder_of(header);
  if (is_testing(header)) return from == of && is_testing(source);
  if (from == of || !of.starts_with("src/")) return from == of;
  const auto rooms = seen.find(from);
  return rooms == seen.end() ? !from.starts_with("src/") : rooms->second.contains(of);
}

void LocalNames::add(const std::string& path, const std::vector<std::string>& code) {
  const std::string folder = folder_of(path);
  if (folder.empty() || is_program(path)) return;
  const std::string target = folder + (is_testing(path) ? " tests" : "");
  for (const DeclaredName& declared : declared_names(code)) {
    if (path.ends_with(".h")) {
      headers_[{declared.scope, declared.name}].push_back(path);
    } else if (declared.local || declared.name == kUsingNamespace) {
      locals_.push_back({path, target, declared});
    }
  }
  if (path.ends_with(".h")) return;
  for (const auto& [name, line] : names_in_functions(code)) {
    hiding_.push_back({path, target, {name, line, "", false, ""}});
  }
}

std::string LocalNames::header_of(const Local& local) const {
  const auto found = headers_.find({local.declared.scope, local.declared.name});
  if (found == headers_.end()) return "";
  for (const std::string& path : found->second) {
    if (may_include(local.path, path, seen_)) return path;
  }
  return "";
}

std::vector<Finding> LocalNames::findings() const {
  std::map<std::pair<std::string, std::string>, const Local*> first;  // by target and name
  std::vector<Finding> all;
  for (const Local& local : locals_) {
    const auto& [name, line, scope, is_local, alias] = local.declared;
    const auto put = [&, &path = local.path, &name = name, &line = line](const std::string& what) {
      all.push_back(
          {path, line,
           "'" + name + "' is also " + what + "; targets are compiled several sources at a time"});
    };
    if (name == kUsingNamespace) {
      all.push_back({local.path, line,
                     "`using namespace` reaches into the next source of the target; name what is "
                     "used"});
      continue;
    }
    const Local& owner = *first.try_emplace({local.target, name}, &local).first->second;
    const bool same_alias = !alias.empty() && alias == owner.declared.alias;
    if (owner.path != local.path && !same_alias) put("local to " + owner.path);
    if (const std::string header = header_of(local); !header.empty()) put("declared in " + header);
  }
  for (const Local& local : hiding_) {
    const auto hidden = first.find({local.target, local.declared.name});
    if (hidden == first.end() || hidden->second->path == local.path) continue;
    all.push_back({local.path, local.declared.line,
                   "'" + local.declared.name + "' would hide that of " + hidden->second->path +
                       "; targets are compiled several sources at a time"});
  }
  return all;
}

}  // namespace tidy

#include "scan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace tidy {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

namespace {

// Walks through text and knows whether it is inside a comment or a literal.
class Blanker {
 public:
  std::string line(const std::string& in) {
    std::string out = in;
    for (size_t i = 0; i < in.size();) {
      const size_t next = step(in, i);
      if (blank_) std::fill(out.begin() + index(i), out.begin() + index(next), ' ');
      i = next;
    }
    return out;
  }

 private:
  enum class Inside { kCode, kBlockComment, kRawString };
  static std::ptrdiff_t index(size_t i) { return static_cast<std::ptrdiff_t>(i); }

  // Passes over one piece of the line and says in blank_ whether it is not code.
  size_t step(const std::string& in, size_t i) {
    blank_ = true;
    if (inside_ == Inside::kBlockComment) return leave_at(in, i, "*/");
    if (inside_ == Inside::kRawString) return leave_at(in, i, raw_end_);
    if (in.compare(i, 2, "//") == 0) return in.size();
    if (in.compare(i, 2, "/*") == 0) {
      inside_ = Inside::kBlockComment;
      return i + 2;
    }
    const bool after_word = i > 0 && is_word(in[i - 1]);
    if (in.compare(i, 2, "R\"") == 0 && !after_word) {
      const size_t open = in.find('(', i);
      if (open != std::string::npos) {
        raw_end_ = ")" + in.substr(i + 2, open - i - 2) + "\"";
        inside_ = Inside::kRawString;
        return open + 1;
      }
    }
    if (in[i] == '"' || (in[i] == '\'' && !after_word)) return literal_end(in, i);
    blank_ = false;
    return i + 1;
  }

  size_t leave_at(const std::string& in, size_t i, const std::string& end) {
    const size_t at = in.find(end, i);
    if (at == std::string::npos) return in.size();
    inside_ = Inside::kCode;
    return at + end.size();
  }

  static size_t literal_end(const std::string& in, size_t i) {
    const char quote = in[i];
    for (++i; i < in.size() && in[i] != quote; ++i) {
      if (in[i] == '\\') ++i;
    }
    return std::min(i + 1, in.size());
  }

  Inside inside_ = Inside::kCode;
  std::string raw_end_;
  bool blank_ = false;
};

bool starts_with_word(const std::string& text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || !is_word(text[word.size()]));
}

std::string last_word(const std::string& text) {
  size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin);
}

std::string without_template(const std::string& head) {
  if (!starts_with_word(head, "template")) return head;
  int depth = 0;
  for (size_t i = head.find('<'); i < head.size(); ++i) {
    if (head[i] == '<') ++depth;
    if (head[i] == '>' && --depth == 0) return without_template(trimmed(head.substr(i + 1)));
  }
  return head;
}

enum class Brace { kScope, kFunction, kValue };

// A constructor's `: a_{1}` opens a brace that is not its body.
bool is_member_initializer(const std::string& head) {
  size_t i = head.find(')');
  for (; i < head.size(); ++i) {
    if (head[i] == ':' && head[i - 1] != ':' && (i + 1 == head.size() || head[i + 1] != ':')) break;
  }
  if (i >= head.size()) return false;
  constexpr std::array kBeforeBody = {"const", "noexcept", "override", "final", ""};
  const std::string last = last_word(head);
  const bool before_body =
      std::find(kBeforeBody.begin(), kBeforeBody.end(), last) != kBeforeBody.end();
  return head.back() == '>' || !before_body;
}

// What a brace opens, judged by the text between it and the statement before.
Brace judge(const std::string& raw_head) {
  const std::string head = without_template(raw_head);
  for (const char* word : {"namespace", "inline namespace", "class", "struct", "union", "enum",
                           "extern", "typedef struct"}) {
    if (starts_with_word(head, word)) return Brace::kScope;
  }
  const auto opened = std::count(head.begin(), head.end(), '(');
  const auto closed = std::count(head.begin(), head.end(), ')');
  if (opened == 0 || opened != closed || head.back() == '=') return Brace::kValue;
  return is_member_initializer(head) ? Brace::kValue : Brace::kFunction;
}

std::string name_of(const std::string& head) {
  const std::string plain = without_template(head);
  size_t open = plain.find('(');
  size_t begin = open;
  const auto in_name = [](char c) { return is_word(c) || c == ':' || c == '~'; };
  while (begin > 0 && in_name(plain[begin - 1])) --begin;
  if (plain.compare(begin, 4, "TEST") == 0) open = plain.find(')') + 1;
  std::string name = plain.substr(begin, open - begin);
  std::erase(name, ' ');
  return name.empty() ? "operator" : name;
}

// Follows braces through a file. Outside functions it gathers the head of whatever comes next.
class FunctionFinder {
 public:
  void take(char c, int line) {
    line_ = line;
    if (in_function_or_value_ > 0) return take_inside(c);
    const std::string head = trimmed(head_);
    if (c == '{') return open(head);
    if (c == '}' || c == ';') {
      head_.clear();
    } else if (c == ':' && (head == "public" || head == "private" || head == "protected")) {
      head_.clear();
    } else {
      if (head.empty() && c != ' ') head_line_ = line;
      head_ += c;
    }
  }

  std::vector<Function> found;

 private:
  void open(const std::string& head) {
    kind_ = head.empty() ? Brace::kValue : judge(head);
    if (kind_ == Brace::kScope) {
      head_.clear();
    } else {
      in_function_or_value_ = 1;
    }
  }

  void take_inside(char c) {
    if (c == '{') ++in_function_or_value_;
    if (c != '}' || --in_function_or_value_ > 0) return;
    if (kind_ == Brace::kFunction) {
      found.push_back({name_of(trimmed(head_)), head_line_, line_ - head_line_ + 1});
      head_.clear();
    } else {
      head_ += "{}";
    }
  }

  std::string head_;
  int head_line_ = 0;
  int line_ = 0;
  int in_function_or_value_ = 0;
  Brace kind_ = Brace::kScope;
};

}  // namespace

std::vector<std::string> code_only(const std::vector<std::string>& lines) {
  Blanker blanker;
  std::vector<std::string> code;
  for (const std::string& line : lines) code.push_back(blanker.line(line));
  return code;
}

std::vector<Function> functions(const std::vector<std::string>& code) {
  FunctionFinder finder;
  bool directive = false;
  for (size_t i = 0; i < code.size(); ++i) {
    directive = directive || trimmed(code[i]).starts_with('#');
    if (!directive) {
      for (const char c : code[i] + " ") finder.take(c, static_cast<int>(i) + 1);
    }
    directive = directive && !code[i].empty() && code[i].back() == '\\';
  }
  return finder.found;
}

}  // namespace tidy

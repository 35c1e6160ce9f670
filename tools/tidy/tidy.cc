#include "tidy.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "local_names.h"
#include "project_includes.h"
#include "scan.h"
#include "std_includes.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines read_lines(const fs::path& path) {
  std::ifstream in(path);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Lines split(const std::string& text, char separator) {
  Lines parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

// One line of rules.txt: code|text ; words ; only in ; except in ; why.
struct Rule {
  bool in_comments;
  Lines words, only_in, except_in;
  std::string why;

  bool applies_to(const std::string& path) const {
    const auto within = [&](const std::string& part) {
      return path.find(part) != std::string::npos;
    };
    return (only_in.empty() || std::any_of(only_in.begin(), only_in.end(), within)) &&
           std::none_of(except_in.begin(), except_in.end(), within);
  }
};

// A word matches whole: `exit(` is found neither in `on_exit(` nor in the member `loop.exit(`.
bool contains_word(const std::string& line, const std::string& word) {
  for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool member = before == '.' || (at > 1 && line.compare(at - 2, 2, "->") == 0);
    const size_t end = at + word.size();
    const bool longer = is_word(word.back()) && end < line.size() && is_word(line[end]);
    if (!is_word(before) && !member && !longer) return true;
  }
  return false;
}

class Checker {
 public:
  explicit Checker(fs::path root) : root_(std::move(root)) {}

  std::vector<Finding> run() {
    read_rules();
    read_ratchet();
    for (const std::string& path : sources()) check_file(path);
    const auto seen = rooms_seen(read_lines(root_ / "CMakeLists.txt"));
    local_names_.set_rooms(seen);
    project_includes_.set_rooms(seen);
    for (const Finding& f : local_names_.findings()) findings_.push_back(f);
    for (const Finding& f : std_includes_.findings()) findings_.push_back(f);
    for (const Finding& f : project_includes_.findings()) findings_.push_back(f);
    check_rooms();
    check_ratchet_needed();
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.path, a.line) < std::tie(b.path, b.line);
    });
    return findings_;
  }

 private:
  void report(const std::string& path, int line, const std::string& message) {
    findings_.push_back({path, line, message});
  }

  void read_rules() {
    const Lines lines = read_lines(root_ / kRules);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].empty() || lines[i][0] == '#') continue;
      const Lines parts = split(lines[i], ';');
      if (parts.size() != 5 || (parts[0] != "code" && parts[0] != "text")) {
        report(kRules, static_cast<int>(i) + 1,
               "a rule is `code or text; words; only in; except in; why`");
        continue;
      }
      rules_.push_back({parts[0] == "text", split(parts[1], ','), split(parts[2], ','),
                        split(parts[3], ','), parts[4]});
    }
    if (rules_.empty()) report(kRules, 1, "there are no rules");
  }

  void read_ratchet() {
    const Lines lines = read_lines(root_ / kRatchet);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::istringstream in(lines[i]);
      Exception exception{0, static_cast<int>(i) + 1, false};
      std::string name;
      if (!(in >> name) || name[0] == '#') continue;
      if (in >> exception.lines) {
        ratchet_[name] = exception;
      } else {
        report(kRatchet, exception.at, "an exception is `path lines` or `path:function lines`");
      }
    }
  }

  Lines sources() const {
    Lines paths = {"CMakeLists.txt"};
    for (const char* folder :
         {"apps", "bench", "bindings", "cmake", "fuzz", "src", "tests", "tools"}) {
      if (!fs::is_directory(root_ / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root_ / folder)) {
        const std::string path = entry.path().lexically_relative(root_).string();
        const bool cmake = path.ends_with(".cmake") || path.ends_with("CMakeLists.txt");
        if (cmake || path.ends_with(".h") || path.ends_with(".cc")) paths.push_back(path);
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void check_file(const std::string& path) {
    const Lines lines = read_lines(root_ / path);
    check_layout(path, lines);
    const bool header = path.ends_with(".h");
    if (!header && !path.ends_with(".cc")) return;
    const Lines code = code_only(lines);
    check_words(path, lines, code);
    std_includes_.add(path, lines, code);
    project_includes_.add(path, lines, code);
    check_size(path, 1, path, "this file", static_cast<int>(lines.size()), kMaxFileLines);
    for (const Function& f : functions(code)) {
      check_size(path, f.first_line, path + ":" + f.name, f.name, f.lines, kMaxFunctionLines);
    }
    if (header) check_header(path, lines);
    if (!includes_itself(lines)) local_names_.add(path, code);
    if (path.ends_with("_test.cc") && !is_registered(path)) {
      report(path, 1,
             "no test program takes this file; move it to src/<room>, apps/weft or tests/");
    }
  }

  void check_layout(const std::string& path, const Lines& lines) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      const int number = static_cast<int>(i) + 1;
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not inside a UTF-8 sequence
      });
      if (columns > kMaxColumns) {
        report(path, number,
               std::to_string(columns) + " columns; the limit is " + std::to_string(kMaxColumns));
      }
      if (line.find('\t') != std::string::npos) report(path, number, "a tab; indent with spaces");
      if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
        report(path, number, "space at the end of the line");
      }
      if (line.starts_with("#include \"..")) {
        report(path, number, "an include with .. goes around the room's view; name the room");
      }
    }
  }

  void check_words(const std::string& path, const Lines& lines, const Lines& code) {
    for (const Rule& rule : rules_) {
      if (!rule.applies_to(path)) continue;
      for (size_t i = 0; i < lines.size(); ++i) {
        const bool include = lines[i].starts_with("#include");
        const std::string& line = rule.in_comments || include ? lines[i] : code[i];
        for (const std::string& word : rule.words) {
          if (contains_word(line, word)) {
            report(path, static_cast<int>(i) + 1, "`" + word + "` is banned here: " + rule.why);
          }
        }
      }
    }
  }

  // `key` names the thing in ratchet.txt, `name` in the message.
  void check_size(const std::string& path, int line, const std::string& key,
                  const std::string& name, int lines, int limit) {
    if (lines <= limit) return;
    const auto exception = ratchet_.find(key);
    const int allowed = exception == ratchet_.end() ? limit : exception->second.lines;
    if (exception != ratchet_.end()) exception->second.needed = true;
    if (lines > allowed) {
      report(path, line,
             name + " has " + std::to_string(lines) + " lines; the limit is " +
                 std::to_string(allowed));
    }
  }

  void check_header(const std::string& path, const Lines& lines) {
    if (lines.empty() || !lines[0].starts_with("//")) {
      report(path, 1, "a header starts with a comment that says what it is for");
    }
    if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
      report(path, 1, "no #pragma once");
    }
  }

  // Highway compiles such a source once for each kind of processor, and it stays alone.
  static bool includes_itself(const Lines& lines) {
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("foreach_target.h") != std::string::npos;
    });
  }

  static bool is_registered(const std::string& path) {
    const auto folders = std::count(path.begin(), path.end(), '/');
    return path.starts_with("src/") || path.starts_with("apps/weft/") ||
           path.starts_with("bindings/") || path.starts_with("tools/tidy/") ||
           (path.starts_with("tests/") && folders == 1) ||
           (path.starts_with("tests/live/") && folders == 2);
  }

  void check_rooms() {
    if (!fs::is_directory(root_ / "src")) return;
    const Lines lists = read_lines(root_ / "CMakeLists.txt");
    for (const auto& entry : fs::directory_iterator(root_ / "src")) {
      if (!entry.is_directory() || fs::is_empty(entry.path())) continue;
      const std::string room = entry.path().filename().string();
      const std::string readme = "src/" + room + "/README.md";
      if (read_lines(root_ / readme).size() < kMinReadmeLines) {
        report(readme, 1,
               "a room has a README.md of at least " + std::to_string(kMinReadmeLines) + " lines");
      }
      if (std::none_of(lists.begin(), lists.end(), [&](const std::string& line) {
            return contains_word(line, "room(" + room);
          })) {
        report("CMakeLists.txt", 1, "src/" + room + " is not declared as a room");
      }
    }
  }

  void check_ratchet_needed() {
    for (const auto& [name, exception] : ratchet_) {
      if (!exception.needed) {
        report(kRatchet, exception.at,
               "the exception for " + name + " is no longer needed; delete it");
      }
    }
  }

  struct Exception {
    int lines;
    int at;  // line in ratchet.txt
    bool needed;
  };

  static constexpr const char* kRules = "tools/tidy/rules.txt";
  static constexpr const char* kRatchet = "tools/tidy/ratchet.txt";

  fs::path root_;
  std::vector<Rule> rules_;
  std::map<std::string, Exception> ratchet_;
  LocalNames local_names_;
  StdIncludes std_includes_;
  ProjectIncludes project_includes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check(const fs::path& root) { return Checker(root).run(); }

}  // namespace tidy

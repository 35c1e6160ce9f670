#include "live/job/sbatch_headers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/delimited.h"

namespace weft::live {
namespace {

constexpr auto kRead = SbatchUse::kRead;
constexpr auto kIgnored = SbatchUse::kIgnored;
constexpr auto kRefused = SbatchUse::kRefused;

constexpr std::string_view kLogs = "output is kept for `weft logs`";
constexpr std::string_view kNoMail = "no mail is sent";
constexpr std::string_view kPlaces = "say what is needed with --gres, --mem or topology in YAML";

constexpr std::array<SbatchOption, 52> kOptions = {{
    {"job-name", 'J', true, kRead, ""},
    {"nodes", 'N', true, kRead, ""},
    {"ntasks", 'n', true, kRead, ""},
    {"ntasks-per-node", '\0', true, kRead, ""},
    {"gres", '\0', true, kRead, ""},
    {"gpus", 'G', true, kRead, ""},
    {"gpus-per-node", '\0', true, kRead, ""},
    {"gpus-per-task", '\0', true, kRead, ""},
    {"cpus-per-task", 'c', true, kRead, ""},
    {"mem", '\0', true, kRead, ""},
    {"mem-per-cpu", '\0', true, kRead, ""},
    {"mem-per-gpu", '\0', true, kRead, ""},
    {"time", 't', true, kRead, ""},
    {"partition", 'p', true, kRead, ""},
    {"nice", '\0', true, kRead, ""},
    {"priority", '\0', true, kRead, ""},
    {"array", 'a', true, kRead, ""},
    {"dependency", 'd', true, kRead, ""},
    {"requeue", '\0', false, kRead, ""},
    {"no-requeue", '\0', false, kRead, ""},
    {"signal", '\0', true, kRead, ""},
    {"export", '\0', true, kRead, ""},
    {"chdir", 'D', true, kRead, ""},
    {"output", 'o', true, kIgnored, kLogs},
    {"error", 'e', true, kIgnored, kLogs},
    {"open-mode", '\0', true, kIgnored, kLogs},
    {"mail-type", '\0', true, kIgnored, kNoMail},
    {"mail-user", '\0', true, kIgnored, kNoMail},
    {"account", 'A', true, kIgnored, "usage is counted by user and queue"},
    {"qos", 'q', true, kIgnored, "use --partition (queue) and --priority"},
    {"comment", '\0', true, kIgnored, "it has no effect"},
    {"verbose", 'v', false, kIgnored, "it has no effect"},
    {"quiet", 'Q', false, kIgnored, "it has no effect"},
    {"parsable", '\0', false, kIgnored, "use `weft submit --json`"},
    {"wait", 'W', false, kIgnored, "use `weft submit --wait`"},
    {"kill-on-invalid-dep", '\0', true, kIgnored, "a job that can never start is ended"},
    {"get-user-env", '\0', false, kIgnored, "write needed variables with --export"},
    {"begin", 'b', true, kRefused, "submit it when it may start"},
    {"deadline", '\0', true, kRefused, "use `deadline` in YAML"},
    {"constraint", 'C', true, kRefused, kPlaces},
    {"nodelist", 'w', true, kRefused, kPlaces},
    {"exclude", 'x', true, kRefused, "bad nodes are drained with `weft nodes drain`"},
    {"exclusive", '\0', false, kRefused, "ask for all devices of a node"},
    {"oversubscribe", 's', false, kRefused, "use `share` in YAML"},
    {"reservation", '\0', true, kRefused, "reservations are made with `weft nodes`"},
    {"licenses", 'L', true, kRefused, "licenses are not counted"},
    {"switches", '\0', true, kRefused, "use `topology` in YAML"},
    {"ntasks-per-socket", '\0', true, kRefused, "use --ntasks-per-node"},
    {"ntasks-per-gpu", '\0', true, kRefused, "use --ntasks-per-node"},
    {"hold", 'H', false, kRefused, "submit it when it may start"},
    {"time-min", '\0', true, kRefused, "use --time"},
    {"wrap", '\0', true, kRefused, "write the command into the script"},
}};

constexpr bool all_filled() {
  for (const SbatchOption& option : kOptions) {
    if (option.name.empty()) return false;
  }
  return true;
}
static_assert(all_filled());

// Words of a line; quotes hold blanks together, and a '#' at the start of a word ends the line.
std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (blank) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else if (c == '#' && !inside) {
      return words;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

const SbatchOption* find_letter(char letter) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(), [letter](const auto& option) {
    return option.letter != '\0' && option.letter == letter;
  });
  return found == kOptions.end() ? nullptr : &*found;
}

class Scanner {
 public:
  void read_line(long line, std::string_view text) {
    const std::vector<std::string> words = split_words(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const bool is_long = word.starts_with("--");
      if (!word.starts_with('-') || word.size() < (is_long ? 3 : 2)) {
        complain(line, fmt::format("#SBATCH has {} where an option should be", shown(word)));
        return;
      }
      const std::size_t equals = is_long ? word.find('=') : std::string::npos;
      const std::string name =
          is_long ? word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2)
                  : word.substr(1, 1);
      const SbatchOption* const option =
          is_long ? find_sbatch_option(name) : find_letter(name.front());
      SbatchHeader header{line, option == nullptr ? name : std::string(option->name), ""};
      bool has_value = equals != std::string::npos;
      if (has_value) header.value = word.substr(equals + 1);
      if (!is_long && word.size() > 2) {
        header.value = word.substr(2);
        has_value = true;
      }
      const bool wants = option == nullptr ? !has_value && next_is_value(words, i)
                                           : option->takes_value && !has_value;
      if (wants && next_is_value(words, i)) {
        header.value = words[++i];
      } else if (wants) {
        complain(line, fmt::format("--{} needs a value", header.name));
        continue;
      }
      out.headers.push_back(std::move(header));
    }
  }

  SbatchScript out;

 private:
  static bool next_is_value(const std::vector<std::string>& words, std::size_t i) {
    return i + 1 < words.size() && !(words[i + 1].starts_with("--") && words[i + 1].size() > 2);
  }
  void complain(long line, std::string what) { out.complaints.emplace_back(line, std::move(what)); }
};

}  // namespace

const SbatchOption* find_sbatch_option(std::string_view name) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(),
                                  [name](const auto& option) { return option.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

std::vector<std::string> sbatch_option_names() {
  std::vector<std::string> names;
  for (const SbatchOption& option : kOptions) names.emplace_back(option.name);
  return names;
}

SbatchScript scan_sbatch(std::string_view text) {
  constexpr std::string_view kMark = "#SBATCH";
  Scanner scanner;
  bool& below = scanner.out.has_command;
  long line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    const std::string_view bare = trimmed(content);
    if (!bare.empty() && !bare.starts_with('#')) below = true;
    if (!content.starts_with(kMark)) continue;
    const std::string_view rest = content.substr(kMark.size());
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t' && rest.front() != '\r') {
      continue;  // a comment such as #SBATCHES
    }
    if (!below) {
      scanner.read_line(line, rest);
    } else {
      scanner.out.warnings.emplace_back(line, "#SBATCH below the first command has no effect");
    }
  }
  return std::move(scanner.out);
}

}  // namespace weft::live

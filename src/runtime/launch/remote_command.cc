#include "runtime/launch/remote_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>

#include "base/child.h"
#include "base/delimited.h"
#include "runtime/launch/child_process.h"

namespace weft::runtime {

std::string shell_quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Way ssh_to(const std::string& host) {
  return {{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ServerAliveInterval=5",
           "-o", "ServerAliveCountMax=3", "-T", "--", host},
          true};
}

Way via_to(const std::string& via, const std::string& host) {
  Way way{{}, false};
  for (std::string_view rest = via; !(rest = trimmed(rest)).empty();) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    std::string word(rest.substr(0, end));
    rest.remove_prefix(end);
    constexpr std::string_view kHole = "{host}";
    for (std::size_t at = word.find(kHole); at != std::string::npos;
         at = word.find(kHole, at + host.size())) {
      word.replace(at, kHole.size(), host);
    }
    way.words.push_back(std::move(word));
  }
  CHECK(!way.words.empty());
  const std::string& program = way.words[0];
  way.joins_words = program == "ssh" || program.ends_with("/ssh");
  return way;
}

std::vector<std::string> over(const Way& way, const std::string& script) {
  std::vector<std::string> words = way.words;
  if (way.joins_words) {
    words.push_back("exec sh -c " + shell_quoted(script));
  } else {
    words.insert(words.end(), {"sh", "-c", script});
  }
  return words;
}

std::string rank_script(const Variables& defaults, const Variables& variables,
                        const std::string& folder, const std::vector<std::string>& command) {
  std::string exports;
  for (const auto& [name, value] : defaults) {
    exports += fmt::format("export {0}=\"${{{0}:-{1}}}\"\n", name, value);
  }
  for (const auto& [name, value] : variables) {
    exports += fmt::format("export {}={}\n", name, shell_quoted(value));
  }
  std::string words;
  for (const std::string& word : command) words += " " + shell_quoted(word);
  // A background command reads /dev/null unless told otherwise, hence descriptor 3. What is left of
  // the group when the rank has ended may use up the grace time if the rank was asked to leave, as
  // on our own host. The reader of signals is killed, because its input may stay open.
  return fmt::format(
      "umask 077\n"
      "weft_dir=$(mktemp -d \"${{TMPDIR:-/tmp}}/weft-rank-XXXXXX\") || exit 126\n"
      "trap 'rm -rf \"$weft_dir\"' EXIT\n"
      "IFS= read -r weft_secret && printf '%s\\n' \"$weft_secret\" >\"$weft_dir/secret\" || exit "
      "126\n"
      "unset weft_secret\n"
      "cd {} || exit 126\n"
      "{}"
      "export WEFT_SECRET_FILE=\"$weft_dir/secret\"\n"
      "exec 3<&0 </dev/null\n"
      "setsid{} 3<&- &\n"
      "weft_rank=$!\n"
      "while read -r weft_signal; do\n"
      "  case $weft_signal in\n"
      "    KILL) kill -s KILL -- -$weft_rank ;;\n"
      "    TERM) : >\"$weft_dir/leaving\"; kill -s TERM $weft_rank ;;\n"
      "    *) kill -s \"$weft_signal\" $weft_rank ;;\n"
      "  esac\n"
      "done <&3 >/dev/null 2>&1 &\n"
      "weft_reader=$!\n"
      "exec 3<&-\n"
      "wait $weft_rank\n"
      "weft_code=$?\n"
      "if [ -e \"$weft_dir/leaving\" ]; then\n"
      "  kill -s TERM -- -$weft_rank 2>/dev/null\n"
      "  while kill -s 0 -- -$weft_rank 2>/dev/null; do sleep 0.1; done\n"
      "fi\n"
      "kill -s KILL -- -$weft_rank 2>/dev/null\n"
      "kill $weft_reader 2>/dev/null\n"
      "exit $weft_code\n",
      shell_quoted(folder), exports, words);
}

Status check_reachable(const std::vector<std::pair<std::string, Way>>& hosts, Seconds deadline_s) {
  std::vector<std::future<std::string>> answers;
  for (const auto& [name, way] : hosts) {
    answers.push_back(std::async(std::launch::async, [&name, &way, deadline_s]() -> std::string {
      std::vector<std::string> words = over(way, "exec true");
      const Result<std::string> program = find_program(words[0]);
      if (!program.ok()) return fmt::format("host {}: {}", name, program.error().what);
      words[0] = *program;
      const Result<ChildEnd> end = run_child(words, deadline_s);
      if (!end.ok()) return fmt::format("host {}: {}", name, end.error().what);
      if (end->timed_out) {
        return fmt::format("host {} did not answer within {:g} s", name, deadline_s);
      }
      if (end->code == 0) return "";
      return fmt::format("host {} cannot be reached: {} ended with exit code {}", name,
                         way.words[0], end->code);
    }));
  }
  Complaints complaints;
  for (std::future<std::string>& answer : answers) {
    if (std::string sentence = answer.get(); !sentence.empty()) complaints.add(std::move(sentence));
  }
  if (complaints.empty()) return {};
  return complaints.error("try `ssh HOST true` by hand; ssh must need no password");
}

}  // namespace weft::runtime

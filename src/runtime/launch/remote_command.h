// How a rank is started on another host: a program such as ssh that runs a shell there, and what
// that shell is told. The secret and signals travel on its standard input, never in a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/launch/environment.h"

namespace weft::runtime {

// One word of a POSIX shell, whatever it holds but NUL.
std::string shell_quoted(std::string_view word);

// The words that lead to a host: ssh, or the words of --via with {host} replaced.
struct Way {
  std::vector<std::string> words;
  // ssh hands its words to a shell as one line; others pass them on as they are.
  bool joins_words = true;
};
Way ssh_to(const std::string& host);
// Words are separated by blanks; {host} may stand anywhere in them. A program named ssh joins
// words. Requires: `via` holds a word.
Way via_to(const std::string& via, const std::string& host);

// The command that runs `script` in a shell at the end of the way.
std::vector<std::string> over(const Way& way, const std::string& script);

// A script that reads the secret (a line), keeps it in a private file for as long as the rank runs,
// runs `command` in `folder` with the variables, in a process group of its own, and passes on
// signals whose names come as further lines (TERM, USR1, KILL). Its exit code is the rank's. The
// end of its input changes nothing: a rank outlives its launcher.
std::string rank_script(const Variables& defaults, const Variables& variables,
                        const std::string& folder, const std::vector<std::string>& command);

// Asks every host at the same time whether a shell can be started there. The error names each host
// that did not answer within the deadline.
Status check_reachable(const std::vector<std::pair<std::string, Way>>& hosts, Seconds deadline_s);

}  // namespace weft::runtime

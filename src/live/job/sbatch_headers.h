// The #SBATCH lines of a script, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::live {

// One option: "--nodes=2", "--nodes 2", "-N 2" and "-N2" are all {"nodes", "2"}.
struct SbatchHeader {
  long line = 0;
  std::string name;   // without dashes, long form; as written if it is not known
  std::string value;  // empty without one
};

// How an option is treated.
enum class SbatchUse : unsigned char {
  kRead,     // has its field
  kIgnored,  // does not change what runs: read with a warning
  kRefused,  // would change what runs, and has no field
  kUnknown,
};

struct SbatchOption {
  std::string_view name;
  char letter;       // short form; '\0': none
  bool takes_value;  // else a bare switch
  SbatchUse use;
  std::string_view note;  // of an ignored or refused one: what to do instead
};

// Null for an unknown name.
const SbatchOption* find_sbatch_option(std::string_view name);
std::vector<std::string> sbatch_option_names();

struct SbatchScript {
  std::vector<SbatchHeader> headers;
  std::vector<std::pair<long, std::string>> complaints;  // by line
  std::vector<std::pair<long, std::string>> warnings;
  bool has_command = false;  // a line that is neither blank nor a comment
};

// Reads headers up to the first line that is neither blank nor a comment, as sbatch does
// (sbatch(1), the description of directives); those below it have no effect and are warned of.
SbatchScript scan_sbatch(std::string_view text);

}  // namespace weft::live

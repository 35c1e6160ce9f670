// The program: the command line, and whether its output arrived.
#include <cstdio>
#include <map>

#include "command_line.h"
#include "verb.h"

int main(int argc, char** argv) {
  const int code = weft::run_command_line(argc, argv);
  // A full disk or a closed output shows here at the latest; results must not vanish unsaid.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("weft: standard output could not be written\n", stderr);
  return code == weft::kExitDone ? weft::kExitBadInput : code;
}

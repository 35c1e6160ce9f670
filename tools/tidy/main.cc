// tidy [ROOT]: prints one line for each breach of style; exit code 1 when there is any.

#include <exception>
#include <iostream>

#include "tidy.h"

int main(int argc, char** argv) try {
  const auto findings = tidy::check(argc > 1 ? argv[1] : ".");
  for (const tidy::Finding& finding : findings) {
    std::cout << finding.path << ':' << finding.line << ": " << finding.message << '\n';
  }
  std::cout << (findings.empty() ? "tidy: nothing to mend\n" : "") << std::flush;
  return findings.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "tidy: " << error.what() << '\n';
  return 2;
}

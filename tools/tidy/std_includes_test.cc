#include "std_includes.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <sstream>

#include "scan.h"

namespace tidy {
namespace {

struct FileText {
  const char* path;
  const char* text;
};

struct IncludeCase {
  const char* sentence;
  std::vector<FileText> files;
  const char* want;  // `path:line std::name <header>` lines
};

// Keeps of each message what a table can hold in a line.
std::string missing_in(const std::vector<FileText>& files) {
  StdIncludes checked;
  for (const FileText& file : files) {
    std::vector<std::string> lines;
    std::istringstream in(file.text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    checked.add(file.path, lines, code_only(lines));
  }
  std::string found;
  for (const Finding& f : checked.findings()) {
    std::istringstream in(f.message);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    found += f.path + ":" + std::to_string(f.line) + " " + words.at(0) + " " +
             words.at(2).substr(0, words.at(2).find(',')) + "\n";
  }
  return found;
}

const IncludeCase kIncludeCases[] = {
    {"a header of its own",
     {{"src/a/a.cc", "#include <algorithm>\nint x = std::max(1, 2);\n"}},
     ""},
    {"no header at all",
     {{"src/a/a.cc", "\nint x = std::max(1, 2);\n"}},
     "src/a/a.cc:2 std::max <algorithm>\n"},
    {"another header of the standard library",
     {{"src/a/a.cc", "#include <vector>\nint x = std::max(1, 2);\n"}},
     "src/a/a.cc:2 std::max <algorithm>\n"},
    {"each header once, at its first name",
     {{"src/a/a.cc", "int x = std::max(1, std::min(2, 3));\nstd::int64_t y;\n"}},
     "src/a/a.cc:1 std::max <algorithm>\nsrc/a/a.cc:2 std::int64_t <cstdint>\n"},
    {"a header through a room's header",
     {{"src/a/a.h", "#include <string>\n"}, {"src/a/a.cc", "#include \"a/a.h\"\nstd::string x;\n"}},
     ""},
    {"a header through two",
     {{"src/a/a.h", "#include <string>\n"},
      {"src/b/b.h", "#include \"a/a.h\"\n"},
      {"src/b/b.cc", "#include \"b/b.h\"\nstd::string x;\n"}},
     ""},
    {"headers that include each other",
     {{"src/a/a.h", "#include \"a/b.h\"\nstd::string x;\n"},
      {"src/a/b.h", "#include \"a/a.h\"\n#include <string>\n"}},
     ""},
    {"a header of the same folder",
     {{"apps/weft/a.h", "#include <map>\n"},
      {"apps/weft/a.cc", "#include \"a.h\"\nstd::map<int, int> x;\n"}},
     ""},
    {"a header below the root",
     {{"tests/a.h", "#include <map>\n"},
      {"tests/live/a.cc", "#include \"tests/a.h\"\nstd::map<int, int> x;\n"}},
     ""},
    {"a header that the project does not have",
     {{"src/a/a.cc", "#include \"torch/all.h\"\nstd::map<int, int> x;\n"}},
     "src/a/a.cc:2 std::map <map>\n"},
    {"a header is judged too",
     {{"src/a/a.h", "std::uint8_t x();\n"}},
     "src/a/a.h:1 std::uint8_t <cstdint>\n"},
    {"either of two headers",
     {{"src/a/a.cc", "#include <cstdlib>\nint x = std::abs(-1);\n"},
      {"src/a/b.cc", "#include <cmath>\nint x = std::abs(-1);\n"},
      {"src/a/c.cc", "int x = std::abs(-1);\n"}},
     "src/a/c.cc:1 std::abs <cmath>\n"},
    {"a namespace of the library",
     {{"src/a/a.cc", "namespace fs = std::filesystem;\n"}},
     "src/a/a.cc:1 std::filesystem <filesystem>\n"},
    {"a name that most headers declare", {{"src/a/a.cc", "std::size_t x; f(std::move(x));\n"}}, ""},
    {"a name of another namespace", {{"src/a/a.cc", "mystd::max(1, 2); std::max_of(1);\n"}}, ""},
    {"a name of fmt that has moved",
     {{"src/a/a.cc", "#include <fmt/format.h>\nauto x = fmt::join(y, z);\n"},
      {"src/a/b.cc", "#include <fmt/ranges.h>\nauto x = fmt::join(y, z);\n"}},
     "src/a/a.cc:2 fmt::join <fmt/ranges.h>\n"},
    {"a comment and a literal",
     {{"src/a/a.cc", "// std::max\nauto x = \"std::max\";\nauto y = R\"(\n#include <map>\n)\";\n"}},
     ""},
    {"an include in a literal",
     {{"src/a/a.cc", "auto y = R\"(\n#include <map>\n)\";\nstd::map<int, int> x;\n"}},
     "src/a/a.cc:4 std::map <map>\n"},
};

TEST(StdIncludes, FindsNamesWhoseHeaderIsMissing) {
  for (const IncludeCase& row : kIncludeCases)
    EXPECT_EQ(missing_in(row.files), row.want) << row.sentence;
}

}  // namespace
}  // namespace tidy

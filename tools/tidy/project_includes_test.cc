#include "project_includes.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scan.h"

namespace tidy {
namespace {

struct ProjectFile {
  const char* path;
  const char* text;
};

struct ProjectCase {
  const char* sentence;
  const char* source;  // of src/b/b.cc
  const char* want;    // names that are not included
};

// A header with a type, a constant and functions; another that includes it; and one apart.
constexpr ProjectFile kHeaders[] = {
    {"src/a/a.h",
     "namespace weft {\nstruct Link { int size; };\nconstexpr int kMost = 3;\nint "
     "width(Link);\n}\n"},
    {"src/a/more.h", "#include \"a/a.h\"\n"},
    {"src/c/far.h", "namespace weft {\nclass Far {};\n}\n"},
    {"src/a/other.h", "namespace weft {\nclass Node {};\nint width_of(const Node& node);\n}\n"},
};

std::string not_included(const char* source) {
  ProjectIncludes checked;
  checked.set_rooms({{"src/a/", {}}, {"src/b/", {"src/a/"}}, {"src/c/", {}}});
  const auto add = [&](const ProjectFile& file) {
    std::vector<std::string> lines;
    std::istringstream in(file.text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    checked.add(file.path, lines, code_only(lines));
  };
  for (const ProjectFile& file : kHeaders) add(file);
  add({"src/b/b.cc", source});
  std::string names;
  for (const Finding& f : checked.findings()) {
    EXPECT_EQ(f.path, "src/b/b.cc");
    names += f.message.substr(1, f.message.find('\'', 1) - 1) + " ";
  }
  return names;
}

TEST(ProjectIncludes, NamesNeedTheirHeader) {
  const ProjectCase table[] = {
      {"a type without its header", "namespace weft {\nLink link;\n}\n", "Link "},
      {"a type with its header", "#include \"a/a.h\"\nLink link;\n", ""},
      {"a header that comes through another", "#include \"a/more.h\"\nLink link;\n", ""},
      {"another header than the one that is needed", "#include \"a/other.h\"\nLink link;\n",
       "Link "},
      {"a constant", "int x = kMost;\n", "kMost "},
      {"a constant of the same name in the file", "constexpr int kMost = 4;\nint x = kMost;\n", ""},
      {"a pointer of that name in the file", "const char* kMost = 0;\nauto x = kMost;\n", ""},
      {"a product", "int x = 2 * kMost;\n", "kMost "},
      {"a function", "int x() { return width_of(y); }\n", "width_of "},
      {"a member of that name", "int x() { return y.width_of(3) + z->width_of(4); }\n", ""},
      {"a function of that name in the file", "int width_of(int x);\nint y = width_of(3);\n", ""},
      {"a type of that name in the file", "struct Link {};\nLink link;\n", ""},
      {"a forward declaration", "struct Link;\nLink* link;\n", ""},
      {"a name with its namespace", "weft::Node x;\n", "Node "},
      {"a member type of that name", "Graph::Node x;\n", ""},
      {"a type of a room that this one does not see", "Far far;\n", ""},
      {"a name of another library", "int x = other::width_of(3);\n", ""},
      {"words in comments and texts", "// Link\nauto text = \"Node kMost\";\n", ""},
      {"the name of a test", "TEST(Link, Works) {}\n", ""},
  };
  for (const ProjectCase& row : table)
    EXPECT_EQ(not_included(row.source), row.want) << row.sentence;
}

}  // namespace
}  // namespace tidy

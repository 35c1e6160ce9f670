#include "tidy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "local_names.h"
#include "scan.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGoodHeader = "// Orders jobs.\n#pragma once\n\nint key();\n";

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// A project in a scratch folder that keeps every rule until a test plants something in it.
class TidyTest : public testing::Test {
 protected:
  TidyTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / ("tidy_" + std::to_string(getpid()) + test->name());
    lay_clean_project();
  }
  ~TidyTest() override { fs::remove_all(root_); }

  void lay_clean_project() const {
    fs::remove_all(root_);
    plant("CMakeLists.txt", "room(base)\nroom(policy SEES base)\n");
    plant("src/base/README.md", "# base\n\nOne room.\n");
    plant("src/policy/README.md", "# policy\n\nAnother room.\n");
    plant("src/policy/key.h", kGoodHeader);
    plant("tools/tidy/ratchet.txt", "");
    plant("tools/tidy/rules.txt",
          "# comment\n"
          "code; steady_clock, exit(; ; src/base/; ask base\n"
          "code; using namespace; .h; ; it spreads\n"
          "text; UNDONE; ; ; finish it\n");
  }

  void plant(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  // All findings as `path:line: message` lines.
  std::string findings() const {
    std::string text;
    for (const Finding& f : check(root_)) {
      text += f.path + ":" + std::to_string(f.line) + ": " + f.message + "\n";
    }
    return text;
  }

  fs::path root_;
};

TEST_F(TidyTest, SaysNothingOfACleanProject) { EXPECT_EQ(findings(), ""); }

struct Breach {
  const char* sentence;
  const char* path;
  std::string text;
  const char* want;  // empty: allowed
};

const Breach kBreaches[] = {
    {"a clock in a room without one", "src/policy/a.cc", "\nauto t = std::steady_clock::now();\n",
     "src/policy/a.cc:2: `steady_clock` is banned here: ask base\n"},
    {"the same clock in base", "src/base/a.cc", "auto t = std::steady_clock::now();\n", ""},
    {"a clock in a comment", "src/policy/a.cc", "// no steady_clock\n/* exit( */\n", ""},
    {"a clock in a string", "src/policy/a.cc", "auto s = \"steady_clock\";\n", ""},
    {"a clock after a digit separator", "src/policy/a.cc", "int n = 1'000; steady_clock c;\n",
     "src/policy/a.cc:1: `steady_clock` is banned here: ask base\n"},
    {"a clock after a raw string", "src/policy/a.cc", "f(R\"x(\" // )x\", steady_clock{});\n",
     "src/policy/a.cc:1: `steady_clock` is banned here: ask base\n"},
    {"a qualified exit", "src/policy/a.cc", "#include <cstdlib>\nvoid f() { std::exit(1); }\n",
     "src/policy/a.cc:2: `exit(` is banned here: ask base\n"},
    {"a longer name", "src/policy/a.cc", "void on_exit(); int steady_clocks;\n", ""},
    {"a member", "src/policy/a.cc", "void f() { loop.exit(); loop->exit(); }\n", ""},
    {"using namespace in a header", "src/policy/a.h",
     std::string(kGoodHeader) + "using namespace std;\n",
     "src/policy/a.h:5: `using namespace` is banned here: it spreads\n"},
    {"using namespace in a source", "src/policy/a.cc", "using namespace std;\n", ""},
    {"unfinished work in a comment", "tests/a.cc", "// UNDONE: all\n",
     "tests/a.cc:1: `UNDONE` is banned here: finish it\n"},
    {"a tab", "bench/a.cc", "\tint x;\n", "bench/a.cc:1: a tab; indent with spaces\n"},
    {"a trailing space", "cmake/a.cmake", "set(x) \n",
     "cmake/a.cmake:1: space at the end of the line\n"},
    {"101 columns", "src/policy/a.cc", std::string(101, 'x') + "\n",
     "src/policy/a.cc:1: 101 columns; the limit is 100\n"},
    {"100 columns of two bytes each", "src/policy/a.cc", "//" + repeated("é", 98) + "\n", ""},
    {"an include around the view", "src/policy/a.cc", "#include \"../base/x.h\"\n",
     "src/policy/a.cc:1: an include with .. goes around the room's view; name the room\n"},
    {"a standard header that comes by accident", "src/policy/a.cc",
     "#include \"policy/key.h\"\n#include <vector>\nint f() { return std::max(1, 2); }\n",
     "src/policy/a.cc:3: std::max needs <algorithm>, which neither this file nor a project header "
     "that it includes names\n"},
    {"a header without a guard", "src/policy/a.h", "// Orders.\n",
     "src/policy/a.h:1: no #pragma once\n"},
    {"a header without a word", "src/policy/a.h", "#pragma once\n",
     "src/policy/a.h:1: a header starts with a comment that says what it is for\n"},
    {"a test that nothing builds", "tests/deep/a_test.cc", "int x;\n",
     "tests/deep/a_test.cc:1: no test program takes this file; move it to src/<room>, apps/weft "
     "or tests/\n"},
    {"a test with real processes", "tests/live/a_test.cc", "int x;\n", ""},
    {"a room without a README", "src/base/README.md", "# base\n",
     "src/base/README.md:1: a room has a README.md of at least 3 lines\n"},
    {"a folder that is no room", "src/pol/README.md", "# pol\n\nA room?\n",
     "CMakeLists.txt:1: src/pol is not declared as a room\n"},
};

TEST_F(TidyTest, FindsEachPlantedBreachOnItsLine) {
  for (const Breach& breach : kBreaches) {
    lay_clean_project();
    plant(breach.path, breach.text);
    EXPECT_EQ(findings(), breach.want) << breach.sentence;
  }
}

TEST_F(TidyTest, RefusesRulesItCannotRead) {
  plant("tools/tidy/rules.txt", "code; goto\ncode; goto; ; ; why\n");
  EXPECT_EQ(findings(),
            "tools/tidy/rules.txt:1: a rule is `code or text; words; only in; "
            "except in; why`\n");
  plant("tools/tidy/rules.txt", "");
  EXPECT_EQ(findings(), "tools/tidy/rules.txt:1: there are no rules\n");
  lay_clean_project();
  plant("tools/tidy/ratchet.txt", "src/policy/key.h many\n");
  EXPECT_EQ(findings(),
            "tools/tidy/ratchet.txt:1: an exception is `path lines` or "
            "`path:function lines`\n");
}

TEST_F(TidyTest, RatchetsTheLengthOfFiles) {
  const std::string ratchet = "tools/tidy/ratchet.txt";
  plant("src/base/long.cc", repeated("int x;\n", 400));
  EXPECT_EQ(findings(), "");
  plant("src/base/long.cc", repeated("int x;\n", 401));
  EXPECT_EQ(findings(), "src/base/long.cc:1: this file has 401 lines; the limit is 400\n");
  plant(ratchet, "src/base/long.cc 401\n");
  EXPECT_EQ(findings(), "");
  plant("src/base/long.cc", repeated("int x;\n", 402));
  EXPECT_EQ(findings(), "src/base/long.cc:1: this file has 402 lines; the limit is 401\n");
  plant("src/base/long.cc", "int x;\n");
  EXPECT_EQ(findings(),
            ratchet + ":1: the exception for src/base/long.cc is no longer needed; delete it\n");
}

TEST_F(TidyTest, RatchetsTheLengthOfFunctions) {
  plant("src/base/long.cc", "int f() {\n" + repeated("  g();\n", 59) + "}\n");
  EXPECT_EQ(findings(), "src/base/long.cc:1: f has 61 lines; the limit is 60\n");
  plant("tools/tidy/ratchet.txt", "src/base/long.cc:f 61\n");
  EXPECT_EQ(findings(), "");
}

// A source beside one that has `Json`, `f` and `kA` in its anonymous namespace.
struct Encounter {
  const char* sentence;
  const char *path, *text;
  const char* want;  // empty: allowed
};

const Encounter kEncounters[] = {
    {"another function", "src/policy/b.cc", "namespace {\nint g() {}\n}\n", ""},
    {"an overload in another source", "src/policy/b.cc", "namespace {\n\nint f() {}\n}\n",
     "src/policy/b.cc:3: 'f' is also local to src/policy/a.cc; targets are compiled several "
     "sources at a time\n"},
    {"in a folder of the room", "src/policy/deep/b.cc", "namespace {\nstruct f {};\n}\n",
     "src/policy/deep/b.cc:2: 'f' is also local to src/policy/a.cc; targets are compiled several "
     "sources at a time\n"},
    {"the same alias", "src/policy/b.cc", "namespace {\nusing Json = a::Json;\n}\n", ""},
    {"another alias of that name", "src/policy/b.cc", "namespace {\nusing Json = b::Json;\n}\n",
     "src/policy/b.cc:2: 'Json' is also local to src/policy/a.cc; targets are compiled several "
     "sources at a time\n"},
    {"another room", "src/base/b.cc", "namespace {\nint f() {}\n}\n", ""},
    {"a test of the room", "src/policy/b_test.cc", "namespace {\nint f() {}\n}\n", ""},
    {"a name of a header of the room", "src/policy/b.cc",
     "namespace weft {\nnamespace {\nint key() {}\n}\n}\n",
     "src/policy/b.cc:3: 'key' is also declared in src/policy/key.h; targets are compiled "
     "several "
     "sources at a time\n"},
    {"a name of a room that is seen", "src/policy/b.cc",
     "namespace weft {\nnamespace {\nint low() {}\n}\n}\n",
     "src/policy/b.cc:3: 'low' is also declared in src/base/low.h; targets are compiled several "
     "sources at a time\n"},
    {"a name of a room that is not seen", "src/base/b.cc",
     "namespace weft {\nnamespace {\nint key() {}\n}\n}\n", ""},
    {"a name of another namespace", "src/policy/b.cc",
     "namespace weft::deep {\nnamespace {\nint key() {}\n}\n}\n", ""},
    {"a type in a function", "src/policy/b.cc", "void g() {\n  struct f {};\n}\n",
     "src/policy/b.cc:2: 'f' would hide that of src/policy/a.cc; targets are compiled several "
     "sources at a time\n"},
    {"a constant in a function", "src/policy/b.cc", "void g() {\n  constexpr int kA = 1;\n}\n",
     "src/policy/b.cc:2: 'kA' would hide that of src/policy/a.cc; targets are compiled several "
     "sources at a time\n"},
    {"a type in a class", "src/policy/b.cc", "class B {\n  struct f {};\n};\n", ""},
    {"using namespace", "src/policy/b.cc", "namespace weft {\nusing namespace a;\n}\n",
     "src/policy/b.cc:2: `using namespace` reaches into the next source of the target; name what "
     "is used\n"},
    {"using namespace in a function", "src/policy/b.cc",
     "namespace weft {\nvoid g() { using namespace a; }\n}\n", ""},
    {"literals", "src/policy/b.cc", "namespace weft {\nusing namespace std::literals;\n}\n", ""},
    {"a source that is never compiled with others", "src/policy/b.cc",
     "#include <hwy/foreach_target.h>\nnamespace {\nint f() {}\n}\n", ""},
};

TEST_F(TidyTest, WantsLocalNamesUniqueInTheirTarget) {
  for (const Encounter& row : kEncounters) {
    lay_clean_project();
    plant(
        "src/policy/a.cc",
        "namespace {\nusing Json = a::Json;\nint f(int) { return 1; }\nint f(long) { return 2; }\n"
        "constexpr int kA = 1;\n}\n");
    plant("src/policy/key.h", "// Orders.\n#pragma once\nnamespace weft {\nint key();\n}\n");
    plant("src/base/low.h", "// Low.\n#pragma once\nnamespace weft {\nint low();\n}\n");
    plant(row.path, row.text);
    EXPECT_EQ(findings(), row.want) << row.sentence;
  }
}

std::vector<std::string> code_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return code_only(lines);
}

TEST(TidyScan, FindsLocalNames) {
  struct Row {
    const char* sentence;
    const char* text;  // inside an anonymous namespace
    const char* want;
  };
  const Row rows[] = {
      {"types", "struct A { int b; };\nenum class C { kD };\nclass E;\n", "A C E "},
      {"functions", "int f(int a) { return a; }\nstd::vector<int> g();\n", "f g "},
      {"a template", "template <typename T, int N>\nT f(T t) { return t; }\n", "f "},
      {"a specialisation", "template <>\nstruct A<int> {};\n", ""},
      {"a default argument in braces", "int f(A a = {}, B b = [] {}) {}\nint g;\n", "f g "},
      {"an attribute", "[[maybe_unused]] int f() {}\n", "f "},
      {"several constants", "constexpr double kA = 1, kB = 2 * (kA + 1), kC = 3;\n", "kA kB kC "},
      {"a table", "const Row kRows[] = {\n  {1, f(2)},\n};\nint x{3};\n", "kRows x "},
      {"a comparison", "constexpr bool kA = 1 < 2, kB = kA;\n", "kA kB "},
      {"aliases", "using A = b::A;\nusing b::C;\nnamespace d = e::d;\n", "A C d "},
      {"members of a class", "void A::f() {}\n", ""},
      {"operators and tests", "bool operator==(A, A) {}\nTEST(A, B) { int x; }\n", ""},
      {"parameters of tests", "INSTANTIATE_TEST_SUITE_P(A, B, Values(C{1}, C{2}));\n", ""},
      {"a promise", "static_assert(sizeof(int) == 4);\n", ""},
      {"a namespace with a name", "}\nnamespace a {\nint f() {}\n", ""},
      {"one inside another", "int f() {}\nnamespace a {\nint g() {}\n}\nint h() {}\n", "f h "},
  };
  for (const Row& row : rows) {
    std::string names;
    for (const DeclaredName& one :
         declared_names(code_of("namespace {\n" + std::string(row.text) + "}\nint outside;\n"))) {
      if (one.local) names += one.name + " ";
    }
    EXPECT_EQ(names, row.want) << row.sentence;
  }
}

// Writes each function as `name first+lines`.
std::string found_in(const std::string& text) {
  std::string names;
  for (const Function& f : functions(code_of(text))) {
    names += f.name + " " + std::to_string(f.first_line) + "+" + std::to_string(f.lines) + "\n";
  }
  return names;
}

TEST(TidyScan, FindsFunctions) {
  struct Row {
    const char* sentence;
    const char* text;
    const char* want;
  };
  const Row rows[] = {
      {"a plain function", "int f() {\n  return 1;\n}\n", "f 1+3\n"},
      {"a head of two lines", "Result<int>\nf(int a) const {\n}\n", "f 1+3\n"},
      {"a member in a class in a namespace",
       "namespace a {\nclass B : C {\n public:\n  int d() {\n  }\n};\n}\n", "d 4+2\n"},
      {"a template", "template <class T>\nvoid f(T t) {}\n", "f 1+2\n"},
      {"a constructor with braces before its body", "A::A(int x) : a_{x}, b_{} {\n  f();\n}\n",
       "A::A 1+3\n"},
      {"a default argument in braces", "void f(Options o = {}) {\n}\n", "f 1+2\n"},
      {"nested blocks and lambdas are one function",
       "void f() {\n  if (x) { g([] { return 1; }); }\n}\nvoid h() {}\n", "f 1+3\nh 4+1\n"},
      {"a table is no function", "const Row kRows[] = {\n  {1, f(2)},\n};\n", ""},
      {"a table of test parameters is no function",
       "INSTANTIATE_TEST_SUITE_P(A, B, testing::Values(\n  Row{1},\n  Row{2}));\n", ""},
      {"a test has its full name", "TEST(Trace, Reads) {\n}\n", "TEST(Trace,Reads) 1+2\n"},
      {"braces in literals and comments", "void f() {\n  g('{', \"{\");  // {\n}\nint h() {}\n",
       "f 1+3\nh 4+1\n"},
      {"a macro is skipped", "#define A(x) \\\n  do { \\\n  }\nvoid f() {}\n", "f 4+1\n"},
      {"an operator", "bool operator()(int a) const {\n}\n", "operator 1+2\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(found_in(row.text), row.want) << row.sentence;
}

}  // namespace
}  // namespace tidy

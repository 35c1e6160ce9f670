// Runs a fuzz target without libFuzzer: every file of the corpus folders, then seeded mutations of
// them. The same seed gives the same inputs. An input that crashes the target is saved to
// fuzz-failure.bin in the working folder; `<target> --runs 0 fuzz-failure.bin` repeats it.
//
//   <target> [--runs N] [--seed S] FOLDER_OR_FILE...

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr size_t kMaxBytes = 1 << 16;
constexpr int kCaught[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS};
constexpr const char* kFailureFile = "fuzz-failure.bin";

// What the target is running now, for the signal handler.
const uint8_t* running_data = nullptr;
size_t running_size = 0;

// Calls only what POSIX allows in a handler.
extern "C" void save_running_input(int number) {
  const int file = open(kFailureFile, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    constexpr char kSaved[] = "the input was saved to fuzz-failure.bin\n";
    if (write(file, running_data, running_size) >= 0) {
      [[maybe_unused]] const auto written = write(STDERR_FILENO, kSaved, sizeof kSaved - 1);
    }
    close(file);
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run_one(const Bytes& input) {
  running_data = input.data();
  running_size = input.size();
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Ensures: nothing for a path that does not exist; the files in order of their path, so that the
// seed alone decides what is run.
std::vector<Bytes> read_corpus(const std::vector<std::string>& roots) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& root : roots) {
    if (std::filesystem::is_regular_file(root)) paths.emplace_back(root);
    if (!std::filesystem::is_directory(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) corpus.push_back(read_file(path));
  return corpus;
}

// Values at which readers of text and numbers tend to break.
const std::vector<std::string>& nasty_words() {
  static const std::vector<std::string> words = {"nan",
                                                 "-inf",
                                                 "1e999",
                                                 "-1",
                                                 "0",
                                                 "9223372036854775808",
                                                 "18446744073709551616",
                                                 ",",
                                                 "\n",
                                                 "\r\n",
                                                 "\"",
                                                 "{",
                                                 "]",
                                                 ": ",
                                                 "- ",
                                                 "&a *a",
                                                 "\\u",
                                                 "\xff",
                                                 "\t",
                                                 "\xef\xbb\xbf",
                                                 "0x10",
                                                 "1e-",
                                                 "~",
                                                 "null",
                                                 "#",
                                                 "|",
                                                 "'"};
  return words;
}

void mutate_once(Bytes& input, const std::vector<Bytes>& corpus, Random& random) {
  const size_t at = below(random, input.size() + 1);
  const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
  const size_t rest = input.size() - at;
  const size_t length = below(random, std::min<size_t>(rest, 64) + 1);
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  switch (below(random, 7)) {
    case 0:
      if (rest > 0) *begin ^= static_cast<uint8_t>(1U << below(random, 8));
      break;
    case 1:
      input.insert(begin, static_cast<uint8_t>(random()));
      break;
    case 2:
      input.erase(begin, end);
      break;
    case 3: {  // doubles a piece
      const Bytes piece(begin, end);
      input.insert(begin, piece.begin(), piece.end());
      break;
    }
    case 4: {
      const std::string& word = nasty_words()[below(random, nasty_words().size())];
      const auto place = below(random, 2) == 0 ? begin : input.erase(begin, end);
      input.insert(place, word.begin(), word.end());
      break;
    }
    case 5:  // a file cut short
      input.resize(at);
      break;
    default: {  // crosses with another file
      const Bytes& other = corpus[below(random, corpus.size())];
      const size_t from = below(random, other.size() + 1);
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }
  if (input.size() > kMaxBytes) input.resize(kMaxBytes);
}

struct Options {
  uint64_t runs = 2000;
  uint64_t seed = 1;
  std::vector<std::string> roots;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const bool is_runs = std::strcmp(argv[i], "--runs") == 0;
    if (is_runs || std::strcmp(argv[i], "--seed") == 0) {
      if (++i == argc) return false;
      (is_runs ? options.runs : options.seed) = std::strtoull(argv[i], nullptr, 10);
    } else if (argv[i][0] == '-') {
      return false;
    } else {
      options.roots.emplace_back(argv[i]);
    }
  }
  return !options.roots.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--runs N] [--seed S] FOLDER_OR_FILE...\n", argv[0]);
    return 2;
  }
  std::vector<Bytes> corpus = read_corpus(options.roots);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no file in %s\n", argv[0], options.roots[0].c_str());
    return 2;
  }
  // Printed first, so that it stands above whatever a crash prints.
  std::fprintf(stderr, "%zu files, %llu mutations, --seed %llu\n", corpus.size(),
               static_cast<unsigned long long>(options.runs),
               static_cast<unsigned long long>(options.seed));
  for (const int number : kCaught) std::signal(number, save_running_input);
  for (const Bytes& input : corpus) run_one(input);
  Random random(options.seed);
  for (uint64_t run = 0; run < options.runs; ++run) {
    Bytes input = corpus[below(random, corpus.size())];
    for (size_t left = 1 + below(random, 6); left > 0; --left) mutate_once(input, corpus, random);
    run_one(input);
  }
  // What fails from here on (a leak found at the end) is the fault of no single input.
  for (const int number : kCaught) std::signal(number, SIG_DFL);
  return 0;
}

// A rank that counts steps with others which come and go, for tests of jobs that are resized in
// place. After each step it appends `PROCESS RANK SIZE STEP EPOCH` to the file named first. It
// leaves on SIGTERM after the step, and ends with all others when the file named second is there.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/files.h"
#include "runtime/group.h"

namespace {

using weft::runtime::DataType;
using weft::runtime::Group;
using weft::runtime::ReduceOp;

constexpr double kReform_s = 20;
constexpr double kCall_s = 20;
constexpr auto kStep = std::chrono::milliseconds(20);

volatile sig_atomic_t leaves = 0;

void ask_to_leave(int) { leaves = 1; }

// What the ranks said together at the end of a step.
struct Said {
  double joiners = 0, leaving = 0, ending = 0;
};

// False: the group is broken.
bool take_step(Group& group, bool leaving, const std::string& end_file, double& step, Said& said) {
  double newest = step;
  Said mine{static_cast<double>(group.joiners()), leaving ? 1.0 : 0.0,
            weft::is_file(end_file) ? 1.0 : 0.0};
  weft::runtime::CallOptions call;
  call.deadline_s = kCall_s;
  if (!group.all_reduce_now(&newest, 1, DataType::kFloat64, ReduceOp::kMax, call).ok()) {
    return false;
  }
  if (!group.all_reduce_now(&mine, 3, DataType::kFloat64, ReduceOp::kSum, call).ok()) return false;
  step = newest + 1;
  said = mine;
  return true;
}

void write_line(const char* path, const Group& group, double step) {
  const char* epoch = getenv("WEFT_JOB_EPOCH");
  FILE* out = fopen(path, "a");
  if (out == nullptr) return;
  // One write for a line: others write to the same file.
  std::fprintf(out, "%d %d %d %.0f %s\n", static_cast<int>(getpid()), group.rank(), group.size(),
               step, epoch != nullptr ? epoch : "0");
  std::fclose(out);
}

int run(const char* lines, const char* end_file) {
  const auto options = weft::runtime::GroupOptions::from_environment();
  auto group = options.ok() ? Group::start(*options) : options.error();
  if (!group.ok()) {
    std::fprintf(stderr, "%s\n", group.error().text().c_str());
    return 1;
  }
  for (double step = 0; true;) {
    Said said;
    const bool leaving = leaves != 0;
    const bool well = take_step(**group, leaving, end_file, step, said);
    if (well) write_line(lines, **group, step);
    if (well && said.ending > 0) break;
    if (well && said.leaving > 0) {
      static_cast<void>((*group)->barrier_now());  // a goodbye ends what others have under way
      if (leaving) break;
    }
    if (!well || said.leaving > 0 || said.joiners > 0) {
      const auto formed = (*group)->reform(kReform_s);
      if (!formed.ok()) {
        std::fprintf(stderr, "%s\n", formed.error().text().c_str());
        return 1;
      }
    }
    std::this_thread::sleep_for(kStep);
  }
  (*group)->leave();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  signal(SIGTERM, ask_to_leave);
  return run(argv[1], argv[2]);
}

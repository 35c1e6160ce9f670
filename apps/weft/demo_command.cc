#include "demo_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/child.h"
#include "base/files.h"
#include "base/stopwatch.h"
#include "base/wrap.h"
#include "demo_report.h"
#include "option_checks.h"
#include "rank_processes.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct DemoArguments {
  std::string report = "demo-report.html", folder;
  bool json = false;
  std::uint64_t seed = 0;  // 0: another each time
  std::size_t equal = 0;   // runs of fifo instead of one of each kind
};

Status check_python() {
  const std::string program = own_program();
  const auto tried =
      run_child({"env", "PYTHONPATH=" + program.substr(0, program.rfind('/')) + "/python",
                 "/usr/bin/python3", "-W", "ignore", "-c", "import weft.torch"},
                60);
  if (tried.ok() && tried->code == 0) return {};
  return Error{ErrorKind::kUnsupported, "the demo's jobs need PyTorch and Weft's back end for it",
               "`./dev demo` installs and builds both"};
}

// Jobs as they stand, redrawn in place on a terminal, else a line now and then.
class LiveTable {
 public:
  LiveTable(std::string run, bool quiet)
      : run_(std::move(run)), terminal_(isatty(STDERR_FILENO) == 1), quiet_(quiet) {}

  void show(const Json& jobs, Seconds now) {
    if (quiet_ && !terminal_) return;
    if (!terminal_) return say_changes(jobs, now);
    if (lines_ > 0) fmt::print(stderr, "\033[{}A", lines_);
    lines_ = jobs.size() + 1;
    fmt::print(stderr, "\033[K{}: {:.0f} s\n", run_, now);
    for (const Json& job : jobs) {
      std::string nodes;
      for (const Json& node : job.at("nodes")) {
        nodes += (nodes.empty() ? "" : ",") + node.get<std::string>();
      }
      fmt::print(stderr, "\033[K  {:<10} {:<9} {:<28} batch {:>4.0f}  loss {:>6.3f}  {}\n",
                 job.at("name").get<std::string>(), job.at("state").get<std::string>(), nodes,
                 job.at("step").get<double>(), job.at("loss").get<double>(),
                 job.at("way").get<std::string>());
    }
  }

 private:
  void say_changes(const Json& jobs, Seconds now) {
    for (const Json& job : jobs) {
      const std::string name = job.at("name"), state = job.at("state");
      std::string& before = states_[name];
      if (before == state) continue;
      before = state;
      fmt::print(stderr, "{} {:>5.1f} s  {:<10} {}\n", run_, now, name, state);
    }
  }

  std::string run_;
  bool terminal_, quiet_;
  std::size_t lines_ = 0;
  std::map<std::string, std::string> states_;
};

Result<DemoSummary> run_styles(const DemoArguments& a, const std::string& folder) {
  DemoSummary summary;
  const std::int64_t begin = monotonic_ns();
  const auto passed_s = [&] { return 1e-9 * static_cast<double>(monotonic_ns() - begin); };
  summary.park = demo_park(std::thread::hardware_concurrency(), geteuid() == 0);
  if (!summary.park.shaped) {
    fmt::print(stderr,
               "weft demo: without root links are not shaped and processors not divided: only "
               "Weft's own runtime is paced, and plain jobs run on it too\n");
  }
  summary.seed = a.seed != 0 ? a.seed : static_cast<std::uint64_t>(monotonic_ns()) % 1'000'000;
  fmt::print(stderr, "the moments at which ranks die have seed {}\n", summary.seed);
  Calibration calibration;
  const std::size_t runs = a.equal > 0 ? a.equal : demo_styles().size();
  for (std::size_t i = 0; i < runs; ++i) {
    const DemoStyle& style = demo_styles()[a.equal > 0 ? 0 : i];
    const std::string place =
        path_in(folder, a.equal > 0 ? fmt::format("{}-{}", style.name, i + 1) : style.name);
    auto cluster = DemoCluster::start(place, summary.park, style.policy);
    if (!cluster.ok()) return cluster.error();
    if (summary.runs.empty()) {
      fmt::print(stderr, "measuring the models on four nodes …\n");
      auto measured = demo_calibrate(**cluster, summary.park, place);
      if (!measured.ok()) return measured.error();
      calibration = std::move(*measured);
      fmt::print(stderr, "measured in {:.0f} s\n", passed_s());
    }
    LiveTable table(style.name, a.json);
    auto run = demo_run(**cluster, style, summary.park, calibration, place,
                        summary.seed + (a.equal > 0 ? 0 : i),
                        [&](const Json& jobs, Seconds now) { table.show(jobs, now); });
    if (!run.ok()) return run.error();
    summary.runs.push_back(std::move(*run));
  }
  summary.took = passed_s();
  return summary;
}

int run_demo(const DemoArguments& a) {
  if (const Status s = check_python(); !s.ok()) return report_error("demo", s.error());
  std::error_code ignored;
  std::string folder = a.folder;
  if (folder.empty()) {
    folder = (std::filesystem::temp_directory_path(ignored) / "weft-demo-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
      return report_error(
          "demo", {ErrorKind::kIo, "no temporary folder could be made", "is TMPDIR writable?"});
    }
  }
  const auto summary = run_styles(a, folder);
  if (!summary.ok()) {
    fmt::print(stderr, "weft demo: what there is of it is in {}\n", folder);
    return report_error("demo", summary.error());
  }
  if (a.folder.empty()) std::filesystem::remove_all(folder, ignored);
  if (const Status s = write_file_atomically(a.report, demo_page(*summary)); !s.ok()) {
    return report_error("demo", s.error());
  }
  if (a.json) {
    fmt::print("{}\n", demo_json(*summary).dump());
  } else {
    fmt::print("{}\n{}\nreport: {}\n", demo_table(*summary),
               wrapped(demo_verdict(*summary), kPageColumns), a.report);
  }
  return summary->all_well() ? kExitDone : kExitNo;
}

}  // namespace

Verb add_demo_command(CLI::App& app) {
  const auto a = std::make_shared<DemoArguments>();
  CLI::App* verb = app.add_subcommand(
      "demo", "train eight small jobs here under fifo and under Weft, predicted and measured");
  verb->add_option("--report", a->report, "HTML page to write (demo-report.html)");
  verb->add_option("--dir", a->folder, "keep stores and logs in this folder");
  verb->add_flag("--json", a->json, "print JSON");
  verb->add_option("--seed", a->seed, "of the moments at which ranks die (another each time)")
      ->check(whole_number_from(0, 1'000'000));
  verb->add_option("--equal-runs", a->equal,
                   "run fifo so many times alike instead, and print how far its times spread")
      ->check(whole_number_from(2, 20));
  verb->footer(
      "Takes about five minutes. As root, nodes have networks of their own and fixed shares of "
      "the\n"
      "processors; without root fewer things hold, and the demo says which.");
  return {verb, [a] { return run_demo(*a); }};
}

}  // namespace weft

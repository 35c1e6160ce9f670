#include "simgrid_peer.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/child.h"
#include "base/files.h"

namespace weft {
namespace {

// At this size it completes a handful of flows per second; what is larger would only use memory.
constexpr std::uint32_t kMostSimgridHosts = 16384;

Error absent(std::string what, std::string hint = "") {
  return {ErrorKind::kUnsupported, std::move(what), std::move(hint)};
}

}  // namespace

double simgrid_deadline_s(const SimgridTask& task) { return 20 + 10 * task.seconds; }

Result<LoadSpeed> measure_simgrid(const SimgridTask& task) {
  if (std::max(task.hosts, task.flows) > kMostSimgridHosts) {
    return absent(fmt::format("not run above {} hosts or flows, where it does not get far",
                              kMostSimgridHosts));
  }
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string program = failed ? "" : (self.parent_path() / "simgrid_flows").string();
  if (!is_file(program)) {
    return absent("its program simgrid_flows is not beside this one",
                  "install libsimgrid-dev, then configure and build everything (./dev bench does)");
  }
  const double deadline_s = simgrid_deadline_s(task);
  const auto end = run_child(
      {program, task.pattern, fmt::format("{}", task.hosts), fmt::format("{}", task.flows),
       fmt::format("{}", task.seed), "speed", fmt::format("{}", task.seconds)},
      deadline_s);
  if (!end.ok()) return end.error();
  if (end->timed_out) return absent(fmt::format("it did not end within {:.0f} s", deadline_s));
  if (end->code != 0) return absent(fmt::format("it failed with exit code {}", end->code));
  const auto json = nlohmann::json::parse(end->out, nullptr, /*allow_exceptions=*/false);
  LoadSpeed speed;
  if (json.is_object()) {
    speed.completions_per_cpu_s = json.value("completions_per_cpu_s", 0.0);
    speed.completions = json.value("completions", std::uint64_t{0});
    speed.peak_rss_bytes = json.value("peak_rss_bytes", std::int64_t{0});
  }
  if (speed.completions == 0) return absent("it completed no flow in its time");
  return speed;
}

}  // namespace weft

#include "live/agent/control_groups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "live/agent/system_file.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;

constexpr std::array kControllers = {"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer"};
constexpr const char* kAgentLeaf = "weft-agent";

// One write(), as the kernel wants it, with its error.
Status put(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int number = errno;
  if (file >= 0) close(file);
  if (written) return {};
  return Error{ErrorKind::kIo, fmt::format("'{}' to {}: {}", text, path, std::strerror(number)),
               ""};
}

// What it is in must be there: where no hierarchy is mounted, ordinary folders in its place would
// look like groups and limit nothing.
Status make_group_folder(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (is_folder(path)) return {};
  return Error{ErrorKind::kIo, fmt::format("cannot make {}: {}", path, error.message()), ""};
}

bool has_word(const std::string& list, const std::string& word, char separator) {
  std::istringstream words(list);
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

// A group of version 1 for processors has none until it is told.
Status inherit_cpuset(const std::string& folder) {
  for (const char* name : {"cpuset.mems", "cpuset.cpus"}) {
    const std::string above = content_of(folder_of(folder) + "/" + name);
    if (content_of(folder + "/" + name).size() > 1) continue;
    if (Status done = put(folder + "/" + name, above.substr(0, above.find('\n'))); !done.ok()) {
      return done;
    }
  }
  return {};
}

// Groups of version 2 share out controllers only while no process sits in them; the agent moves
// aside into a leaf.
Status share_out(const std::string& folder, const std::string& controller) {
  const std::string path = folder + "/cgroup.subtree_control";
  if (has_word(content_of(path), controller, ' ')) return {};
  if (put(path, "+" + controller).ok()) return {};
  if (Status made = make_group_folder(folder + "/" + kAgentLeaf); !made.ok()) return made;
  if (Status moved = put(folder + "/" + kAgentLeaf + "/cgroup.procs", "0"); !moved.ok()) {
    return moved;
  }
  return put(path, "+" + controller);
}

// Of version 2, where nothing needs to be enabled for it.
bool is_in_every_group(const std::string& controller) {
  return controller == "freezer" || controller == "traffic";
}

// A group for a controller, ready to have groups below it if `inner`.
Status make_group(const std::string& path, const std::string& controller, bool unified,
                  bool inner) {
  if (Status made = make_group_folder(path); !made.ok()) return made;
  if (!unified) return controller == "cpuset" ? inherit_cpuset(path) : Status{};
  if (is_in_every_group(controller) || !inner) return {};
  return share_out(path, controller);
}

// The kernel takes no quota below 1 ms; short periods keep a rank's pauses short.
Status put_quota(const std::string& folder, bool unified, int milli) {
  const long period_us = milli > 0 && milli < 50 ? 100'000 : 20'000;
  const long quota_us = std::max(1000L, milli * period_us / 1000);
  if (unified) {
    return put(folder + "/cpu.max", milli > 0 ? fmt::format("{} {}", quota_us, period_us)
                                              : fmt::format("max {}", period_us));
  }
  // Without a quota in between, so that no moment has both an old quota and a new period.
  if (Status off = put(folder + "/cpu.cfs_quota_us", "-1"); !off.ok()) return off;
  if (Status set = put(folder + "/cpu.cfs_period_us", std::to_string(period_us)); !set.ok()) {
    return set;
  }
  return milli > 0 ? put(folder + "/cpu.cfs_quota_us", std::to_string(quota_us)) : Status{};
}

Status put_weight(const std::string& folder, bool unified, int milli) {
  if (milli <= 0) return {};
  if (unified) {
    return put(folder + "/cpu.weight", std::to_string(std::clamp(milli / 10, 1, 10'000)));
  }
  return put(folder + "/cpu.shares", std::to_string(std::max(2, milli * 1024 / 1000)));
}

Status put_memory(const std::string& folder, bool unified, Bytes memory) {
  if (unified) {
    if (Status set = put(folder + "/memory.max", memory > 0 ? std::to_string(memory) : "max");
        !set.ok()) {
      return set;
    }
    return put(folder + "/memory.oom.group", "1");
  }
  return put(folder + "/memory.limit_in_bytes", memory > 0 ? std::to_string(memory) : "-1");
}

Status put_kept_memory(const std::string& folder, bool unified, Bytes memory) {
  if (unified) return put(folder + "/memory.low", std::to_string(memory));
  return put(folder + "/memory.soft_limit_in_bytes", memory > 0 ? std::to_string(memory) : "-1");
}

std::vector<pid_t> members_of(const std::string& folder) {
  std::vector<pid_t> members;
  std::ifstream in(folder + "/cgroup.procs");
  for (pid_t process = 0; in >> process;) members.push_back(process);
  return members;
}

}  // namespace

std::map<std::string, GroupBase> find_group_bases(const std::string& mounts,
                                                  const std::string& own_groups) {
  std::map<std::string, std::string> own;  // by controller; "" for version 2
  std::istringstream groups(own_groups);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    if (path.ends_with(std::string("/") + kAgentLeaf)) path = folder_of(path);
    std::istringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    do {
      name.clear();
      std::getline(names, name, ',');
      own[name] = path == "/" ? "" : path;
    } while (names.good());
  }
  std::map<std::string, GroupBase> bases;
  std::string unified;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, folder, type, options;
    words >> device >> folder >> type >> options;
    if (type == "cgroup2" && own.contains("")) unified = folder + own[""];
    if (type != "cgroup") continue;
    for (const char* controller : kControllers) {
      if (!has_word(options, controller, ',') || !own.contains(controller)) continue;
      bases.emplace(controller, GroupBase{folder + own[controller], false});
    }
  }
  if (unified.empty()) return bases;
  std::string offered = content_of(unified + "/cgroup.controllers");
  std::erase(offered, '\n');
  for (const char* controller : {"cpu", "cpuset", "memory"}) {
    if (has_word(offered, controller, ' ')) bases.emplace(controller, GroupBase{unified, true});
  }
  if (bases.contains("cpu") && bases["cpu"].unified) bases["cpuacct"] = {unified, true};
  bases.emplace("freezer", GroupBase{unified, true});  // every group of version 2 can freeze
  bases.emplace("traffic", GroupBase{unified, true});  // and have its packets marked
  return bases;
}

ControlGroups ControlGroups::open(const std::map<std::string, GroupBase>& bases,
                                  const std::string& node, const GroupLimits& limits,
                                  std::vector<std::string>& notes) {
  ControlGroups groups;
  groups.cpu_milli_ = limits.cpu_milli;
  // All ranks together weigh as much as the machine has processors, so that each competes with
  // what else runs here like any process.
  GroupLimits whole = limits;
  whole.weight_milli = 1000 * std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const auto& [controller, base] : bases) {
    const bool counted = controller == "cpuacct" && base.unified;  // part of cpu
    Status made = base.unified && !is_in_every_group(controller) && !counted
                      ? share_out(base.folder, controller)
                      : Status{};
    const std::string above = base.folder + "/weft";
    if (made.ok()) {
      made = make_group(above, counted ? "cpu" : controller, base.unified, true);
    }
    if (made.ok()) {
      made = make_group(above + "/" + node, counted ? "cpu" : controller, base.unified, true);
    }
    if (made.ok()) {
      groups.node_[controller] = {above + "/" + node, base.unified};
      made = groups.limit({{controller, above + "/" + node}}, whole);
    }
    if (made.ok() && controller == "cpu") {
      made = put_weight(above, base.unified, whole.weight_milli);
    }
    if (!made.ok()) {
      groups.node_.erase(controller);
      notes.push_back(
          fmt::format("control group {} is not used: {}", controller, made.error().what));
    }
  }
  return groups;
}

std::vector<std::string> ControlGroups::can() const {
  std::vector<std::string> can;
  if (has("cpuset")) can.push_back("cpuset");
  if (has("cpu")) can.insert(can.end(), {"quota", "weight"});
  if (has("memory")) can.push_back("memory");
  if (has("devices")) can.push_back("devices");
  return can;
}

Status ControlGroups::limit(const std::map<std::string, std::string>& folders,
                            const GroupLimits& limits) const {
  for (const auto& [controller, folder] : folders) {
    const bool unified = node_.at(controller).unified;
    Status set;
    if (controller == "cpu") {
      // A group of version 1 must not have more than the one above it.
      const int most = cpu_milli_ > 0 ? std::min(limits.cpu_milli, cpu_milli_) : limits.cpu_milli;
      set = put_quota(folder, unified, most);
      if (set.ok()) set = put_weight(folder, unified, limits.weight_milli);
    } else if (controller == "cpuset" && !limits.cpus.empty()) {
      set = put(folder + "/cpuset.cpus", fmt::format("{}", fmt::join(limits.cpus, ",")));
    } else if (controller == "memory") {
      set = put_memory(folder, unified, limits.memory);
      if (set.ok() && limits.kept_memory > 0) {
        set = put_kept_memory(folder, unified, limits.kept_memory);
      }
    } else if (controller == "devices") {
      for (const auto& [major, minor] : limits.denied) {
        set = put(folder + "/devices.deny", fmt::format("c {}:{} rwm", major, minor));
        if (!set.ok()) break;
      }
    }
    if (!set.ok()) return set;
  }
  return {};
}

void ControlGroups::plan(const std::string& name, RankSetup& setup) const {
  std::set<std::string> joined;
  std::string last;
  for (const auto& [controller, node] : node_) {
    const std::string folder = node.folder + "/" + name;
    setup.groups[controller] = folder;
    // A thread that moves itself by `tasks` does not wait for every fork and exit of the machine.
    const char* file = node.unified ? "/cgroup.procs" : "/tasks";
    if (!joined.insert(folder).second) continue;
    if (controller == "cpu") {
      last = folder + file;  // from then on it has only its share of the processors
    } else {
      setup.group_files.push_back(folder + file);
    }
  }
  if (!last.empty()) setup.group_files.push_back(last);
  if (const auto memory = node_.find("memory"); memory != node_.end()) {
    setup.oom_file = setup.groups["memory"] +
                     (memory->second.unified ? "/memory.events" : "/memory.oom_control");
  }
  if (const auto freezer = node_.find("freezer"); freezer != node_.end()) {
    const bool unified = freezer->second.unified;
    setup.freeze_file = setup.groups["freezer"] + (unified ? "/cgroup.freeze" : "/freezer.state");
    setup.freeze_word = unified ? "1" : "FROZEN";
    setup.thaw_word = unified ? "0" : "THAWED";
  }
}

Status ControlGroups::make(const RankSetup& setup, const GroupLimits& limits) const {
  for (const auto& [controller, folder] : setup.groups) {
    Status made = make_group(folder, controller, node_.at(controller).unified, false);
    if (!made.ok()) return made;
  }
  return limit(setup.groups, limits);
}

Status ControlGroups::change(const RankSetup& setup, const GroupLimits& limits) const {
  std::map<std::string, std::string> ours;
  for (const auto& [controller, folder] : setup.groups) {
    if (has(controller)) ours[controller] = folder;
  }
  return limit(ours, limits);
}

void ControlGroups::drop() const {
  for (const auto& [controller, node] : node_) {
    if (rmdir(node.folder.c_str()) == 0) rmdir(folder_of(node.folder).c_str());
  }
}

bool clear_groups(const RankSetup& setup) {
  bool gone = true;
  for (const auto& [controller, folder] : setup.groups) {
    if (!is_folder(folder)) continue;
    const bool at_once = is_file(folder + "/cgroup.kill") && put(folder + "/cgroup.kill", "1").ok();
    if (!at_once) {
      for (const pid_t process : members_of(folder)) kill(process, SIGKILL);
    }
    if (rmdir(folder.c_str()) != 0 && errno != ENOENT) gone = false;
  }
  // What is frozen dies when it is thawed.
  if (!gone && !setup.freeze_file.empty()) {
    [[maybe_unused]] const Status thawed = put(setup.freeze_file, setup.thaw_word);
  }
  return gone;
}

bool is_frozen(const RankSetup& setup) {
  if (setup.freeze_file.empty()) return false;
  const std::string state = content_of(setup.freeze_file);
  return !state.empty() && !state.starts_with(setup.thaw_word);
}

bool is_frozen_whole(const RankSetup& setup) {
  if (!is_frozen(setup)) return false;
  const std::string state = content_of(setup.freeze_file);
  if (!state.starts_with("1")) return state.starts_with(setup.freeze_word);  // or FREEZING
  const std::string folder = setup.freeze_file.substr(0, setup.freeze_file.rfind('/'));
  return content_of(folder + "/cgroup.events").find("frozen 1") != std::string::npos;
}

std::optional<TreeUsage> usage_of_groups(const RankSetup& setup) {
  const auto cpu = setup.groups.find("cpuacct"), memory = setup.groups.find("memory");
  if (cpu == setup.groups.end() || memory == setup.groups.end()) return std::nullopt;
  TreeUsage usage;
  std::string word;
  if (std::ifstream total(cpu->second + "/cpuacct.usage"); total >> word) {
    usage.cpu_s = 1e-9 * std::strtod(word.c_str(), nullptr);
  } else {
    std::ifstream stat(cpu->second + "/cpu.stat");
    for (double value = 0; stat >> word >> value;) {
      if (word == "usage_usec") usage.cpu_s = 1e-6 * value;
    }
  }
  for (const char* name : {"/memory.usage_in_bytes", "/memory.current"}) {
    if (std::ifstream in(memory->second + name); in >> word) {
      usage.memory = std::strtoll(word.c_str(), nullptr, 10);
    }
  }
  return usage;
}

}  // namespace weft::live

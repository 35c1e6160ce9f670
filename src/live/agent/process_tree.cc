#include "live/agent/process_tree.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/check.h"
#include "live/agent/system_file.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;

std::string proc(pid_t process, const char* name) {
  return fmt::format("/proc/{}/{}", process, name);
}

// Fields of /proc/PID/stat from the third on; the second may hold spaces and brackets.
std::vector<std::string> stat_fields(pid_t process) {
  const std::string text = content_of(proc(process, "stat"));
  std::vector<std::string> fields;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return fields;
  std::istringstream rest(text.substr(name_end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

bool is_zombie(pid_t process) {
  const auto fields = stat_fields(process);
  return fields.empty() || fields[0] == "Z" || fields[0] == "X";
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator(proc(process, "task"), ignored)) {
    std::ifstream in(task.path() / "children");
    for (pid_t child = 0; in >> child;) children.push_back(child);
  }
  std::sort(children.begin(), children.end());
  return children;
}

bool catches(pid_t process, int number) {
  std::ifstream in(proc(process, "status"));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    const std::uint64_t mask = std::strtoull(line.c_str() + 7, nullptr, 16);
    return (mask >> (number - 1) & 1) != 0;
  }
  return false;
}

bool is_shell(pid_t process) {
  std::string name = content_of(proc(process, "comm"));
  if (name.ends_with('\n')) name.pop_back();
  constexpr std::array kShells = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

bool asks_for_an_end(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGQUIT;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> all;
  for (const pid_t child : children_of(process)) all.push_back(child);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  }
  std::erase_if(all, is_zombie);
  return all;
}

void signal_command(pid_t process, int number) {
  CHECK(process > 1 && number > 0);  // anything less would mean groups of processes, or all
  const bool caught = catches(process, number);
  // Seen before the signal is sent: what it ends leaves its children to somebody else.
  const std::vector<pid_t> children =
      !caught || is_shell(process) ? children_of(process) : std::vector<pid_t>{};
  if (caught || asks_for_an_end(number)) kill(process, number);
  for (const pid_t child : children) signal_command(child, number);
}

bool is_stopped(pid_t process) {
  const auto fields = stat_fields(process);
  return fields.empty() || fields[0] == "T" || fields[0] == "Z" || fields[0] == "X";
}

std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc{} || last != name.data() + name.size()) continue;
    if (is_zombie(process)) continue;
    const std::string text = '\0' + content_of(proc(process, "environ"));
    if (text.find('\0' + mark + '\0') != std::string::npos) found.push_back(process);
  }
  return found;
}

TreeUsage usage_of(const std::vector<pid_t>& processes) {
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const Bytes page = sysconf(_SC_PAGESIZE);
  constexpr std::size_t kUserTime = 11, kChildrenTimeEnd = 15, kResident = 21;  // from the third on
  TreeUsage usage;
  for (const pid_t process : processes) {
    const auto fields = stat_fields(process);
    if (fields.size() <= kResident) continue;
    // Own time and that of children it has waited for.
    for (std::size_t i = kUserTime; i < kChildrenTimeEnd; ++i) {
      usage.cpu_s += std::strtod(fields[i].c_str(), nullptr) / ticks;
    }
    usage.memory += page * std::strtoll(fields[kResident].c_str(), nullptr, 10);
  }
  return usage;
}

}  // namespace weft::live

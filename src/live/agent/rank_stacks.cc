#include "live/agent/rank_stacks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "live/agent/system_file.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;

std::string stripped_content_of(const fs::path& path) {
  std::string content = content_of(path.string());
  while (!content.empty() && (content.back() == '\n' || content.back() == '\0')) content.pop_back();
  return content;
}

// "S (sleeping)" of a status file.
std::string state_of(const fs::path& thread) {
  std::ifstream in(thread / "status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("State:")) return line.substr(line.find_first_not_of(" \t", 6));
  }
  return "gone";
}

}  // namespace

int python_stacks_signal() { return SIGRTMIN + 6; }

std::string stacks_text(const std::vector<pid_t>& processes) {
  std::string text;
  for (const pid_t process : processes) {
    const fs::path folder = fs::path("/proc") / std::to_string(process);
    std::string command = stripped_content_of(folder / "cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    text += fmt::format("process {}: {}\n", process, command.substr(0, 200));
    std::vector<fs::path> threads;
    std::error_code failed;
    for (fs::directory_iterator at(folder / "task", failed), end; !failed && at != end;
         at.increment(failed)) {
      threads.push_back(at->path());
    }
    std::sort(threads.begin(), threads.end());
    for (const fs::path& thread : threads) {
      text += fmt::format("  thread {} ({}): {}, in {}\n", thread.filename().string(),
                          stripped_content_of(thread / "comm"), state_of(thread),
                          stripped_content_of(thread / "wchan"));
      std::stringstream stack(stripped_content_of(thread / "stack"));
      for (std::string line; std::getline(stack, line);) text += "    " + line + "\n";
    }
  }
  return text;
}

Status append_stacks(const std::string& path, const std::string& text, std::int64_t uid,
                     std::int64_t gid) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  // Only root can, and for others it is theirs already.
  if (file >= 0 && uid >= 0 && geteuid() == 0 &&
      fchown(file, static_cast<uid_t>(uid), static_cast<gid_t>(gid)) != 0) {
    ::close(file);
    return Error{ErrorKind::kIo, fmt::format("{}: cannot be given to user {}", path, uid), ""};
  }
  if (file >= 0) ::close(file);
  if (written) return {};
  return Error{ErrorKind::kIo, fmt::format("{}: cannot be written", path), ""};
}

}  // namespace weft::live

#include "rank_processes.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <filesystem>

namespace weft {

RendezvousFolder::RendezvousFolder() {
  std::error_code failed;
  path_ = (std::filesystem::temp_directory_path(failed) / "weft-ranks-XXXXXX").string();
  if (failed || mkdtemp(path_.data()) == nullptr) path_.clear();
}

RendezvousFolder::~RendezvousFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string own_program() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "" : self.string();
}

std::string complaint_about(const std::vector<ChildEnd>& ends, double timeout_s) {
  for (const ChildEnd& end : ends) {
    if (end.timed_out) return fmt::format("it did not end within {:.0f} s", timeout_s);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    // Those killed because another failed tell nothing.
    if (ends[i].code != 0 && ends[i].code != 128 + 9) {
      return fmt::format("process {} of {} ended with exit code {}", i, ends.size(), ends[i].code);
    }
  }
  for (const ChildEnd& end : ends) {
    if (end.code != 0) return "it was killed";
  }
  return "";
}

Result<std::vector<ChildEnd>> run_rank_processes(
    const std::vector<std::vector<std::string>>& commands, double timeout_s) {
  auto ends = run_children(commands, timeout_s);
  if (!ends.ok()) return ends.error();
  if (const std::string what = complaint_about(*ends, timeout_s); !what.empty()) {
    return Error{ErrorKind::kUnsupported, what, ""};
  }
  return ends;
}

Result<std::vector<nlohmann::json>> run_start(int ranks, bool tcp, std::uint64_t size_bytes,
                                              double timeout_s, const std::string& arena) {
  const RendezvousFolder rendezvous;
  if (rendezvous.path().empty()) {
    return Error{ErrorKind::kIo, "no temporary folder could be made", "is TMPDIR writable?"};
  }
  std::vector<std::vector<std::string>> commands(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& command = commands[static_cast<std::size_t>(rank)];
    const auto add = [&](const std::vector<std::string>& words) {
      command.insert(command.end(), words.begin(), words.end());
    };
    if (!arena.empty()) add({"ip", "netns", "exec", fmt::format("{}-h{}", arena, rank)});
    add({own_program(), "bench", "rank", "--start", "--ranks", fmt::format("{}", ranks), "--rank",
         fmt::format("{}", rank), "--rendezvous", rendezvous.path(), "--sizes",
         fmt::format("{}", size_bytes)});
    if (!arena.empty()) add({"--interface", "net0"});
    if (tcp) add({"--network", "tcp"});
  }
  const auto ends = run_rank_processes(commands, timeout_s);
  if (!ends.ok()) return ends.error();
  std::vector<nlohmann::json> lines;
  for (std::size_t rank = 0; rank < ends->size(); ++rank) {
    lines.push_back(nlohmann::json::parse((*ends)[rank].out, nullptr, false));
    if (!lines.back().is_object()) {
      return Error{ErrorKind::kIo, fmt::format("rank {} printed no result", rank), ""};
    }
  }
  return lines;
}

}  // namespace weft

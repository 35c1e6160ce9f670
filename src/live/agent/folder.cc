#include "live/agent/folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMostSmallFile = 64 << 10;
constexpr std::size_t kLongestSocketName = 24;  // behind the root: "/p/" and a random name

Error folder_error(const char* what, const std::string& path) {
  return {ErrorKind::kIo, fmt::format("{} {}: {}", what, path, std::strerror(errno)), ""};
}

// Nothing when there is no such file or it is not whole, which is the same to us: small files are
// written whole.
Json read_json(const std::string& path) {
  const auto text = read_file(path, kMostSmallFile);
  return text.ok() ? Json::parse(*text, nullptr, false) : Json(Json::value_t::discarded);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool write_at_start(int descriptor, const std::string& text) {
  return ftruncate(descriptor, 0) == 0 &&
         pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

std::string claim_text(pid_t keeper, pid_t command) {
  return Json{{"keeper", keeper}, {"command", command}}.dump() + "\n";
}

}  // namespace

std::string FolderPaths::claim(const RunKey& key, int rank) const {
  return claims() + "/" + name_of(key, rank);
}
std::string FolderPaths::tombstone(const RunKey& key) const {
  return fmt::format("{}/{}.stop", claims(), key.text());
}
std::string FolderPaths::end(const RunKey& key, int rank) const {
  return fmt::format("{}/end.{}", run(key), rank);
}
std::string FolderPaths::keeper_log(const RunKey& key, int rank) const {
  return fmt::format("{}/keeper.{}", run(key), rank);
}

Result<int> open_folder(const FolderPaths& paths) {
  if (paths.root.empty() || paths.root.front() != '/') {
    return Error{ErrorKind::kInvalidInput, "the agent's folder must be an absolute path", ""};
  }
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1 - kLongestSocketName;
  if (paths.root.size() > kMost) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the agent's folder has a path of {} bytes; sockets allow {}",
                             paths.root.size(), kMost),
                 "choose a shorter one with --dir"};
  }
  std::error_code error;
  for (const std::string& folder : {paths.root, paths.claims(), paths.runs(), paths.sockets()}) {
    fs::create_directories(folder, error);
    if (!is_folder(folder)) return folder_error("cannot make the folder", folder);
  }
  // Ranks of other users reach their progress sockets through it, and nothing else.
  for (const std::string& folder : {paths.root, paths.sockets()}) {
    if (chmod(folder.c_str(), 0711) != 0) return folder_error("cannot set the mode of", folder);
  }
  for (const std::string& folder : {paths.claims(), paths.runs()}) {
    if (chmod(folder.c_str(), 0700) != 0) return folder_error("cannot set the mode of", folder);
  }
  const int lock = open(paths.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return folder_error("cannot open", paths.lock());
  if (flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  const Error taken = {ErrorKind::kIo,
                       fmt::format("another agent runs in {}: {}", paths.root, strerror(errno)),
                       "end it, or give each agent a folder of its own with --dir"};
  close(lock);
  return taken;
}

Status write_whole(const std::string& path, std::string_view content) {
  const std::string draft = path + ".draft";
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return folder_error("cannot make", draft);
  const bool written =
      write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  const Error error = folder_error("cannot write", draft);
  close(file);
  if (!written) return error;
  if (rename(draft.c_str(), path.c_str()) != 0) return folder_error("cannot write", path);
  return {};
}

Status write_end(const FolderPaths& paths, const RunKey& key, int rank, const RankEnd& end) {
  const Json json = {{"code", end.code},
                     {"signal", end.signal},
                     {"why", end.why},
                     {"ran", end.ran},
                     {"at_s", end.at_s}};
  return write_file_durably(paths.end(key, rank), json.dump() + "\n");
}

std::optional<RankEnd> read_end(const FolderPaths& paths, const RunKey& key, int rank) {
  const Json json = read_json(paths.end(key, rank));
  if (!json.is_object()) return std::nullopt;
  JsonFields fields(json);
  RankEnd end;
  end.code = static_cast<int>(fields.whole("code", 0, 255, 0));
  end.signal = static_cast<int>(fields.whole("signal", 0, 64, 0));
  end.why = fields.text("why");
  end.ran = json.value("ran", false);
  end.at_s = fields.number("at_s", 0, 1e18, 0);
  if (!fields.wrong().empty()) return std::nullopt;
  return end;
}

Result<Claim> Claim::make(const FolderPaths& paths, const RunKey& key, int rank) {
  const std::string path = paths.claim(key, rank);
  const std::string draft = fmt::format("{}.{}.draft", path, getpid());
  unlink(draft.c_str());
  const int file = open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return folder_error("cannot make", draft);
  Claim claim(file);
  const bool ready =
      flock(file, LOCK_EX | LOCK_NB) == 0 && write_at_start(file, claim_text(getpid(), 0));
  // Unlike a rename a link never replaces the claim of somebody else.
  const bool made = ready && link(draft.c_str(), path.c_str()) == 0;
  const int number = errno;
  unlink(draft.c_str());
  if (made) return claim;
  errno = number;
  if (number == EEXIST) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {} of {} was claimed before", rank, key.text()), ""};
  }
  return folder_error("cannot make", path);
}

Claim::~Claim() {
  if (descriptor_ >= 0) close(descriptor_);
}
Claim::Claim(Claim&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Status Claim::set_command(pid_t command) {
  if (write_at_start(descriptor_, claim_text(getpid(), command))) return {};
  return folder_error("cannot write", "the claim");
}

std::optional<ClaimFacts> look_at_claim(const FolderPaths& paths, const RunKey& key, int rank) {
  const std::string path = paths.claim(key, rank);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  ClaimFacts facts;
  facts.held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  const Json json = read_json(path);
  if (json.is_object()) {
    JsonFields fields(json);
    facts.keeper = static_cast<pid_t>(fields.whole("keeper", 0, 1 << 30, 0));
    facts.command = static_cast<pid_t>(fields.whole("command", 0, 1 << 30, 0));
  }
  return facts;
}

std::vector<OldRun> old_runs(const FolderPaths& paths) {
  std::map<RunKey, OldRun> runs;
  for (const std::string& name : names_in(paths.claims())) {
    const std::size_t last = name.rfind('.');
    const auto key = parse_run_key(name.substr(0, std::min(last, name.size())));
    if (!key.ok()) continue;
    OldRun& run = runs[*key];
    run.key = *key;
    run.stopped = run.stopped || name.substr(last) == ".stop";
    struct stat facts = {};
    if (stat((paths.claims() + "/" + name).c_str(), &facts) == 0) {
      run.age_s = std::max(0.0, static_cast<double>(time(nullptr) - facts.st_mtime));
    }
  }
  std::vector<OldRun> out;
  for (auto& [key, run] : runs) out.push_back(std::move(run));
  return out;
}

void drop_claims(const FolderPaths& paths, const RunKey& key) {
  const std::string prefix = key.text() + ".";
  for (const std::string& name : names_in(paths.claims())) {
    if (name.starts_with(prefix)) unlink((paths.claims() + "/" + name).c_str());
  }
}

std::vector<RunKey> kept_runs(const FolderPaths& paths) {
  std::vector<RunKey> keys;
  for (const std::string& name : names_in(paths.runs())) {
    if (const auto key = parse_run_key(name); key.ok()) keys.push_back(*key);
  }
  return keys;
}

}  // namespace weft::live

// The files of an agent, by which it and its keepers find each other after any death:
//
//   lock                    held by the agent that lives
//   term                    the largest term of a controller that was obeyed
//   sock                    where keepers find the agent
//   claims/UUID.EPOCH.RANK  made by the keeper before its command starts, locked while it lives
//   claims/UUID.EPOCH.stop  the run was stopped before it came here: it must not start any more
//   runs/UUID.EPOCH/order   what was to be started; outcome: what was answered last;
//                           end.RANK: how a rank ended
//   p/…                     progress sockets of ranks; p/UUID.EPOCH.key: secret of its group
//   keepers.log             what the server of keepers has to say
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "live/agent/run_order.h"

namespace weft::live {

struct FolderPaths {
  std::string root;

  std::string lock() const { return root + "/lock"; }
  std::string term() const { return root + "/term"; }
  std::string socket() const { return root + "/sock"; }
  std::string claims() const { return root + "/claims"; }
  std::string claim(const RunKey& key, int rank) const;
  std::string tombstone(const RunKey& key) const;
  std::string runs() const { return root + "/runs"; }
  std::string run(const RunKey& key) const { return runs() + "/" + key.text(); }
  std::string order(const RunKey& key) const { return run(key) + "/order"; }
  std::string outcome(const RunKey& key) const { return run(key) + "/outcome"; }
  std::string end(const RunKey& key, int rank) const;
  std::string keeper_log(const RunKey& key, int rank) const;
  std::string sockets() const { return root + "/p"; }
  // Where its user can read it, and nobody list it.
  std::string secret(const RunKey& key) const { return sockets() + "/" + key.text() + ".key"; }
  std::string server_log() const { return root + "/keepers.log"; }
};

// Makes the folders and takes the lock. The error says when another agent has it, or when the path
// is too long for a socket. The descriptor holds the lock until it is closed.
Result<int> open_folder(const FolderPaths& paths);

// Afterwards the file is whole, as long as there is power.
Status write_whole(const std::string& path, std::string_view content);

// How a rank ended. A signal of 0: by itself, with `code`.
struct RankEnd {
  int code = 0, signal = 0;
  std::string why;   // empty: nobody but itself
  bool ran = false;  // the command was exec'd
  Seconds at_s = 0;  // monotonic, of this node
};
Status write_end(const FolderPaths& paths, const RunKey& key, int rank, const RankEnd& end);
std::optional<RankEnd> read_end(const FolderPaths& paths, const RunKey& key, int rank);

// The right to run one rank of one run: there is one, whatever dies when.
class Claim {
 public:
  // Error: somebody had it before, or the disk refuses. Ensures: when the file is there it is
  // whole, and locked if its maker lives.
  static Result<Claim> make(const FolderPaths& paths, const RunKey& key, int rank);
  ~Claim();
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;

  // Writes down the process that runs the user's command.
  Status set_command(pid_t command);

 private:
  explicit Claim(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

struct ClaimFacts {
  pid_t keeper = 0, command = 0;
  bool held = false;  // the keeper lives
};
// Nothing when there is no claim.
std::optional<ClaimFacts> look_at_claim(const FolderPaths& paths, const RunKey& key, int rank);

// The runs of which claims or tombstones are there.
struct OldRun {
  RunKey key;
  bool stopped = false;
  Seconds age_s = 0;
};
std::vector<OldRun> old_runs(const FolderPaths& paths);
// Deletes all claims and the tombstone of the run.
void drop_claims(const FolderPaths& paths, const RunKey& key);
// The runs that have a folder.
std::vector<RunKey> kept_runs(const FolderPaths& paths);

}  // namespace weft::live

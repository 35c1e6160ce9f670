// What a job has on the launcher's host while it runs: a private folder with its secret, a name,
// and a port for the store of the script.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/net/secret.h"

namespace weft::runtime {

// A folder that only this user can look into, below TMPDIR.
class RunFolder {
 public:
  // Makes the folder and writes the secret into it.
  static Result<RunFolder> make(const Secret& secret);
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string secret_path() const { return path_ + "/secret"; }
  // From now on only the secret is removed at the end, not what else is in the folder.
  void keep() { keep_ = true; }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool keep_ = false;
};

// A random UUID (version 4).
Result<std::string> fresh_uuid();

// A port that nothing listened on a moment ago.
Result<int> free_port();

}  // namespace weft::runtime

// Runs whose ranks form a group: what they prove themselves by.
#include <sys/stat.h>
#include <unistd.h>

#include "live/agent/run_table.h"

namespace weft::live {

Status RunTable::write_secret(const RunOrder& order) const {
  if (order.group.empty()) return {};
  const std::string path = settings_.paths.secret(order.key);
  const Status written =
      write_whole(path, group_secret(settings_.secret, order.group).hex() + "\n");
  if (!written.ok()) return written;
  if (geteuid() == 0 && order.uid > 0 &&
      chown(path.c_str(), static_cast<uid_t>(order.uid), static_cast<gid_t>(-1)) != 0) {
    return Error{ErrorKind::kIo, "the secret of its group cannot be given to its user", ""};
  }
  return {};
}

}  // namespace weft::live

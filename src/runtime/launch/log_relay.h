// Brings what ranks write, and what the launcher itself says, to its own output. Nothing here
// waits: while the reader of the output is slow, the ranks' lines stay in their files.
#pragma once

#include <list>
#include <string>

#include "runtime/launch/log_stream.h"
#include "runtime/transport.h"

namespace weft::runtime {

// A descriptor that is written to only as far as it takes bytes at once. One that broke (a pager
// that was left) swallows everything from then on.
class OutputPipe {
 public:
  // Requires: the descriptor stays open; SIGPIPE is ignored.
  explicit OutputPipe(int fd);
  void add(std::string_view text);
  // Writes what can be written now; false while something is left.
  bool flush();
  std::string& pending() { return pending_; }
  bool broken() const { return broken_; }

 private:
  int fd_;
  std::size_t chunk_bytes_;
  std::string pending_;
  bool broken_ = false;
};

class LogRelay {
 public:
  LogRelay(int out_fd, int err_fd) : out_(out_fd), err_(err_fd) {}

  void follow(MemberId member, FileFollower out, FileFollower err);
  // A line of our own, to the error stream.
  void say(const std::string& line);
  // Passes on what is new; true when there may be more at once.
  bool pump();
  // Passes on the last bytes of a member that has ended and forgets its files.
  void close(MemberId member);
  // Whether lines wait for a slow reader.
  bool blocked() const { return blocked_; }

 private:
  struct Stream {
    MemberId member;
    FileFollower file;
    OutputPipe* to;
    bool ended = false;
  };
  bool pump(Stream& stream);

  OutputPipe out_, err_;
  std::list<Stream> streams_;
  bool blocked_ = false;
};

}  // namespace weft::runtime

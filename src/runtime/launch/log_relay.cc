#include "runtime/launch/log_relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace weft::runtime {
namespace {

constexpr std::size_t kMostPending = 64 << 10;

}  // namespace

// A pipe that is ready takes PIPE_BUF bytes without waiting; a terminal is ready with less room.
OutputPipe::OutputPipe(int fd) : fd_(fd), chunk_bytes_(isatty(fd) != 0 ? 256 : 4096) {}

void OutputPipe::add(std::string_view text) {
  if (!broken_) pending_ += text;
}

bool OutputPipe::flush() {
  std::size_t done = 0;
  while (done < pending_.size() && !broken_) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) break;
    const ssize_t wrote =
        write(fd_, pending_.data() + done, std::min(chunk_bytes_, pending_.size() - done));
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  pending_.erase(0, broken_ ? pending_.size() : done);
  return pending_.empty();
}

void LogRelay::follow(MemberId member, FileFollower out, FileFollower err) {
  streams_.push_back({member, std::move(out), &out_});
  streams_.push_back({member, std::move(err), &err_});
}

void LogRelay::say(const std::string& line) {
  err_.add("weft launch: " + line + "\n");
  err_.flush();
}

bool LogRelay::pump(Stream& stream) {
  std::string& pending = stream.to->pending();
  if (pending.size() >= kMostPending) return false;
  const bool more = stream.file.read_some(kMostPending, pending);
  if (!more && stream.ended) stream.file.finish(pending);
  return more;
}

bool LogRelay::pump() {
  bool more = false;
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const bool room = stream->to->pending().size() < kMostPending;
    const bool read = pump(*stream);
    more = more || read;
    stream = stream->ended && room && !read ? streams_.erase(stream) : std::next(stream);
  }
  const bool out_done = out_.flush(), err_done = err_.flush();
  blocked_ = !out_done || !err_done;
  return more || blocked_;
}

void LogRelay::close(MemberId member) {
  for (Stream& stream : streams_) stream.ended = stream.ended || stream.member == member;
}

}  // namespace weft::runtime

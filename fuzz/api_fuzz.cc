// Whatever the bytes are, a daemon that gets them on its socket answers with a status that it means
// to give, or closes; it never fails inside and goes on answering.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/check.h"
#include "live/daemon/daemon.h"
#include "live/http/client.h"
#include "live/http/raw_testing.h"
#include "policy/composition.h"

namespace {

using namespace weft;

// A daemon without agents on a store of its own.
class World {
 public:
  World() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-fuzz-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    live::DaemonOptions options;
    options.store = folder_;
    options.cluster = *parse_cluster_shorthand("2x2");
    options.cluster_text = options.policy_text = "2x2";
    options.policy = assemble(*find_policy("backfill")).value();
    options.policy_text = "backfill";
    auto started = live::Daemon::start(std::move(options));
    CHECK(started.ok());
    daemon_ = std::move(*started);
  }
  ~World() {
    daemon_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return live::socket_of(folder_); }
  std::size_t jobs() const { return daemon_->jobs(); }

 private:
  std::string folder_;
  std::unique_ptr<live::Daemon> daemon_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::size_t kMostJobs = 300;
  constexpr int kSilence_ms = 60'000;
  // Made at once, so that it ends before the cleanup that OpenSSL registers at its first use.
  static auto world = std::make_unique<World>();
  if (world->jobs() > kMostJobs) {
    world.reset();
    world = std::make_unique<World>();
  }
  live::RawConnection raw(world->path());
  CHECK(raw.joined());
  raw.send(std::string(reinterpret_cast<const char*>(data), size));
  raw.end_sending();
  // An event stream has no end; everything else is closed after the last answer.
  const std::string reply = raw.read(kSilence_ms, "text/event-stream");
  if (reply.empty()) return 0;
  static const std::set<int> known = {100, 200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 431};
  CHECK(known.contains(live::status_of(reply)));
  CHECK(reply.find("HTTP/1.1 500") == std::string::npos);
  constexpr int kAskEvery = 32;
  static int asked = 0;
  if (++asked % kAskEvery != 0) return 0;
  live::HttpClient client(world->path());
  const auto after = client.ask("GET", "/v1/status", "", 60);
  CHECK(after.ok() && after->status == 200);
  return 0;
}

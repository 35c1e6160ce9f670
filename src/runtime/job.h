// What a process has of its job: connections, shared memory, the engine, and the membership it is
// in. Groups are views of it.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/chooser.h"
#include "runtime/engine.h"
#include "runtime/group.h"
#include "runtime/member/mesh.h"
#include "runtime/net/store.h"
#include "runtime/record/errands.h"
#include "runtime/record/missing.h"
#include "runtime/record/slow.h"
#include "runtime/shm/shm_transport.h"
#include "runtime/wire_transport.h"

namespace weft::runtime {

// The same text on all processes that can share memory: one kernel, network and user.
std::string host_identity();

class Job {
 public:
  static Result<std::shared_ptr<Job>> start(const GroupOptions& options);
  ~Job();

  const GroupOptions& options() const { return options_; }
  Engine& engine() { return *engine_; }
  View view() const;
  Result<View> reform(Seconds deadline_s);
  int joiners() const { return mesh_->joiners(); }
  Connections connections() const;
  std::string broken() const;
  std::vector<int> lost_seats() const;
  void abandon(std::uint32_t group, std::uint32_t epoch, const std::string& why);
  void leave();
  // The next operation of a stream. Ensures: numbers of one stream rise by one from 0.
  std::uint32_t next_sequence(std::uint32_t group, std::uint32_t stream);
  // What all ranks agreed on; later memberships keep it.
  void set_links(const LinkSpeeds& links);
  // What was recorded and timed until now is not the user's.
  void begin_watch();
  // By which those that can share memory are known, by member.
  std::vector<std::string> hosts_of(const std::vector<MemberId>& members) const;
  // Links and hosts of the ranks given, by member.
  GroupShape shape_of(const std::vector<MemberId>& members) const;
  // Those of the group that compute longer than the others.
  std::vector<SlowRank> slow_ranks(std::uint32_t group) const;
  // What this rank recorded last (docs/recorder.md).
  Recording recording() const;

 private:
  explicit Job(GroupOptions options);
  Status open();
  Status open_mesh();
  Status open_wire();
  Result<std::unique_ptr<WireTransport>> open_tcp(WireSettings settings);
  void drain(Seconds most);
  Status meet();
  Status take_number();
  Status join();
  MemberInfo own_info();
  struct Local {
    Segment segment;
    std::unique_ptr<ShmTransport> transport;
  };
  Result<std::unique_ptr<Local>> make_local();
  Result<View> wait_for_view(std::uint32_t after, double deadline, const char* what);
  Status install(const View& view);
  void lost(std::uint32_t epoch, const std::string& why);
  void fenced(const std::string& why);
  void watch_engine();
  void late(const OperationSpec& spec);
  Progress progress(MemberId from, const Progress& question);
  void take_own_times(const OperationSpec& spec, std::uint64_t step,
                      const std::vector<std::uint32_t>& own_us);
  // Empty: stacks are not saved.
  std::string stacks_path() const;
  std::string recording_path() const;
  void save_recording() const;
  void record_failure();

  GroupOptions options_;
  std::string address_;  // without port, on which we listen
  std::unique_ptr<StoreClient> store_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<WireTransport> wire_;  // between hosts
  std::optional<SharedBell> bell_;
  // Of the membership, and of the one to come.
  std::unique_ptr<Local> local_, next_;
  std::unique_ptr<Engine> engine_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  View view_;
  std::vector<View> agreed_;                     // not installed yet
  std::map<std::uint32_t, std::string> losses_;  // by epoch
  std::string fenced_;
  std::vector<int> lost_seats_;
  int segments_ = 0;  // of others that are mapped
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sequences_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> asked_;  // stream, sequence: stacks are saved

  struct GroupTimes {
    std::uint32_t epoch = 0;
    OwnTimes times;
  };
  mutable std::mutex times_mutex_;  // taken last
  std::map<std::uint32_t, GroupTimes> times_;
  Missing missing_;
  std::unique_ptr<Errands> errands_;
};

}  // namespace weft::runtime

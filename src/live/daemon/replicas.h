// Services: the controller sees one job with replicas; agents see a run for each replica, which is
// started again for ever by itself, so that one that fails takes no other with it.
//
// A replica is named after its first device, so its runs never leave their nodes, and agents' own
// claims keep two of them apart. Their epochs are not in the journal: they rise with the term,
// which is, and in it.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "live/daemon/runs.h"

namespace weft::live {

// Whether a run that an agent speaks of is a replica's.
bool is_replica(const std::string& uuid);
bool is_service(const JobIdentity& job);
std::string replica_uuid(const std::string& service, const std::string& replica);

// Holds no socket, thread or clock.
class Replicas {
 public:
  struct Links {
    RunsLinks runs;
    std::function<void(JobId, const std::string& what)> remark;  // for people
    std::function<void(JobId, double qps, Seconds latency)> traffic;
  };
  Replicas(const Cluster& cluster, std::uint64_t term, const std::string& log_root, Links links);

  // As of Runs, for services; what agents say is of replicas.
  void adopt(const JobView& job);
  void carry_out(const KeptCommand& command, const JobView& job);
  void outcome(NodeId node, const std::string& uuid, std::uint32_t epoch, std::uint32_t number,
               const std::string& result, const std::string& why);
  void ended(NodeId node, const std::string& uuid, std::uint32_t epoch, int rank, int code,
             int signal, const std::string& why);
  void resume(NodeId node, const nlohmann::json& runs);
  void gone(NodeId node, bool all, const std::string& why);
  bool signal(const std::string& uuid, int number);

  RankPlace place_of(const std::string& uuid, int rank) const { return runs_.place_of(uuid, rank); }

  // A replica told how many requests a second it has, and how long they take.
  void report(const std::string& uuid, std::uint32_t epoch, double qps, Seconds latency);
  // Starts what has waited long enough. To be called several times a second.
  void tick();

 private:
  using Json = nlohmann::json;
  struct Replica {
    std::string uuid;
    Allocation held;
    std::set<NodeId> nodes;
    enum class State { kUnknown, kStarting, kRunning, kWaiting, kStopping, kGone };
    State state = State::kUnknown;
    std::uint32_t epoch = 0;  // of its run
    JobId slot = kNoJob;      // by which Runs knows it
    bool wanted = true;
    std::set<NodeId> unheard;         // kUnknown: who could still say that it runs
    Seconds since = 0, again_at = 0;  // of its run; kWaiting: when to try again
    std::uint32_t failures = 0;       // in a row
    double qps = 0;
    Seconds latency = 0;
  };
  struct Service {
    JobView view;
    JobSpec spec;
    std::uint32_t number = 0;  // of the newest command
    CommandKind pending = CommandKind::kNone;
    std::map<std::string, Replica> replicas;  // by uuid
    std::set<NodeId> lost;
    double told_qps = 0;
    Seconds told_at = 0;
  };

  Service* service_of(const std::string& replica_uuid);
  Replica* replica_of(const std::string& uuid, std::uint32_t epoch);
  // Whether nodes that have not spoken yet may know of it.
  bool is_open(const std::string& uuid);
  // The replicas of an allocation, in order of devices.
  std::vector<Replica> split(const Service& service, const Allocation& held) const;
  JobView view_of(const Service& service, const Replica& replica) const;
  void begin(Service& service, Replica& replica);
  void stop(Service& service, Replica& replica);
  void failed(Service& service, Replica& replica, const std::string& why);
  void heard(const EventRecord& record);
  // What has gathered of Runs' events, and what follows for the controller.
  void settle();
  void settle(Service& service);
  void tell(const Service& service, Event event, const std::string& why = "");
  void tell_load(Service& service);

  const Cluster& cluster_;
  Links links_;
  std::uint32_t next_epoch_;
  JobId next_slot_ = 0;
  std::map<JobId, Service> services_;
  std::map<JobId, std::pair<JobId, std::string>> slots_;  // service and replica
  std::deque<EventRecord> heard_;
  // Ends of ranks whose replica's other nodes have not spoken yet.
  std::vector<std::pair<std::string, std::function<void()>>> early_ends_;
  Runs runs_;
};

}  // namespace weft::live

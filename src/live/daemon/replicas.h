// Jobs whose parts come and go one by one: the controller sees one job that holds devices; agents
// see a run for each part, so that one that fails takes no other with it. The parts of a service
// are its replicas, each started again for ever. Those of a job that is resized in place are its
// members (members.cc): ranks that find each other through one part more, where they meet.
//
// A part is named after its first device, so its runs never leave their nodes, and agents' own
// claims keep two of them apart. Their epochs are not in the journal: they rise with the term,
// which is, and in it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/daemon/runs.h"

namespace weft::live {

inline constexpr Seconds kStartPatience = 10;  // for nodes that do not answer

// Whether a run that an agent speaks of is a part of a job.
bool is_part(const std::string& uuid);
bool is_service(const JobIdentity& job);
// Whether the job's parts are runs of their own.
bool has_parts(const JobIdentity& job);
std::string replica_uuid(const std::string& service, const std::string& replica);
std::string member_uuid(const std::string& job, const std::string& member);

// Holds no socket, thread or clock.
class Replicas {
 public:
  struct Links {
    RunsLinks runs;
    std::function<void(JobId, const std::string& what)> remark;  // for people
    std::function<void(JobId, double qps, Seconds latency)> traffic;
  };
  Replicas(const Cluster& cluster, std::uint64_t term, const std::string& log_root, Links links);

  // As of Runs, for jobs with parts; what agents say is of the parts.
  void adopt(const JobView& job);
  void carry_out(const KeptCommand& command, const JobView& job);
  void outcome(NodeId node, const std::string& uuid, std::uint32_t epoch, std::uint32_t number,
               const std::string& result, const std::string& why);
  void ended(NodeId node, const std::string& uuid, std::uint32_t epoch, int rank, int code,
             int signal, const std::string& why);
  void resume(NodeId node, const nlohmann::json& runs);
  void gone(NodeId node, bool all, const std::string& why);
  bool signal(const std::string& uuid, int number);
  // False: the job has no members.
  bool hung(const std::string& uuid, std::uint32_t epoch, const std::string& why);
  bool stacks(const std::string& uuid, std::uint32_t epoch, const std::string& why);

  // Of a replica, or of the job whose member has that rank.
  RankPlace place_of(const std::string& uuid, int rank);
  // Where the members of a job meet is served now.
  void ready(const std::string& uuid, std::uint32_t epoch);
  // The job for which this member speaks: the one with the least rank of those that tell steps.
  std::optional<JobId> speaks_for(const std::string& uuid, std::uint32_t epoch);
  // A member has used nothing for so long: its job, and for how long all of its node have not.
  std::optional<std::pair<JobId, Seconds>> idle(const std::string& uuid, std::uint32_t epoch,
                                                Seconds idle_s);

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
    enum class State { kUnknown, kStarting, kRunning, kWaiting, kStopping, kDone, kGone };
    State state = State::kUnknown;
    std::uint32_t epoch = 0;  // of its run
    JobId slot = kNoJob;      // by which Runs knows it
    bool wanted = true;
    std::set<NodeId> unheard;         // kUnknown: who could still say that it runs
    Seconds since = 0, again_at = 0;  // of its run; kWaiting: when to try again
    std::uint32_t failures = 0;       // in a row
    double qps = 0;
    Seconds latency = 0;
    // Members.
    bool meets = false;  // it is where they meet
    int rank = -1;       // -1: not known
    bool joins = false;  // to those that run already
    bool speaks = false;
    Seconds idle_s = 0;
  };
  // Why all of a job ends.
  struct Failure {
    std::string why;
    bool own = false;  // of the job, not of what runs it
    NodeId node = kNoNode;
  };
  using Durable = std::function<void()>;
  struct Service {
    JobView view;
    JobSpec spec;
    std::uint32_t number = 0;  // of the newest command
    CommandKind pending = CommandKind::kNone;
    std::map<std::string, Replica> replicas;  // by uuid
    std::set<NodeId> lost;
    double told_qps = 0;
    Seconds told_at = 0;
    // Members.
    bool in_place = false;
    Seconds since = 0;     // when it began, as far as this daemon knows
    bool started = false;  // the controller has been told
    bool ready = false;    // they can meet
    bool ending = false;   // one has ended well: nobody takes the place of others any more
    std::optional<Failure> failure;
    std::vector<Durable> ends;  // that agents keep until the journal has the job's
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
  void heard(const EventRecord& record, const Durable& durable);
  // What has gathered of Runs' events, and what follows for the controller.
  void settle();
  void settle(Service& service);
  void tell(const Service& service, Event event, const std::string& why = "",
            Durable durable = nullptr);
  void tell_load(Service& service);

  // members.cc: jobs that are resized in place.
  Service* job_of(const std::string& uuid);
  bool all_known(const Service& service) const;
  NodeId meeting_node(const Service& service) const;
  Replica* meeting_of(Service& service);
  void add_meeting(Service& service);
  // What members need to know, beyond what every run is told.
  void dress(const std::string& uuid, Json& start);
  void dress_member(const Service& service, const Replica& replica, Json& start);
  void begin_members(Service& service);
  void resize_members(Service& service, const Allocation& target);
  void member_ended(Service& service, Replica& replica, const EventRecord& record,
                    const Durable& durable);
  // A member that waits to come (again) does, or all of the job ends.
  void replace(Service& service, Replica& replica);
  // Its ranks on a node are gone: the others go on alone, if they can.
  void lose_members(Service& service, NodeId node, const std::string& why);
  void tell_lost_members(Service& service);
  void fail(Service& service, Failure failure);
  void settle_members(Service& service);
  void tell_end(Service& service);
  // Gives what people are told of the failure.
  std::string tell_hold_back(const Service& service, const Failure& failure, std::uint32_t in_row);

  const Cluster& cluster_;
  std::string log_root_;
  Links links_;
  std::uint32_t next_epoch_;
  JobId next_slot_ = 0;
  std::map<JobId, Service> services_;
  std::map<JobId, std::pair<JobId, std::string>> slots_;  // service and replica
  std::deque<std::pair<EventRecord, Durable>> heard_;
  // Ends of ranks whose replica's other nodes have not spoken yet.
  std::vector<std::pair<std::string, std::function<void()>>> early_ends_;
  Runs runs_;
};

}  // namespace weft::live

// One pass of a list policy over its queue; private to list*.cc.
#pragma once

#include "policy/allocators/list.h"

namespace weft {

// What the job may hold instead of `held` on the same devices: menu entries that are no slower than
// the first of their kind, which is what it asks for. Fastest first; of equals, the least
// demanding. Only itself for a job that is not elastic.
std::vector<std::uint16_t> tunings(const Submission& spec, const Allocation& held);

class ListWalk {
 public:
  ListWalk(const ListPolicy& policy, Draft& draft, ListMemory& memory)
      : policy_(policy), draft_(draft), memory_(memory), state_(draft.state()) {}

  void fold(const Change& change);
  void refresh_keys();
  void scale_services();
  void run();
  void ask_to_be_woken();
  void explain_watched();
  // Hands what is left of processors and memory to placed jobs that gain by it.
  void grow();

 private:
  using Entry = ListMemory::Entry;

  // Keeping the order.
  Entry filed(JobId id) const { return {memory_.key[id], id}; }
  std::uint32_t shape_of(const JobState& job);
  void file_waiting(JobId id);
  void file_placed(JobId id);
  void adopt(JobId id);
  void unfile(JobId id);
  void start(JobId id, Allocation allocation);
  Allocation stop(JobId id);

  // Trying one job.
  bool may_start(const JobState& job) const;
  bool may_stop(const JobState& job) const;
  bool fits(const JobState& job, Allocation& out);
  // As Place::place for what the job asks for, away from the nodes it should avoid if it can be.
  bool place(const JobState& job, std::uint32_t replicas, Allocation& out) const;
  bool evict_for(const JobState& job, const Entry& entry, std::uint32_t replicas, Allocation& out);
  bool has_room_beside(const Allocation& taken, Allocation wanted) const;
  bool place_or_evict(const JobState& job, const Entry& entry, bool may_evict, Allocation& out);

  // Sharing devices.
  void note_alone(JobId id);
  void list_alone(JobId id);
  void unlist_alone(JobId id);
  void leave_partner(JobId id);
  bool join(const JobState& guest);
  void join_pair(const JobState& guest, JobId host);
  void adopt_sharing(JobId id);
  void match_all();
  bool type_suits(const JobState& guest, JobId host) const;

  // Profiling before sharing.
  TypeId profile_type() const;
  bool needs_profile(const JobState& job) const;
  void adopt_profiled(JobId id);
  void end_profiles();
  void start_profiles();
  bool fits_elsewhere(const JobState& job, Allocation& out) const;

  // Processors and memory by sensitivity.
  ModelId host_menu(const Submission& spec);
  bool fits_tuned(const JobState& job, Allocation& out);
  bool place_one_of(const JobState& job, const std::vector<std::uint16_t>& configurations,
                    Allocation& out) const;
  void retune(JobId id, std::uint16_t configuration);
  bool has_hosts_for(const JobState& job, const Configuration& configuration) const;
  void level_excess();

  // The walk.
  void walk_blocking();
  void walk_passing();
  void walk_easy();
  void walk_sharing();
  bool next_head(const std::vector<bool>& closed, Entry& head) const;

  const ListPolicy& policy_;
  Draft& draft_;
  ListMemory& memory_;
  const State& state_;
};

}  // namespace weft

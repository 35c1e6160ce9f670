// Place, the fourth part of a policy: which devices?
#pragma once

#include "policy/state.h"

namespace weft {

class Place {
 public:
  virtual ~Place() = default;

  // Writes to `out` free devices for `replicas` replicas of the job's configuration.
  // A service that may have no replica gets one: what is placed holds something.
  // Returns false, with `out` unspecified, if they do not fit now.
  // Ensures: `out` holds whole gangs, ascending by device, only on available nodes.
  virtual bool place(const State& state, const JobState& job, std::uint16_t configuration,
                     std::uint32_t replicas, Allocation& out) const = 0;
};

// Which of the nodes with room is taken.
enum class NodeOrder { kFirst, kBest, kWorst };

// Gangs on as few nodes as possible: ⌊g/n⌋ entirely free nodes of the n devices that the type's
// largest nodes have, lowest number first, and the remainder on one node chosen by `order`.
// Honours the configuration's pack level, host demands and shares, and the submission's spot_ok.
// With `scatter`, a gang that fits no such way takes the emptiest nodes instead. With `within`, a
// gang of several nodes is kept in one domain of that level if one has room, the fullest such.
class PackedPlace : public Place {
 public:
  explicit PackedPlace(NodeOrder order, bool scatter = false, Level within = Level::kCluster)
      : order_(order), scatter_(scatter), within_(within) {}
  bool place(const State& state, const JobState& job, std::uint16_t configuration,
             std::uint32_t replicas, Allocation& out) const override;
  // As place() for one replica, on devices of this type only. `scatter` allows what the
  // constructor's does.
  bool place_on(TypeId type, const State& state, const JobState& job, std::uint16_t configuration,
                bool scatter, Allocation& out) const;

 private:
  bool place_where(const State& state, const JobState& job, const Configuration& wanted,
                   std::uint32_t replicas, Allocation& out) const;

  NodeOrder order_;
  bool scatter_;
  Level within_;
};

// Places what the user asked for on whichever device type has room, the one believed fastest first.
// A service stays on the type it asked for.
bool place_as_asked(const Place& place, const State& state, const JobState& job,
                    std::uint32_t replicas, Allocation& out);
// Whether this entry of the menu is what was asked for, perhaps on another device type.
bool runs_as_asked(const Submission& spec, std::uint16_t configuration);
// Those entries, the one believed fastest first; of a service only the first.
std::vector<std::uint16_t> entries_as_asked(const Submission& spec);
// One bit for each device type on which the menu runs what was asked for; all bits if any will do.
std::uint64_t types_as_asked(const Submission& spec);

// Appends the `count` lowest free devices of the node, as the configuration asks for them.
// Requires: they are free.
void append_devices(const Ledger& ledger, NodeId node, std::uint32_t count,
                    const Configuration& configuration, Allocation& out);
// Rewrites `out.hosts` to what the configuration asks for beside each of `out.devices`.
void fill_hosts(const Cluster& cluster, const Configuration& configuration, Allocation& out);
// True if the node's processors and memory suffice for `devices` more of the configuration and the
// job may use a node of its class and begin on it now.
bool node_suits(const State& state, NodeId node, std::uint32_t devices, const JobState& job,
                const Configuration& configuration);

}  // namespace weft

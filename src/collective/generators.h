// The functions behind algorithms().  Requires: the matching refusal() is empty.
#pragma once

#include <vector>

#include "collective/algorithms.h"
#include "collective/schedule.h"

namespace weft::collective {

// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations"
// (2009). Rank r talks to r-1 and r+1 only; 2(p-1) rounds of n/p bytes.
Schedule ring_all_reduce(const Request& request);
Schedule ring_reduce_scatter(const Request& request);
Schedule ring_all_gather(const Request& request);

// Several rings at once, one stream each, that pass the ranks in different orders: both directions,
// or steps without a common factor with p.
Schedule bidirectional_ring_all_reduce(const Request& request);
Schedule multi_ring_all_reduce(const Request& request);

// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH"
// (2005): recursive halving, then doubling; 2 log2 p rounds. Other numbers of ranks fold the extra
// ranks into their neighbours before and unfold them after.
Schedule halving_doubling_all_reduce(const Request& request);
Schedule halving_reduce_scatter(const Request& request);
Schedule doubling_all_gather(const Request& request);

// See tree.h. Pipelined: 2 * height - 1 + chunks rounds.
Schedule double_tree_all_reduce(const Request& request);

// log2 p rounds of the whole data, unpipelined.
Schedule binomial_all_reduce(const Request& request);
Schedule binomial_broadcast(const Request& request);
Schedule binomial_reduce(const Request& request);

// Pipelines: chunks follow each other along a chain or down (up) a binary tree.
Schedule chain_broadcast(const Request& request);
Schedule tree_broadcast(const Request& request);
Schedule chain_reduce(const Request& request);
Schedule tree_reduce(const Request& request);

// Rings along the sides of a grid. Torus: every link carries 1/(2 * sides) of the data at a time
// (at once), or 1/2 along one side after another (sequential). Hierarchical: inside the nodes, then
// along the rails that join ranks of the same number, then back.
Schedule torus_all_reduce(const Request& request);
Schedule torus_sequential_all_reduce(const Request& request);
Schedule hierarchical_all_reduce(const Request& request);

// Bruck and others, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems" (1997): log2 p rounds at the price of forwarding.
Schedule bruck_all_gather(const Request& request);
Schedule bruck_all_to_all(const Request& request);
void bruck_gather(int rank, int ranks, double density, std::vector<Round>& rounds);

Schedule dissemination_barrier(const Request& request);

// p-1 rounds in which everybody sends to the next but i.
Schedule direct_all_to_all(const Request& request);
Schedule direct_reduce_scatter(const Request& request);
Schedule direct_all_gather(const Request& request);
Schedule direct_all_reduce(const Request& request);
Schedule exchange_all_reduce(const Request& request);

// Inside the nodes, then one message to each other node.
Schedule hierarchical_all_to_all(const Request& request);

// All push their shares to the servers at once, then all pull. Servers are helpers, or the ranks.
Schedule parameter_server_all_reduce(const Request& request);

// Li and Hoefler, "Near-optimal sparse allreduce for distributed deep learning" (2022), Ok-Topk:
// every rank owns a region, gets the selected values of it from all in turn, and the sums are
// gathered. What travels is the density times the data.
Schedule sparse_all_reduce(const Request& request);

// Switches add up and send back what passes through them; 2a + n/B with one level of switches.
Schedule in_network_all_reduce(const Request& request);

}  // namespace weft::collective

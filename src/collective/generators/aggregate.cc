// Sums made by helpers: parameter servers and switches.
#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

// The sum of what `peers` send, in `target`: the first is added to `held`, or just taken when
// `held` has no cells.
void add_from_peers(const std::vector<int>& peers, Cells held, Cells target, Round& round) {
  for (const int peer : peers) {
    round.ops.push_back(held.count == 0 ? receive(to(peer), target)
                                        : receive_reduce(to(peer), held, target));
    held = target;
  }
}

void send_all(const std::vector<int>& peers, Cells source, bool streamed, Round& round) {
  for (const int peer : peers) {
    round.ops.push_back(send(to(peer), source));
    round.ops.back().streamed = streamed;
  }
}

std::vector<int> numbers(int first, int end, int without = -1) {
  std::vector<int> list;
  for (int i = first; i < end; ++i) {
    if (i != without) list.push_back(i);
  }
  return list;
}

// Rank r takes part with its input and also serves chunk r.
Schedule shared_servers(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "parameter-server", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    const std::vector<int> others = numbers(0, p, r);
    const Cells own = range(Buffer::kOutput, r, 1);
    Round push;
    Round pull;
    for (const int o : others) push.ops.push_back(send(to(o), range(Buffer::kInput, o, 1)));
    add_from_peers(others, range(Buffer::kInput, r, 1), own, push);
    send_all(others, own, false, pull);
    for (const int o : others) pull.ops.push_back(receive(to(o), range(Buffer::kOutput, o, 1)));
    auto& stream = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    stream = p == 1 ? alone(1) : Rounds{push, pull};
  }
  return schedule;
}

// The ranks of each leaf switch; leaves without ranks are left out.
std::vector<std::vector<int>> ranks_of_leaves(const Request& request) {
  const int per_leaf = request.per_node == 0 ? request.ranks : request.per_node;
  std::vector<std::vector<int>> leaves(static_cast<std::size_t>(request.ranks));
  for (int r = 0; r < request.ranks; ++r) {
    const int leaf =
        request.leaf_of.empty() ? r / per_leaf : request.leaf_of[static_cast<std::size_t>(r)];
    leaves[static_cast<std::size_t>(leaf)].push_back(r);
  }
  std::erase_if(leaves, [](const std::vector<int>& ranks) { return ranks.empty(); });
  return leaves;
}

}  // namespace

Schedule parameter_server_all_reduce(const Request& request) {
  if (request.servers == 0) return shared_servers(request);
  const int p = request.ranks;
  const int servers = request.servers;
  Schedule schedule = make_schedule(
      Operation::kAllReduce, "parameter-server", p, servers, 1,
      std::vector<HelperKind>(static_cast<std::size_t>(servers), HelperKind::kServer));
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Round push;
    Round pull;
    for (int s = 0; s < servers; ++s) {
      push.ops.push_back(send(to(p + s), range(Buffer::kInput, s, 1)));
      pull.ops.push_back(receive(to(p + s), range(Buffer::kOutput, s, 1)));
    }
    schedule.programs[static_cast<std::size_t>(r)].streams[0] = {push, pull};
  }
  for (int s = 0; s < servers; ++s) {
    Program& program = schedule.programs[static_cast<std::size_t>(p + s)];
    program.scratch.count = 1;
    Round push;
    Round pull;
    add_from_peers(numbers(0, p), {}, range(Buffer::kScratch, 0, 1), push);
    send_all(numbers(0, p), range(Buffer::kScratch, 0, 1), false, pull);
    program.streams[0] = {push, pull};
  }
  return schedule;
}

// Leaf switches add up their ranks; with several leaves, one more switch adds up the leaves. All of
// it is one round: switches forward while they add.
Schedule in_network_all_reduce(const Request& request) {
  const int p = request.ranks;
  const std::vector<std::vector<int>> groups = ranks_of_leaves(request);
  const int leaves = static_cast<int>(groups.size());
  const int switches = leaves > 1 ? leaves + 1 : 1;
  const int top = p + leaves;
  Schedule schedule = make_schedule(
      Operation::kAllReduce, "in-network", p, 1, 1,
      std::vector<HelperKind>(static_cast<std::size_t>(switches), HelperKind::kSwitch));
  const Cells up = range(Buffer::kScratch, 0, 1);
  const Cells down = range(Buffer::kScratch, leaves > 1 ? 1 : 0, 1);
  for (int s = 0; s < leaves; ++s) {
    const std::vector<int>& ranks = groups[static_cast<std::size_t>(s)];
    for (const int r : ranks) {
      schedule.programs[static_cast<std::size_t>(r)].streams[0] = {
          {.ops = {send(to(p + s), range(Buffer::kInput, 0, 1)),
                   receive(to(p + s), range(Buffer::kOutput, 0, 1))}}};
    }
    Round round;
    add_from_peers(ranks, {}, up, round);
    if (leaves > 1) send_all({top}, up, true, round);
    if (leaves > 1) round.ops.push_back(receive(to(top), down));
    send_all(ranks, down, true, round);
    Program& program = schedule.programs[static_cast<std::size_t>(p + s)];
    program = {.scratch = {.count = leaves > 1 ? 2 : 1}, .streams = {{round}}};
  }
  if (leaves > 1) {
    Round round;
    add_from_peers(numbers(p, top), {}, up, round);
    send_all(numbers(p, top), up, true, round);
    Program& program = schedule.programs[static_cast<std::size_t>(top)];
    program = {.scratch = {.count = 1}, .streams = {{round}}};
  }
  return schedule;
}

}  // namespace weft::collective

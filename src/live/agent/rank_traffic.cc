#include "live/agent/rank_traffic.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/child.h"

namespace weft::live {
namespace {

constexpr double kTrafficPatienceS = 5;
constexpr int kTrafficBurstBytes = 16 << 10;
// A full queue takes this long at the rank's own limit.
constexpr double kTrafficQueueS = 0.03;

// Writes `mark` as the priority of every packet, which the queue takes for the name of a class.
int load_marker(std::uint32_t mark) {
  std::array<bpf_insn, 4> program = {};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[0].dst_reg = BPF_REG_2;
  program[0].imm = static_cast<std::int32_t>(mark);
  program[1].code = BPF_STX | BPF_MEM | BPF_W;
  program[1].dst_reg = BPF_REG_1;
  program[1].src_reg = BPF_REG_2;
  program[1].off = offsetof(__sk_buff, priority);
  program[2].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[2].imm = 1;  // the packet goes on
  program[3].code = BPF_JMP | BPF_EXIT;
  bpf_attr load = {};
  load.prog_type = BPF_PROG_TYPE_CGROUP_SKB;
  load.expected_attach_type = BPF_CGROUP_INET_EGRESS;
  load.insns = reinterpret_cast<std::uintptr_t>(program.data());
  load.insn_cnt = program.size();
  load.license = reinterpret_cast<std::uintptr_t>("");
  return static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load));
}

Status mark(const std::string& group, std::uint32_t value) {
  const int program = load_marker(value);
  const int folder = program < 0 ? -1 : open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bpf_attr attach = {};
  attach.target_fd = static_cast<std::uint32_t>(folder);
  attach.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attach.attach_type = BPF_CGROUP_INET_EGRESS;  // the one before, if any, is replaced
  const bool done = folder >= 0 && syscall(SYS_bpf, BPF_PROG_ATTACH, &attach, sizeof attach) == 0;
  const int number = errno;
  if (folder >= 0) close(folder);
  if (program >= 0) close(program);  // the group keeps it
  if (done) return {};
  return Error{ErrorKind::kUnsupported,
               fmt::format("packets of {} cannot be marked: {}", group, strerror(number)), ""};
}

}  // namespace

Status RankTraffic::tc(const std::string& line) const {
  std::vector<std::string> command = {"tc"};
  if (!space_.empty()) command.insert(command.end(), {"-n", space_});
  std::istringstream words(line);
  for (std::string word; words >> word;) command.push_back(word);
  const auto end = run_child(command, kTrafficPatienceS);
  if (!end.ok()) return end.error();
  if (end->code == 0) return {};
  return Error{ErrorKind::kUnsupported, fmt::format("`tc {}` ended with {}", line, end->code), ""};
}

Status RankTraffic::set(const std::string& group, int number, const TrafficShare& share) const {
  const double most = share.limit > 0 ? std::min(share.limit, link_) : link_;
  // Something must be guaranteed to every class.
  const double least = std::min(most, std::max(share.guarantee, link_ / 100));
  const Status made =
      tc(fmt::format("class replace dev {} parent 1:ffff classid 1:{:x} htb rate {}bps ceil {}bps "
                     "burst {} cburst {} quantum 3000",
                     interface_, number, std::llround(least), std::llround(most),
                     kTrafficBurstBytes, kTrafficBurstBytes));
  if (!made.ok()) return made;
  const auto queue =
      std::max<long long>(2 * kTrafficBurstBytes, std::llround(most * kTrafficQueueS));
  const Status queued =
      tc(fmt::format("qdisc replace dev {} parent 1:{:x} handle {:x}: bfifo limit {}", interface_,
                     number, number + 1, queue));
  if (!queued.ok()) return queued;
  return mark(group, (1U << 16) | static_cast<std::uint32_t>(number));
}

void RankTraffic::drop(int number) const {
  static_cast<void>(tc(fmt::format("class del dev {} classid 1:{:x}", interface_, number)));
}

}  // namespace weft::live

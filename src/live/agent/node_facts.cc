#include "live/agent/node_facts.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/net/socket.h"

namespace weft::live {
namespace {

constexpr int kNvidiaMajor = 195;
constexpr int kMostCpus = CPU_SETSIZE;

// The few functions of NVML that are used, with the layouts of its public interface.
class Nvml {
 public:
  struct Memory {
    unsigned long long total, free, used;
  };

  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    load("nvmlInit_v2", init_);
    load("nvmlShutdown", shutdown_);
    load("nvmlDeviceGetCount_v2", count_);
    load("nvmlDeviceGetHandleByIndex_v2", handle_);
    load("nvmlDeviceGetName", name_);
    load("nvmlDeviceGetMemoryInfo", memory_);
    load("nvmlDeviceGetMinorNumber", minor_);
    ready_ = init_ != nullptr && shutdown_ != nullptr && count_ != nullptr && handle_ != nullptr &&
             name_ != nullptr && memory_ != nullptr && minor_ != nullptr && init_() == 0;
  }
  ~Nvml() {
    if (ready_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<NodeDevice> devices() const {
    std::vector<NodeDevice> found;
    unsigned count = 0;
    if (!ready_ || count_(&count) != 0) return found;
    for (unsigned i = 0; i < count; ++i) {
      void* handle = nullptr;
      char name[96] = {};
      Memory memory = {};
      unsigned minor = i;
      if (handle_(i, &handle) != 0) continue;
      name_(handle, name, sizeof name);
      memory_(handle, &memory);
      minor_(handle, &minor);
      found.push_back({static_cast<int>(i), "cuda", name, static_cast<Bytes>(memory.total),
                       kNvidiaMajor, static_cast<int>(minor)});
    }
    return found;
  }

 private:
  template <typename Function>
  void load(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, void**) = nullptr;
  int (*name_)(void*, char*, unsigned) = nullptr;
  int (*memory_)(void*, Memory*) = nullptr;
  int (*minor_)(void*, unsigned*) = nullptr;
};

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// It is also the name of a control group and a label of connections.
bool is_node_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

std::optional<int> cpu_number(std::string_view text) {
  int number = -1;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || last != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number >= kMostCpus) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash < part.size() ? cpu_number(part.substr(dash + 1)) : first;
    if (!first || !last || *last < *first) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("'{}' is not a list of processors such as 0-3,6", text), ""};
    }
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Result<NodeFacts> discover_node(const NodeWishes& wishes) {
  NodeFacts facts;
  facts.node = wishes.node;
  facts.reach = wishes.reach;
  if (!is_node_name(wishes.node)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("'{}' is not a name for a node", wishes.node),
                 "1 to 64 letters, digits, dots, hyphens and underscores, with --node"};
  }
  facts.cpus = usable_cpus();
  if (!wishes.cpus.empty()) {
    const auto cpus = parse_cpu_list(wishes.cpus);
    if (!cpus.ok()) return cpus.error();
    for (const int cpu : *cpus) {
      if (std::find(facts.cpus.begin(), facts.cpus.end(), cpu) == facts.cpus.end()) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("processor {} is not one of this machine's", cpu),
                     "see /proc/self/status, Cpus_allowed_list"};
      }
    }
    facts.cpus = *cpus;
  }
  facts.cpu_milli =
      wishes.cpu_milli > 0 ? wishes.cpu_milli : 1000 * static_cast<int>(facts.cpus.size());
  facts.memory = wishes.memory > 0
                     ? wishes.memory
                     : static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (wishes.devices == 0) facts.devices = Nvml().devices();
  if (facts.devices.empty()) {
    const int slots = wishes.devices > 0 ? wishes.devices : static_cast<int>(facts.cpus.size());
    for (int i = 0; i < slots; ++i) {
      facts.devices.push_back({i, "cpu-slot", "CPU slot", facts.memory / slots, -1, -1});
    }
  }
  return facts;
}

std::string address_towards(const std::string& there) {
  const auto address = runtime::resolve(there);
  if (!address.ok()) return "";
  const int descriptor = socket(address->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return "";
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  char host[NI_MAXHOST] = {};
  // Of datagrams nothing is sent by connecting.
  const bool known = connect(descriptor, reinterpret_cast<const sockaddr*>(&address->storage),
                             address->size) == 0 &&
                     getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                     getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, host, sizeof host,
                                 nullptr, 0, NI_NUMERICHOST) == 0;
  close(descriptor);
  const std::string text = known ? host : "";
  return text == "::1" || text.starts_with("127.") ? "" : text;
}

nlohmann::json to_json(const NodeDevice& device) {
  return {{"index", device.index},
          {"kind", device.kind},
          {"name", device.name},
          {"memory", device.memory}};
}

}  // namespace weft::live

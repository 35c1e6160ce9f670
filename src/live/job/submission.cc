#include "live/job/submission.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/delimited.h"
#include "collective/algorithms.h"
#include "live/job/fit.h"
#include "live/job/job_fields.h"
#include "live/job/job_text.h"
#include "model/readers/table_reader.h"
#include "runtime/compress/codec_menu.h"

namespace weft::live {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// Device types by name, in any case, in the order of the job. kAnyType for a job that takes any.
Result<std::vector<TypeId>> find_types(const JobSpec& job, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const DeviceType& type : cluster.types) names.push_back(type.name);
  std::vector<TypeId> types;
  Complaints complaints;
  for (const AcceleratorChoice& choice : job.resources.accelerators) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return same_word(name, choice.type);
    });
    if (choice.type.empty()) {
      types.push_back(kAnyType);
    } else if (found != names.end()) {
      types.push_back(static_cast<TypeId>(found - names.begin()));
    } else {
      complaints.add(fmt::format("resources.accelerators names {}; the cluster has {}{}",
                                 shown(choice.type), fmt::join(names, ", "),
                                 did_you_mean(choice.type, names)));
    }
  }
  if (!complaints.empty()) return complaints.error();
  return types;
}

// What is held of each device. One number of thousandths serves all types, so that a policy may
// exchange them; a share by memory alone is that part of the smallest device it may get.
struct DevicePart {
  std::uint32_t milli = kWhole;
  Bytes memory = 0;
};
Result<DevicePart> device_part(const JobSpec& job, const Cluster& cluster,
                               const std::vector<TypeId>& types) {
  DevicePart part{kWhole, job.share.memory};
  if (job.share.percent > 0) {
    part.milli = std::max(1U, static_cast<std::uint32_t>(std::lround(job.share.percent * 10)));
  }
  Bytes smallest = 0;
  for (std::size_t t = 0; t < cluster.types.size(); ++t) {
    const bool may = types.front() == kAnyType ||
                     std::find(types.begin(), types.end(), static_cast<TypeId>(t)) != types.end();
    const Bytes memory = cluster.types[t].memory;
    if (may && memory > 0 && memory >= job.share.memory) {
      smallest = smallest == 0 ? memory : std::min(smallest, memory);
    }
  }
  if (job.share.percent > 0 && part.milli < kWhole && job.share.memory == 0) {
    part.memory = smallest / kWhole * part.milli;
  } else if (job.share.memory > 0 && job.share.percent == 0) {
    if (smallest == 0) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("share.memory is {} GiB, but no device it may get is known to have "
                               "as much",
                               static_cast<double>(job.share.memory) / double{kGiB}),
                   "ask for less, or add share.percent where the cluster states no memory"};
    }
    const double milli = static_cast<double>(job.share.memory) / static_cast<double>(smallest);
    part.milli = static_cast<std::uint32_t>(std::ceil(milli * kWhole));
  }
  return part;
}

Configuration sized(const JobSpec& job, const DevicePart& part, std::uint32_t devices) {
  const double on_node = job.devices_per_node();
  Configuration c;
  c.devices = devices;
  c.milli = part.milli;
  c.device_memory = part.memory;
  if (job.resources.cpus > 0) {
    c.cpu_milli = std::max(1U, static_cast<std::uint32_t>(job.resources.cpus * 1000 / on_node));
  }
  if (job.resources.memory > 0) {
    c.host_memory = std::max<Bytes>(1, job.resources.memory / job.devices_per_node());
  }
  c.network_guarantee = job.bandwidth.guarantee / on_node;
  c.network_limit = job.bandwidth.limit / on_node;
  if (devices <= job.devices_per_node()) {
    c.pack = Level::kNode;
  } else if (job.topology.level) {
    c.pack = *job.topology.level;
    c.pack_required = job.topology.required;
  }
  return c;
}

// The ranks of a job and the links between them: as slow as the slowest that the cluster states, or
// that the job limits itself to, and shared by the ranks of a node. What a rank sends hardly grows
// beyond some ranks, but the time in which that is found out does, and submissions wait for it: no
// more than so many are looked at.
runtime::GroupShape shape_of(const JobSpec& job, const Cluster& cluster, std::uint32_t devices) {
  constexpr std::uint32_t kMostRanks = 32, kMostOnNode = 16;
  // Ranks may have several devices each, or several of them one.
  const std::uint32_t ranks = std::max(1U, devices * job.ranks_per_node() / job.devices_per_node());
  const std::uint32_t on_node = std::min(ranks, job.ranks_per_node());
  const std::uint32_t looked_at = std::min(on_node, kMostOnNode);
  const std::uint32_t hosts = std::min((ranks + on_node - 1) / on_node, kMostRanks / looked_at);
  runtime::GroupShape shape;
  shape.ranks = static_cast<int>(hosts * looked_at);
  shape.one_host = hosts == 1;
  shape.per_host = static_cast<int>(looked_at);
  double bytes_per_s = job.bandwidth.limit;
  for (const Node& node : cluster.nodes) {
    if (node.network_bytes_per_s <= 0) continue;
    bytes_per_s = bytes_per_s > 0 ? std::min(bytes_per_s, node.network_bytes_per_s)
                                  : node.network_bytes_per_s;
  }
  if (bytes_per_s > 0) shape.links.other_host.bytes_per_s = bytes_per_s / on_node;
  return shape;
}

double worth(const Configuration& c) { return c.rate * c.efficiency; }

// What the cost model says of `plain` with every codec and mode, each with its best algorithm, best
// first and at most `most`; none comes first unless another promises clearly more, since
// predictions err. Ranks of one node exchange plain values.
void add_modelled(const JobSpec& job, const Cluster& cluster, Configuration plain, std::size_t most,
                  std::vector<Configuration>& menu) {
  plain.codec = "none";
  plain.sync = "bsp";
  plain.seconds_per_step = job.model.compute;
  const double bytes = sizeof(float) * job.model.parameters;
  plain.traffic = {Traffic::Pattern::kAllReduce, std::llround(bytes), 1.0 / 3};  // backward pass
  std::vector<Configuration> found = {plain};
  const runtime::GroupShape shape = shape_of(job, cluster, plain.devices);
  runtime::ModelStep step{bytes, job.model.compute};
  if (!job.automatic_sync()) step.modes = {"bsp"};
  step.adaptive = job.model.adaptive();
  if (!shape.one_host) {
    const auto filled = runtime::codec_menu(plain, step, shape);
    CHECK(filled.ok());  // of modes and codecs that are built in
    std::set<std::pair<std::string, std::string>> seen;
    for (auto c = filled->configurations.begin() + 1; c != filled->configurations.end(); ++c) {
      if (!seen.insert({c->codec, c->sync}).second) continue;
      if (c->codec == plain.codec && c->sync == plain.sync) {
        found.front() = *c;
      } else {
        found.push_back(*c);
      }
    }
    if (found.size() > 1 && worth(found.front()) < runtime::kWorthCoding * worth(found[1])) {
      std::stable_sort(found.begin(), found.end(),
                       [](const auto& a, const auto& b) { return worth(a) > worth(b); });
    }
  }
  found.resize(std::min(found.size(), most));
  menu.insert(menu.end(), found.begin(), found.end());
}

// The configurations: for what was asked for and then every other size, all types, sync modes and
// codecs. What could not run on the empty cluster is left out.
std::vector<Configuration> build_menu(const JobSpec& job, const Cluster& cluster,
                                      const std::vector<TypeId>& types, const DevicePart& part,
                                      std::uint32_t replicas) {
  const std::uint32_t per_worker = std::max(1U, job.devices_per_node() / job.ranks_per_node());
  const std::uint32_t asked = job.num_nodes * job.devices_per_node();
  std::vector<std::uint32_t> sizes = {asked};
  for (const std::uint32_t workers : job.elastic() ? elastic_sizes(job) : sizes) {
    const std::uint32_t devices = job.elastic() ? workers * per_worker : workers;
    if (devices != asked) sizes.push_back(devices);
  }
  const std::vector<std::string> none = {""};
  const bool modelled = job.automatic_codec() && job.model.parameters > 0;
  const std::size_t most =
      std::max<std::size_t>(1, kMaxConfigurations / sizes.size() / types.size());
  std::vector<Configuration> menu;
  double first_speed = 0;
  for (const std::uint32_t devices : sizes) {
    for (const TypeId type : types) {
      Configuration c = sized(job, part, devices);
      c.type = type;
      if (!fits_empty(cluster, {c, replicas, job.resources.use_spot})) continue;
      const double speed = type == kAnyType ? 1 : cluster.types[type].speed;
      if (first_speed == 0) first_speed = speed;
      c.rate = job.kind == WorkloadKind::kService && job.service.target_qps_per_replica > 0
                   ? job.service.target_qps_per_replica
                   : speed / first_speed * devices / asked;
      if (modelled) {
        add_modelled(job, cluster, c, most, menu);
        continue;
      }
      for (const std::string& sync : job.sync.empty() ? none : job.sync) {
        for (const std::string& codec : job.codec.empty() ? none : job.codec) {
          c.sync = sync;
          c.codec = codec;
          menu.push_back(c);
        }
      }
    }
    if (menu.empty()) break;  // what was asked for must fit
  }
  // The cost model may have begun with another codec than none; rates are relative to the first.
  const double first_rate = menu.empty() || !modelled ? 1 : menu.front().rate;
  for (Configuration& c : menu) c.rate /= first_rate;
  return menu;
}

Result<Seconds> deadline_of(const JobSpec& job, const SubmitTime& time) {
  const double seconds = job.deadline.seconds;
  if (job.deadline.kind == JobDeadline::Kind::kNone) return kNever;
  if (job.deadline.kind == JobDeadline::Kind::kAfterSubmission) return time.now + seconds;
  if (seconds <= time.unix_s) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("deadline is {}; it is {} already", instant_text(seconds),
                             instant_text(time.unix_s)),
                 "write a later time, or a duration such as 2h"};
  }
  return time.now + (seconds - time.unix_s);
}

}  // namespace

std::vector<std::uint32_t> elastic_sizes(const JobSpec& job) {
  if (!job.elastic()) return {job.workers()};
  const std::uint32_t on_node = job.ranks_per_node();
  std::set<std::uint32_t> sizes = {job.min_workers, job.max_workers, job.workers()};
  const auto add = [&](std::uint64_t workers) {
    const bool room = sizes.size() < kMostSizes;
    if (room && workers >= job.min_workers && workers <= job.max_workers) {
      sizes.insert(static_cast<std::uint32_t>(workers));
    }
  };
  // Doublings first, so that a wide range is covered before it is filled.
  for (std::uint64_t workers = 1; workers < on_node; workers *= 2) add(workers);
  for (std::uint64_t nodes = 1; nodes * on_node <= job.max_workers; nodes *= 2)
    add(nodes * on_node);
  for (std::uint64_t nodes = 3; nodes * on_node <= job.max_workers && nodes < 2 * kMostSizes;
       ++nodes) {
    add(nodes * on_node);
  }
  return {sizes.begin(), sizes.end()};
}

Result<Submission> make_submission(const JobSpec& job, const Cluster& cluster, TenantId tenant,
                                   const SubmitTime& time) {
  const Result<std::vector<TypeId>> types = find_types(job, cluster);
  if (!types.ok()) return types.error();
  const Result<DevicePart> part = device_part(job, cluster, *types);
  if (!part.ok()) return part.error();
  const Result<Seconds> deadline = deadline_of(job, time);
  if (!deadline.ok()) return deadline.error();
  const bool service = job.kind == WorkloadKind::kService;
  const std::uint32_t replicas = service ? std::max(1U, job.service.min_replicas) : 1;
  std::vector<Configuration> menu = build_menu(job, cluster, *types, *part, replicas);
  if (menu.empty()) {
    Configuration asked = sized(job, *part, job.num_nodes * job.devices_per_node());
    asked.type = types->front();
    return misfit(cluster, {asked, replicas, job.resources.use_spot});
  }

  Submission out;
  out.name = job.name;
  out.kind = job.kind;
  out.tenant = tenant;
  out.priority = job.priority;
  out.submit = time.now;
  out.deadline = *deadline;
  if (job.time > 0) out.estimate = {job.time, EstimateSource::kUser};
  out.preemptible = job.preemptible;
  out.spot_ok = job.resources.use_spot;
  const auto other = [&](const Configuration& c) {
    return c.codec != menu.front().codec || c.sync != menu.front().sync;
  };
  out.elastic = job.elastic() || std::any_of(menu.begin(), menu.end(), other);
  out.in_place = job.resize == Resizing::kInPlace;
  if (service) {
    out.min_replicas = job.service.min_replicas;
    out.max_replicas = job.service.max_replicas;
    out.latency_objective = job.service.latency_objective;
  }
  out.menu = std::make_shared<const Menu>(Menu{std::move(menu)});
  return out;
}

std::map<std::string, std::string> job_environment(const JobSpec& job,
                                                   const Configuration& chosen) {
  std::map<std::string, std::string> envs = job.envs;
  envs["WEFT_JOB"] = job.name;
  if (!job.checkpoint.dir.empty()) envs["WEFT_CHECKPOINT_DIR"] = job.checkpoint.dir;
  if (!chosen.sync.empty()) envs["WEFT_SYNC"] = chosen.sync;
  if (!chosen.codec.empty()) envs["WEFT_CODEC"] = chosen.codec;
  for (const collective::Algorithm& one : collective::algorithms()) {  // not "all-to-all, …"
    if (one.name == chosen.collective) envs["WEFT_ALGORITHM"] = chosen.collective;
  }
  return envs;
}

std::vector<JobSpec> expand_array(const JobSpec& job) {
  if (job.array.ranges.empty()) return {job};
  const bool named = is_array_member(job);
  std::vector<JobSpec> members;
  for (const ArrayRange& range : job.array.ranges) {
    for (std::uint64_t index = range.first; index <= range.last; index += range.step) {
      JobSpec& member = members.emplace_back(job);
      const std::string text = std::to_string(index);
      if (!named) member.name += "." + text;
      const auto own = static_cast<std::uint32_t>(index);
      member.array = {{{own, own, 1}}, job.array.at_once};
      member.envs["WEFT_ARRAY_INDEX"] = text;
      member.envs["SLURM_ARRAY_TASK_ID"] = text;
    }
  }
  return members;
}

}  // namespace weft::live

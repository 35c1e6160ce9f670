#include "demo_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "live/job/profile.h"
#include "live/job/submission.h"
#include "rank_processes.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kMostDeviceMilli = 215;  // so that two processors and two hundred show the same
constexpr int kSpareMilli = 250;

const char* kFifo = "name: fifo-ddp\nbase: fifo\n";
const char* kJoint =
    "name: joint\n"
    "base: optimus\n"
    "allocate: {part: choose, value: optimus, round: 1, restart: 16}\n";

// 2 (n - 1) / n: what an all-reduce moves out of each member, against two of them.
double ring_factor(double n) { return 2 * (n - 1) / n; }

std::vector<std::uint32_t> sizes_of(const DemoJob& job, const DemoStyle& style) {
  if (!style.elastic || job.max_workers == 0) return {job.workers};
  live::JobSpec spec;
  spec.num_nodes = job.workers;
  spec.min_workers = job.min_workers;
  spec.max_workers = job.max_workers;
  return live::elastic_sizes(spec);
}

std::pair<std::string, std::string> codec_and_sync(const std::string& way) {
  const std::size_t slash = way.find('/');
  if (slash == std::string::npos) return {"", ""};
  return {way.substr(0, slash), way.substr(slash + 1)};
}

}  // namespace

std::string run_as(const std::string& way, const DemoPark& park) {
  return way == kDemoPlain && !park.shaped ? "none/bsp" : way;
}

std::uint32_t nodes_of(std::uint32_t workers, const DemoPark& park) {
  const auto on_node = static_cast<std::uint32_t>(park.devices);
  return (workers + on_node - 1) / on_node;
}

const std::vector<DemoJob>& demo_jobs() {
  static const std::vector<DemoJob> jobs = {
      {"lm", "large", 3, 66, 0},
      {"vision", "medium", 3, 84, 3},
      {"tabular-a", "small", 1, 50, 6, 50},
      {"tabular-b", "small", 1, 50, 8, 50},
      {"elastic", "small", 2, 320, 16, 100, 1, 4},
      {"speech", "large", 4, 76, 30},
      {"ranker", "medium", 2, 80, 36, 100, 0, 0, 45},
      {"search", "medium", 2, 60, 52},
  };
  return jobs;
}

const std::vector<std::string>& demo_ways() {
  static const std::vector<std::string> ways = {kDemoPlain, "none/bsp", "int8/bsp",
                                                "int8/local:period=4"};
  return ways;
}

const std::vector<DemoStyle>& demo_styles() {
  static const std::vector<DemoStyle> styles = {
      {"fifo", kFifo, {kDemoPlain}, false},
      {"placed", kJoint, {kDemoPlain}, true},
      {"weft", kJoint, {demo_ways().begin() + 1, demo_ways().end()}, true},
  };
  return styles;
}

DemoPark demo_park(unsigned processors, bool root) {
  DemoPark park;
  const int devices = park.nodes * park.devices;
  const int all = static_cast<int>(processors) * 1000 - kSpareMilli;
  park.device_milli = std::clamp(all / devices, 50, kMostDeviceMilli);
  park.shaped = root;
  return park;
}

std::string DemoPark::yaml() const {
  return fmt::format(
      "name: demo\nnodes:\n  - {{name: node, count: {}, devices: {}, cpu: {}, network_gbit_s: "
      "{}}}\n",
      nodes, devices, 0.001 * device_milli * devices, link_bytes_per_s * 8e-9);
}

Result<Calibration> Calibration::from_json(const Json& json) {
  Calibration out;
  try {
    for (const Json& row : json.at("loads")) {
      out.loads.push_back(
          {row.at("beside"), row.at("percent").get<double>(), row.at("loaded_s").get<double>()});
    }
    for (const Json& row : json.at("meetings")) {
      out.meetings.push_back({row.at("backend"), row.at("ranks"), row.at("seconds").get<double>()});
    }
    for (const Json& row : json.at("rows")) {
      out.rows.push_back({row.at("model"), row.at("way"), row.at("ranks"), row.at("nodes"),
                          row.at("step_s").get<double>(), row.at("ready_s").get<double>(),
                          row.at("link_bytes").get<double>()});
    }
  } catch (const Json::exception& problem) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the calibration's result cannot be read: {}", problem.what()), ""};
  }
  return out;
}

const Calibration::Row* Calibration::find(const std::string& model, const std::string& way,
                                          int ranks, int nodes) const {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.model == model && r.way == way && r.ranks == ranks && r.nodes == nodes;
  });
  return row == rows.end() ? nullptr : &*row;
}

Seconds Calibration::loading(double traffic) const {
  const auto beside = [&](const char* what) {
    double sum = 0, count = 0;
    for (const Load& load : loads) {
      if (load.beside != what) continue;
      sum += load.loaded * load.percent / 100;
      ++count;
    }
    return count > 0 ? sum / count : 0;
  };
  const Seconds quiet = beside("computation");
  return quiet + traffic * (beside("links") - quiet);
}

double Calibration::slowdown() const {
  return loading(0) > 0 ? std::max(1.0, loading(1) / loading(0)) : 1;
}

Seconds Calibration::alone(const std::string& model, Seconds Row::*taken) const {
  // The same on every device: the mean of those that measured it.
  double sum = 0, count = 0;
  for (const Row& row : rows) {
    if (row.model != model || row.ranks != 1) continue;
    sum += row.*taken;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

Seconds Calibration::compute(const std::string& model) const { return alone(model, &Row::step); }

template <typename Taken>
Seconds Calibration::scaled(const std::string& model, const std::string& way, std::uint32_t workers,
                            std::uint32_t nodes, Taken taken) const {
  if (workers < 2) return 0;
  const Row* pair = find(model, way, 2, nodes > 1 ? 2 : 1);
  if (pair == nullptr) return 0;
  const Seconds two = std::max(0.0, taken(*pair));
  if (workers == 2 || nodes == 1) return two;
  // Larger groups by what four workers took, of this model or else of the largest, along the ring's
  // factor.
  const std::string& like = find(model, way, 4, 2) != nullptr ? model : "large";
  const Row *four = find(like, way, 4, 2), *its_pair = find(like, way, 2, 2);
  if (four == nullptr || its_pair == nullptr) return two * ring_factor(workers);
  const double growth = std::max(0.0, taken(*four)) / std::max(1e-3, taken(*its_pair));
  const double along = (ring_factor(workers) - 1) / (ring_factor(4) - 1);
  return two * (1 + (growth - 1) * along);
}

Seconds Calibration::exposed(const std::string& model, const std::string& way,
                             std::uint32_t workers, std::uint32_t nodes) const {
  return scaled(model, way, workers, nodes,
                [&](const Row& row) { return row.step - compute(row.model); });
}

Seconds Calibration::on_link(const std::string& model, const std::string& way,
                             std::uint32_t workers, std::uint32_t nodes,
                             double link_bytes_per_s) const {
  const Seconds all = exposed(model, way, workers, nodes);
  const Seconds carried =
      scaled(model, way, workers, nodes, [](const Row& row) { return row.link_bytes; }) /
      link_bytes_per_s;
  return carried > 0 ? std::min(carried, all) : all;  // where nothing was counted
}

double Calibration::link_share(const std::string& model, const std::string& way,
                               std::uint32_t workers, std::uint32_t nodes,
                               double link_bytes_per_s) const {
  if (workers < 2 || nodes < 2) return 0;
  return on_link(model, way, workers, nodes, link_bytes_per_s) /
         (compute(model) + exposed(model, way, workers, nodes));
}

Seconds Calibration::start(const std::string& model, const std::string& way, std::uint32_t workers,
                           std::uint32_t nodes, double percent, double traffic) const {
  Seconds meeting = 0;
  if (workers > 1) {
    // Pairs and fours were measured; others along the straight line through them.
    const std::string backend = way == kDemoPlain ? "gloo" : "weft";
    Seconds two = 0, four = 0;
    for (const Meeting& each : meetings) {
      if (each.backend == backend) (each.ranks == 2 ? two : four) = each.seconds;
    }
    meeting = std::max(0.0, two + (four - two) * (workers - 2.0) / 2);
  }
  const Seconds ready =
      scaled(model, way, workers, nodes, [](const Row& row) { return row.ready; });
  return (loading(traffic) + meeting + ready + alone(model, &Row::ready)) * 100 / percent;
}

live::JobSpec demo_spec(const DemoJob& job, const DemoStyle& style, const DemoPark& park,
                        const std::string& folder) {
  live::JobSpec spec;
  spec.name = job.name;
  spec.num_nodes = job.workers;
  spec.resources.cpus = 0.001 * park.device_milli * job.percent / 100;
  if (job.percent < 100) spec.share.percent = job.percent;
  if (style.elastic && job.max_workers > 0) {
    spec.min_workers = job.min_workers;
    spec.max_workers = job.max_workers;
  }
  if (job.deadline > 0) spec.deadline = {live::JobDeadline::Kind::kAfterSubmission, job.deadline};
  for (const std::string& way : style.ways) {
    const auto [codec, sync] = codec_and_sync(way);
    if (codec.empty()) continue;
    if (std::find(spec.codec.begin(), spec.codec.end(), codec) == spec.codec.end())
      spec.codec.push_back(codec);
    if (std::find(spec.sync.begin(), spec.sync.end(), sync) == spec.sync.end())
      spec.sync.push_back(sync);
  }
  if (!park.shaped) spec.bandwidth.limit = park.link_bytes_per_s;
  spec.checkpoint.dir = folder + "/checkpoints/" + style.name + "-" + job.name;
  spec.checkpoint.grace = 5;
  const std::string program = own_program();
  spec.envs["PYTHONPATH"] = program.substr(0, program.rfind('/')) + "/python";
  // Known from the cluster file, so that ranks need not measure it.
  spec.envs["WEFT_LINKS"] =
      fmt::format("1us,5GB/s,200us,{:.3f}MB/s,5GB/s", park.link_bytes_per_s * 1e-6);
  const bool plain = style.ways.front() == kDemoPlain && park.shaped;
  spec.run = fmt::format(
      "exec /usr/bin/python3 -W ignore -m weft.demo_training --model {} --batches {:.0f}{}",
      job.model, job.batches, plain ? " --plain" : "");
  spec.workdir = folder;
  return spec;
}

Json demo_profile(const DemoJob& job, const DemoStyle& style, const DemoPark& park,
                  const Calibration& calibration) {
  Json rows = Json::array();
  const Seconds compute = calibration.compute(job.model) * 100 / job.percent;
  for (const std::uint32_t workers : sizes_of(job, style)) {
    const std::uint32_t nodes = nodes_of(workers, park);
    for (const std::string& way : style.ways) {
      const auto [codec, sync] = codec_and_sync(way);
      const std::string as = run_as(way, park);
      const Seconds packed = calibration.exposed(job.model, as, workers, nodes);
      const Seconds spread = calibration.exposed(job.model, as, workers, workers);
      // For the model of jobs that share links. There, a job that sends meets others on its link
      // all the time; here it does only while they send, for which the share of time is taken in
      // which it sends itself when it has half of the link.
      const std::uint32_t across = nodes > 1 ? nodes : workers;
      const Seconds whole = compute + (nodes > 1 ? packed : spread);
      const Seconds sends =
          workers < 2 ? 0
                      : calibration.on_link(job.model, as, workers, across, park.link_bytes_per_s);
      const Seconds meets = sends * 2 * sends / (whole + sends);
      rows.push_back(
          {{"workers", workers},
           {"codec", codec},
           {"sync", sync},
           {"rate", workers / (compute + packed)},
           {"scattered_rate", workers / (compute + spread)},
           {"compute_s", whole - meets},
           {"bytes_per_step",
            std::llround(workers < 2 ? 0 : meets * park.link_bytes_per_s / ring_factor(across))}});
    }
  }
  return {{"work", job.batches}, {"rows", rows}};
}

}  // namespace weft

// The jobs of `weft demo`, what was measured of them, and what is therefore expected.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/job/job_spec.h"
#include "model/cluster.h"

namespace weft {

struct DemoJob {
  std::string name, model;  // models of weft/demo_training.py
  std::uint32_t workers = 1;
  double batches = 0;  // of all workers together
  Seconds submit = 0;
  double percent = 100;                            // of its device
  std::uint32_t min_workers = 0, max_workers = 0;  // elastic
  Seconds deadline = 0;                            // after submission; 0: none
};
const std::vector<DemoJob>& demo_jobs();
// The one of which a rank is killed.
inline constexpr std::size_t kDemoVictim = 1;

// How ranks exchange gradients: "ddp" is DistributedDataParallel on gloo, else CODEC/SYNC.
inline constexpr const char* kDemoPlain = "ddp";
const std::vector<std::string>& demo_ways();

// Nodes, devices and links of the demo's cluster.
struct DemoPark {
  int nodes = 4, devices = 2;
  int device_milli = 215;  // of a processor
  double link_bytes_per_s = 50e6 / 8;
  bool shaped = true;  // links are real limits (root); else only what Weft's runtime sends is paced
  std::string yaml() const;
};
// For a machine with so many processors: all devices together leave a quarter of one free.
DemoPark demo_park(unsigned processors, bool root);

// What one calibration measured.
struct Calibration {
  // A program that loads and ends, on a share of a device, beside others that compute or that fill
  // their links.
  struct Load {
    std::string beside;
    double percent = 100;
    Seconds loaded = 0;
  };
  std::vector<Load> loads;
  struct Meeting {  // of ranks that look for each other
    std::string backend;
    int ranks = 2;
    Seconds seconds = 0;
  };
  std::vector<Meeting> meetings;
  struct Row {
    std::string model, way;
    int ranks = 1, nodes = 1;
    Seconds step = 0;
    // From the meeting until the model is the same on all ranks, and what the first steps take
    // more.
    Seconds ready = 0;
    double link_bytes = 0;  // of a step, over a node's link
  };
  std::vector<Row> rows;

  static Result<Calibration> from_json(const nlohmann::json& json);
  // What a worker's process takes beside its steps, on a device of which it has `percent`.
  // `traffic`: how much others fill their links meanwhile, from 0 to 1.
  Seconds start(const std::string& model, const std::string& way, std::uint32_t workers,
                std::uint32_t nodes, double percent, double traffic) const;
  // Of a step on a whole device: computation, and what sending adds to it. Workers on `nodes`
  // nodes.
  Seconds compute(const std::string& model) const;
  // Requires: links of `link_bytes_per_s`.
  Seconds on_link(const std::string& model, const std::string& way, std::uint32_t workers,
                  std::uint32_t nodes, double link_bytes_per_s) const;
  Seconds exposed(const std::string& model, const std::string& way, std::uint32_t workers,
                  std::uint32_t nodes) const;
  // By how much computation takes longer beside full links, as loading does. Likely the kernel's
  // work for packets counts as that of whoever runs; that was not tested by itself.
  double slowdown() const;
  // The part of a step in which its link is in use.
  double link_share(const std::string& model, const std::string& way, std::uint32_t workers,
                    std::uint32_t nodes, double link_bytes_per_s) const;

 private:
  Seconds loading(double traffic) const;  // on a whole device
  // Of one worker by itself.
  Seconds alone(const std::string& model, Seconds Row::*taken) const;
  const Row* find(const std::string& model, const std::string& way, int ranks, int nodes) const;
  // What pairs and fours took more than `alone`, for a group of this size.
  template <typename Taken>
  Seconds scaled(const std::string& model, const std::string& way, std::uint32_t workers,
                 std::uint32_t nodes, Taken taken) const;
};

// How jobs of one run of the demo are submitted.
struct DemoStyle {
  std::string name, policy;       // the policy's whole text
  std::vector<std::string> ways;  // the first is asked for
  bool elastic = false;
};
const std::vector<DemoStyle>& demo_styles();

// The job file's content and the measured profile, as the interface takes them.
live::JobSpec demo_spec(const DemoJob& job, const DemoStyle& style, const DemoPark& park,
                        const std::string& folder);
nlohmann::json demo_profile(const DemoJob& job, const DemoStyle& style, const DemoPark& park,
                            const Calibration& calibration);

// How a way is run: where only Weft's runtime is paced, plain jobs run on it.
std::string run_as(const std::string& way, const DemoPark& park);
// The least number of nodes that so many workers need.
std::uint32_t nodes_of(std::uint32_t workers, const DemoPark& park);

// Rounds of the policies that decide in rounds, and how long before one the first job is submitted.
inline constexpr Seconds kDemoRound = 1, kDemoLead = 0.15;

}  // namespace weft

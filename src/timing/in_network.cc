#include "timing/in_network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

struct Preset {
  std::string_view name;
  InNetworkSwitch values;
};

const std::array<Preset, 3>& presets() {
  static const std::array<Preset, 3> kPresets = {{
      {"switchml",
       {256, 1024, 42, 0, 0, 10e-3, SlotSharing::kStatic,
        "SwitchML (Sapio et al., NSDI 2021), defaults of its public client: 256 packets "
        "outstanding, 256 values of 4 bytes each, timeout 10 ms; Ethernet, IPv4 and UDP headers"}},
      {"atp",
       {20'000, 248, 60, 0, 0, 10e-3, SlotSharing::kShared,
        "ATP (Lao et al., NSDI 2021), its public code: packets of 308 bytes with 62 values of 4 "
        "bytes, 40,000 registers of 32 values, two for a packet; timeout as of SwitchML"}},
      {"sharp",
       {-1, 2048, 0, 0, 0, 0, SlotSharing::kExclusive,
        "SHARP streaming aggregation (NVIDIA SHARP documentation): line rate, lossless links, one "
        "active tree per Quantum switch"}},
  }};
  return kPresets;
}

// A job under way.
struct Running {
  const InNetworkJob* job = nullptr;
  double left = 0;     // bytes
  double by_host = 0;  // bytes so far
  double goodput = 0, hosts = 0, cycle = 0;
  bool holds_switch = false;
};

struct Rate {
  double bytes_per_s = 0;
  double host_share = 0;
};

// Bytes per second through so many slots.
double through(const InNetworkSwitch& sw, double slots, Seconds cycle) {
  if (sw.slots < 0 || (cycle <= 0 && slots > 0)) return kEndless;
  return slots <= 0 ? 0 : slots * sw.payload_bytes / cycle;
}

Rate better_of(double in_switch, const Running& r) {
  const double rate = std::min(in_switch, r.goodput);
  return rate >= r.hosts ? Rate{rate, 0} : Rate{r.hosts, 1};
}

// The rate when a part f of the packets finds a slot: a server receives f + (1 - f) w of them for
// each of the sum.
double shared_rate(const Running& r, double f) {
  const double arriving = f + (1 - f) * r.job->workers;
  return r.goodput * std::min(1.0, r.job->fallback_servers / arriving);
}

// The largest part of packets for which there are slots.
double found_part(const InNetworkSwitch& sw, const std::vector<Running>& running) {
  const auto needed = [&](double f) {
    double slots = 0;
    for (const Running& r : running) {
      if (r.left > 0) slots += f * shared_rate(r, f) * r.cycle / sw.payload_bytes;
    }
    return slots;
  };
  if (sw.slots < 0 || needed(1) <= static_cast<double>(sw.slots)) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (needed(middle) <= static_cast<double>(sw.slots) ? low : high) = middle;
  }
  return low;
}

std::vector<Rate> rates_of(const InNetworkSwitch& sw, const std::vector<Running>& running) {
  const double found = sw.sharing == SlotSharing::kShared ? found_part(sw, running) : 0;
  std::vector<Rate> rates;
  for (const Running& r : running) {
    const auto all = static_cast<double>(sw.slots);
    switch (sw.sharing) {
      case SlotSharing::kStatic: {
        const double part = std::floor(all / static_cast<double>(running.size()));
        rates.push_back(better_of(through(sw, part, r.cycle), r));
        break;
      }
      case SlotSharing::kShared:
        rates.push_back({shared_rate(r, found), 1 - found});
        break;
      case SlotSharing::kExclusive:
        rates.push_back(r.holds_switch ? better_of(through(sw, all, r.cycle), r)
                                       : Rate{r.hosts, 1});
        break;
    }
  }
  return rates;
}

Running start(const InNetworkSwitch& sw, const InNetworkJob& job, bool first) {
  CHECK(job.workers >= 1 && job.line_bytes_per_s > 0 && job.fallback_servers >= 1);
  Running r{&job, job.bytes};
  const double on_wire = sw.payload_bytes / (sw.payload_bytes + sw.header_bytes);
  r.goodput = job.line_bytes_per_s * on_wire * (1 - sw.loss);
  r.hosts = r.goodput * std::min(1.0, static_cast<double>(job.fallback_servers) / job.workers);
  r.cycle = sw.rtt + sw.timeout * expected_timeouts(job.workers, sw.loss);
  r.holds_switch = first;
  return r;
}

double slots_of(const InNetworkSwitch& sw, const Running& r, std::size_t jobs) {
  const auto all = static_cast<double>(sw.slots);
  if (sw.sharing == SlotSharing::kStatic) return std::floor(all / static_cast<double>(jobs));
  return sw.sharing == SlotSharing::kExclusive && !r.holds_switch ? 0 : all;
}

void describe_limits(const InNetworkSwitch& sw, const Running& r, std::size_t jobs,
                     InNetworkOutcome& out) {
  const double slots = slots_of(sw, r, jobs);
  const bool denied = sw.sharing == SlotSharing::kExclusive && !r.holds_switch;
  out.slot_limit_bytes_per_s = denied ? 0 : through(sw, slots, sw.rtt);
  out.loss_limit_bytes_per_s = denied ? 0 : through(sw, slots, r.cycle);
  out.goodput_bytes_per_s = r.goodput;
  out.fallback_bytes_per_s = r.hosts;
  out.timeouts_per_packet = expected_timeouts(r.job->workers, sw.loss);
  out.fallback_share = r.job->bytes > 0 ? r.by_host / r.job->bytes : 0;
  const Seconds moving = out.time_s - r.job->startup;
  out.bytes_per_s = moving > 0 ? r.job->bytes / moving : 0;
  if (out.fallback_share > 0) {
    out.limited_by = "fall-back";
  } else {
    const double line = r.goodput * (1 - 1e-9);  // limits that are equal but for rounding
    out.limited_by = out.loss_limit_bytes_per_s >= line   ? "line"
                     : out.slot_limit_bytes_per_s >= line ? "loss"
                                                          : "slots";
  }
}

}  // namespace

std::string_view name_of(SlotSharing sharing) {
  constexpr std::array<std::string_view, 3> kNames = {"static", "shared", "exclusive"};
  return kNames[static_cast<std::size_t>(sharing)];
}

Result<InNetworkSwitch> in_network_preset(const std::string& name) {
  std::vector<std::string> known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset.values;
    known.emplace_back(preset.name);
  }
  const std::string near = near_miss(name, known);
  return Error{ErrorKind::kNotFound,
               fmt::format("there is no in-network preset called '{}'; known: {}", name,
                           fmt::join(known, ", ")),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

double expected_timeouts(int workers, double loss) {
  double sum = 0;
  for (double again = loss; again > 1e-18; again *= loss) {
    sum += -std::expm1(2.0 * workers * std::log1p(-again));
  }
  return sum;
}

std::vector<InNetworkOutcome> run_in_network(const InNetworkSwitch& sw,
                                             const std::vector<InNetworkJob>& jobs) {
  CHECK(sw.payload_bytes > 0 && sw.loss >= 0 && sw.loss < 1);
  std::vector<Running> running;
  for (const InNetworkJob& job : jobs) running.push_back(start(sw, job, running.empty()));
  std::vector<InNetworkOutcome> out(jobs.size());
  Seconds now = 0;
  while (true) {
    const std::vector<Rate> rates = rates_of(sw, running);
    Seconds step = kEndless;
    for (std::size_t j = 0; j < running.size(); ++j) {
      if (running[j].left > 0) step = std::min(step, running[j].left / rates[j].bytes_per_s);
    }
    if (step == kEndless) break;
    now += step;
    for (std::size_t j = 0; j < running.size(); ++j) {
      Running& r = running[j];
      if (r.left <= 0) continue;
      const bool ends = r.left / rates[j].bytes_per_s <= step;
      const double moved = ends ? r.left : step * rates[j].bytes_per_s;
      r.by_host += moved * rates[j].host_share;
      r.left = ends ? 0 : r.left - moved;
      if (ends) out[j].time_s = now;
    }
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    out[j].time_s += jobs[j].startup;
    describe_limits(sw, running[j], jobs.size(), out[j]);
  }
  return out;
}

}  // namespace weft

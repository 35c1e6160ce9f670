#include "net_in_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/quantity.h"
#include "base/table.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSlotsModel =
    "fluid: a slot holds the sum of one packet of each worker for one round trip, so that slots x "
    "payload / RTT flow at most; a lost packet holds its slot for a timeout more and crosses the "
    "wire again; what finds no slot is added up by hosts, which receive it from every worker; jobs "
    "are alike, start together, have ports of their own and share only the slots";

Error bad_option(const char* option, const std::string& value, std::string_view wanted) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{} is '{}'; it must be {}", option, value, wanted), ""};
}

Status read_quantities(const InNetworkOptions& o, InNetworkSwitch& sw) {
  if (!o.packet.empty()) {
    const auto bytes = parse_bytes(o.packet);
    if (!bytes || *bytes < 1) return bad_option("--packet", o.packet, kBytesWanted);
    sw.payload_bytes = *bytes;
  }
  const auto time = [&](const char* name, const std::string& text, Seconds& into) -> Status {
    if (text.empty()) return {};
    const auto seconds = parse_seconds(text);
    if (!seconds) return bad_option(name, text, kSecondsWanted);
    into = *seconds;
    return {};
  };
  const Status rtt = time("--rtt", o.rtt, sw.rtt);
  return rtt.ok() ? time("--timeout", o.timeout, sw.timeout) : rtt;
}

Result<InNetworkSwitch> switch_of(const InNetworkOptions& o, Seconds startup) {
  InNetworkSwitch sw;
  sw.slots = -1;
  sw.timeout = 1e-3;
  sw.source = "as given";
  if (!o.preset.empty()) {
    auto preset = in_network_preset(o.preset);
    if (!preset.ok()) return preset.error();
    sw = *preset;
  }
  sw.rtt = startup;
  const Status read = read_quantities(o, sw);
  if (!read.ok()) return read.error();
  if (o.given("--slots")) sw.slots = o.slots;
  if (o.given("--loss")) sw.loss = o.loss;
  for (SlotSharing s : {SlotSharing::kStatic, SlotSharing::kShared, SlotSharing::kExclusive}) {
    if (name_of(s) == o.sharing) sw.sharing = s;
  }
  return sw;
}

std::string rate_text(double bytes_per_s) {
  return std::isinf(bytes_per_s) ? "no limit" : bytes_per_s_text(bytes_per_s);
}

}  // namespace

bool InNetworkOptions::given() const {
  return std::any_of(all.begin(), all.end(), [](const CLI::Option* o) { return o->count() > 0; });
}

bool InNetworkOptions::given(const std::string& name) const {
  return std::any_of(all.begin(), all.end(),
                     [&](const CLI::Option* o) { return o->count() > 0 && o->check_name(name); });
}

void add_in_network_options(CLI::App& app, InNetworkOptions& o) {
  const auto group = [&](CLI::Option* option) { o.all.push_back(option->group("in-network")); };
  group(app.add_option("--in-network-preset", o.preset, "switchml, atp or sharp"));
  group(app.add_option("--slots", o.slots, "of the switch; default: as many as needed")
            ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40)));
  group(app.add_option("--packet", o.packet, "payload of a packet, such as 1KiB"));
  group(app.add_option("--rtt", o.rtt, "that a slot is held; default: up and down the topology"));
  group(app.add_option("--loss", o.loss, "part of the packets that is lost, each way")
            ->check(CLI::Range(0.0, 0.5)));
  group(app.add_option("--timeout", o.timeout, "until a lost packet is sent again; default 1ms"));
  group(app.add_option("--slot-sharing", o.sharing, "static, shared or exclusive")
            ->check(CLI::IsMember({"static", "shared", "exclusive"})));
  group(
      app.add_option("--jobs", o.jobs, "that use the same switches")->check(CLI::Range(1, 10'000)));
}

Result<InNetworkReport> limit_in_network(const InNetworkOptions& options,
                                         const CollectiveQuestion& question,
                                         CollectiveAnswer& answer) {
  CollectiveQuestion empty = question;
  empty.bytes = 0;
  auto start = choose_collective(empty, answer.best.algorithm);
  if (!start.ok()) return start.error();
  InNetworkReport report;
  report.job.workers = question.request.ranks;
  report.job.bytes = question.bytes;
  report.job.startup = start->best.time_s;
  report.job.fallback_servers = std::max(1, question.request.servers);
  const Seconds moving = answer.best.time_s - report.job.startup;
  if (question.bytes <= 0 || moving <= 0) {
    return bad_option("--bytes", bytes_text(question.bytes), "above 0 for a limited switch");
  }
  report.job.line_bytes_per_s = question.bytes / moving;
  auto sw = switch_of(options, report.job.startup);
  if (!sw.ok()) return sw.error();
  report.sw = *sw;
  const std::vector<InNetworkJob> jobs(static_cast<std::size_t>(options.jobs), report.job);
  report.outcomes = run_in_network(report.sw, jobs);
  answer.best.time_s = 0;
  for (const InNetworkOutcome& out : report.outcomes) {
    answer.best.time_s = std::max(answer.best.time_s, out.time_s);
  }
  answer.considered = {answer.best};
  return report;
}

ordered_json json_of(const InNetworkReport& report) {
  const auto number = [](double value) {
    return std::isinf(value) ? ordered_json() : ordered_json(value);
  };
  const InNetworkSwitch& sw = report.sw;
  ordered_json j{{"slots", sw.slots < 0 ? ordered_json() : ordered_json(sw.slots)},
                 {"packet_bytes", sw.payload_bytes},
                 {"header_bytes", sw.header_bytes},
                 {"rtt_s", sw.rtt},
                 {"loss", sw.loss},
                 {"timeout_s", sw.timeout},
                 {"sharing", name_of(sw.sharing)},
                 {"source", sw.source},
                 {"line_bytes_per_s", report.job.line_bytes_per_s},
                 {"startup_s", report.job.startup},
                 {"fallback_servers", report.job.fallback_servers},
                 {"model", kSlotsModel},
                 {"jobs", ordered_json::array()}};
  for (const InNetworkOutcome& out : report.outcomes) {
    j["jobs"].push_back({{"time_s", out.time_s},
                         {"effective_bytes_per_s", out.bytes_per_s},
                         {"limited_by", out.limited_by},
                         {"slot_limit_bytes_per_s", number(out.slot_limit_bytes_per_s)},
                         {"loss_limit_bytes_per_s", number(out.loss_limit_bytes_per_s)},
                         {"goodput_bytes_per_s", out.goodput_bytes_per_s},
                         {"fallback_bytes_per_s", out.fallback_bytes_per_s},
                         {"fallback_share", out.fallback_share},
                         {"timeouts_per_packet", out.timeouts_per_packet}});
  }
  return j;
}

void print(const InNetworkReport& report) {
  const InNetworkSwitch& sw = report.sw;
  fmt::print("switch: {} slots ({}), packets of {} and {} of headers, RTT {}, loss {}; {}\n",
             sw.slots < 0 ? "enough" : fmt::format("{}", sw.slots), name_of(sw.sharing),
             bytes_text(sw.payload_bytes), bytes_text(sw.header_bytes), seconds_text(sw.rtt),
             sw.loss, sw.source);
  Table table({"job", "time", "rate", "<limited by", "slot limit", "with loss", "line", "hosts",
               "by hosts"});
  constexpr std::size_t kShown = 16;
  for (std::size_t j = 0; j < std::min(report.outcomes.size(), kShown); ++j) {
    const InNetworkOutcome& out = report.outcomes[j];
    table.row({fmt::format("{}", j), seconds_text(out.time_s), bytes_per_s_text(out.bytes_per_s),
               out.limited_by, rate_text(out.slot_limit_bytes_per_s),
               rate_text(out.loss_limit_bytes_per_s), bytes_per_s_text(out.goodput_bytes_per_s),
               bytes_per_s_text(out.fallback_bytes_per_s),
               fmt::format("{:.3g} %", 100 * out.fallback_share)});
  }
  std::fputs(table.text().c_str(), stdout);
  if (report.outcomes.size() > kShown) {
    fmt::print("and {} more jobs\n", report.outcomes.size() - kShown);
  }
  fmt::print("model of the switch: {}\n", kSlotsModel);
}

}  // namespace weft

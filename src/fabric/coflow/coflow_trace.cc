#include "fabric/coflow/coflow_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/delimited.h"
#include "base/files.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxFileBytes = 1u << 30;
constexpr double kMaxArrivalMs = 1e12;
constexpr double kMaxTargetMiB = 1e12;

// The words of one line, in order; a word that is missing or wrong is told once.
class LineWords {
 public:
  LineWords(std::string_view text, std::string where, Complaints& complaints)
      : rest_(text), where_(std::move(where)), complaints_(complaints) {}

  std::string_view word() {
    rest_ = trimmed(rest_);
    const std::size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }
  double number(std::string_view what, double low, double high) {
    return checked(word(), what, low, high);
  }
  std::uint32_t count(std::string_view what, double low, double high) {
    const double value = number(what, low, high);
    if (ok_ && value != static_cast<std::uint32_t>(value)) {
      complain(fmt::format("{} is {}; it must be a whole number", what, value));
    }
    return ok_ ? static_cast<std::uint32_t>(value) : 0;
  }
  double checked(std::string_view text, std::string_view what, double low, double high) {
    const auto value = parse_number(text);
    if (value.has_value() && *value >= low && *value <= high) return *value;
    complain(text.empty() ? fmt::format("the line ends where {} should stand", what)
                          : fmt::format("{} is {}; it must be a number from {} to {}", what,
                                        shown(text), low, high));
    return low;
  }
  void expect_end() {
    const std::string_view extra = word();
    if (!extra.empty()) complain(fmt::format("{} stands after the last target", shown(extra)));
  }
  void complain(const std::string& sentence) {
    if (ok_) complaints_.add(where_ + sentence);
    ok_ = false;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  std::string where_;
  Complaints& complaints_;
  bool ok_ = true;
};

void read_coflow(LineWords& line, std::uint32_t ports, Coflow& coflow) {
  coflow.name = std::string(line.word());
  coflow.arrival = line.number("the arrival in ms", 0, kMaxArrivalMs) / 1e3;
  const std::uint32_t senders = line.count("the number of sources", 1, kMaxCoflowPorts);
  const double last_port = static_cast<double>(ports) - 1;
  for (std::uint32_t i = 0; i < senders && line.ok(); ++i) {
    coflow.sources.push_back(line.count("a source's port", 0, last_port));
  }
  std::map<PortId, double> received;
  const std::uint32_t receivers = line.count("the number of targets", 1, kMaxCoflowPorts);
  for (std::uint32_t i = 0; i < receivers && line.ok(); ++i) {
    const std::string_view word = line.word();
    const std::size_t colon = std::min(word.find(':'), word.size());
    const double port = line.checked(word.substr(0, colon), "a target's port", 0, last_port);
    const std::string_view size = word.substr(std::min(colon + 1, word.size()));
    const double mib = line.checked(size, "a target's MiB", 0, kMaxTargetMiB);
    if (line.ok()) received[static_cast<PortId>(port)] += mib * kMiB;
  }
  line.expect_end();
  if (!line.ok()) return;
  std::sort(coflow.sources.begin(), coflow.sources.end());
  std::map<PortId, double> share;  // part of the mappers that a port holds
  for (PortId port : coflow.sources) share[port] += 1.0 / senders;
  coflow.sources.erase(std::unique(coflow.sources.begin(), coflow.sources.end()),
                       coflow.sources.end());
  double total = 0;
  for (const auto& [port, bytes] : received) coflow.targets.push_back(port);
  for (PortId source : coflow.sources) {
    for (const auto& [port, bytes] : received) {
      coflow.bytes.push_back(bytes * share[source]);
      total += coflow.bytes.back();
    }
  }
  if (total < 1) line.complain("the coflow moves nothing; it must move at least a byte");
}

}  // namespace

Result<CoflowTrace> parse_coflow_trace(const std::string& path, std::string_view text) {
  if (const auto bad = find_bad_byte(text)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:{}: {} is no text", path, bad->line, bad->what), ""};
  }
  Complaints complaints;
  CoflowTrace trace;
  trace.path = path;
  std::uint32_t expected = 0;
  std::uint64_t pairs = 0;
  long number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (content.empty()) continue;
    LineWords line(content, fmt::format("{}:{}: ", path, number), complaints);
    if (trace.ports == 0) {
      trace.ports = line.count("the number of ports", 1, kMaxCoflowPorts);
      expected = line.count("the number of coflows", 1, kMaxCoflows);
      line.expect_end();
      if (!line.ok()) break;  // without ports no line can be judged
      continue;
    }
    Coflow coflow;
    read_coflow(line, trace.ports, coflow);
    pairs += coflow.bytes.size();
    if (trace.coflows.size() >= expected) line.complain("more coflows than the first line says");
    if (pairs > kMaxCoflowPairs) {
      line.complain(fmt::format("more than {} flows in all", kMaxCoflowPairs));
      break;
    }
    trace.coflows.push_back(std::move(coflow));
  }
  if (complaints.empty() && trace.coflows.size() < std::max(1u, expected)) {
    complaints.add(fmt::format("{}: {} coflows where the first line says {}", path,
                               trace.coflows.size(), expected));
  }
  if (!complaints.empty()) {
    return complaints.error(
        "the format is: PORTS COFLOWS, then lines of NAME ARRIVAL_MS "
        "SOURCES PORT... TARGETS PORT:MIB...");
  }
  std::stable_sort(trace.coflows.begin(), trace.coflows.end(),
                   [](const Coflow& a, const Coflow& b) { return a.arrival < b.arrival; });
  return trace;
}

Result<CoflowTrace> read_coflow_trace(const std::string& path) {
  auto text = read_file(path, kMaxFileBytes);
  if (!text.ok()) return text.error();
  return parse_coflow_trace(path, *text);
}

void stretch_arrivals(CoflowTrace& trace, double factor) {
  CHECK(factor > 0);
  for (Coflow& coflow : trace.coflows) coflow.arrival *= factor;
}

std::vector<double> port_bytes(const Coflow& coflow) {
  const std::size_t rows = coflow.sources.size(), columns = coflow.targets.size();
  std::vector<double> sums(rows + columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      sums[i] += coflow.bytes[i * columns + j];
      sums[rows + j] += coflow.bytes[i * columns + j];
    }
  }
  return sums;
}

Seconds isolated_time(const Coflow& coflow, double bytes_per_s) {
  const std::vector<double> sums = port_bytes(coflow);
  return *std::max_element(sums.begin(), sums.end()) / bytes_per_s;
}

}  // namespace weft

#include "runtime/launch/hosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/delimited.h"

namespace weft::runtime {
namespace {

constexpr int kMostSlots = 100'000;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// What ssh takes as a host and no program takes as an option.
bool is_host_name(std::string_view name) {
  return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@%-[]").find(c) != std::string_view::npos;
  });
}

void read_setting(std::string_view word, const std::string& where, Host& host,
                  Complaints& complaints) {
  if (word.starts_with("slots=")) {
    const std::optional<std::int64_t> slots = parse_integer(word.substr(6));
    if (slots && *slots >= 1 && *slots <= kMostSlots) {
      host.slots = static_cast<int>(*slots);
    } else {
      complaints.add(fmt::format("{}: slots is {}; it must be a whole number from 1 to {}", where,
                                 shown(word.substr(6)), kMostSlots));
    }
  } else if (word.starts_with("address=") && is_host_name(word.substr(8))) {
    host.address = word.substr(8);
  } else {
    complaints.add(fmt::format("{}: {} is neither slots=N nor address=A", where, shown(word)));
  }
}

}  // namespace

bool Host::local() const { return name == "localhost" || name == "127.0.0.1" || name == "::1"; }

std::vector<Host> this_machine(int slots) { return {{"localhost", "127.0.0.1", slots}}; }

Result<std::vector<Host>> parse_hosts(std::string_view text, const std::string& source) {
  std::vector<Host> hosts;
  std::set<std::string> names;
  Complaints complaints;
  for (long number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, std::min(line.find_first_of("#\r"), line.size()));
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    const std::string where = fmt::format("{}:{}", source, number);
    Host host{std::string(words[0]), "", 1};
    if (!is_host_name(words[0])) {
      complaints.add(fmt::format("{}: {} is not the name of a host", where, shown(words[0])));
    } else if (!names.insert(host.name).second) {
      complaints.add(fmt::format("{}: host {} is named twice", where, host.name));
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      read_setting(words[i], where, host, complaints);
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) complaints.add(source + " names no host");
  if (!complaints.empty()) return complaints.error("lines are `host [slots=N] [address=A]`");
  return hosts;
}

int slots_of(const std::vector<Host>& hosts) {
  int slots = 0;
  for (const Host& host : hosts) slots = std::min(slots + host.slots, kMostSlots);
  return slots;
}

Place place_of(const std::vector<Host>& hosts, int rank, int world) {
  CHECK(0 <= rank && rank < world && world <= slots_of(hosts));
  Place place;
  int first = 0;
  for (std::size_t h = 0; h < hosts.size() && first < world; ++h) {
    const int here = std::min(hosts[h].slots, world - first);
    if (rank >= first && rank < first + here) {
      place.host = h;
      place.local_rank = rank - first;
      place.local_world = here;
    }
    first += here;
    place.groups = static_cast<int>(h) + 1;
  }
  return place;
}

}  // namespace weft::runtime

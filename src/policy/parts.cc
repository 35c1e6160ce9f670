// From names to parts.
#include <fmt/ranges.h>

#include <functional>

#include "policy/composition.h"
#include "policy/keys/keys.h"
#include "policy/places/places.h"
#include "policy/shares/shares.h"

namespace weft {
namespace {

template <typename Made>
using Maker = std::function<std::unique_ptr<Made>(Settings&)>;
template <typename Made>
using Makers = std::map<std::string, Maker<Made>>;

template <typename Made>
std::vector<std::string> names(const Makers<Made>& makers) {
  std::vector<std::string> all;
  for (const auto& [name, maker] : makers) all.push_back(name);
  return all;
}

template <typename Made>
Result<std::unique_ptr<Made>> make(const Makers<Made>& makers, const Part& part,
                                   const std::string& slot) {
  const auto maker = makers.find(part.name);
  if (maker == makers.end()) {
    const std::string close = near_miss(part.name, names(makers));
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("unknown {} '{}'; known: {}", slot, part.name, fmt::join(names(makers), ", ")),
        close.empty() ? "" : fmt::format("did you mean '{}'?", close)};
  }
  Settings settings(part);
  std::unique_ptr<Made> made = maker->second(settings);
  if (const Status status = settings.done(); !status.ok()) return status.error();
  return made;
}

const Makers<Key>& key_makers() {
  static const Makers<Key> makers = {
      {"arrival", [](Settings&) { return arrival_key(); }},
      {"priority", [](Settings&) { return priority_key(); }},
      {"deadline", [](Settings&) { return deadline_key(); }},
      {"remaining",
       [](Settings& s) { return remaining_key(s.flag("whole", false), s.flag("devices", false)); }},
      {"attained",
       [](Settings& s) {
         return attained_key(s.numbers("thresholds", {3250, 7200}), s.flag("devices", true));
       }},
      {"gittins",
       [](Settings& s) {
         return gittins_key(s.number("quantum", 3250), s.number("resolution", 2),
                            s.number("learn-after", 32));
       }},
  };
  return makers;
}

const Makers<Place>& place_makers() {
  const auto packed = [](NodeOrder order) {
    return [order](Settings& s) -> std::unique_ptr<Place> {
      return std::make_unique<PackedPlace>(order, s.flag("scatter", false));
    };
  };
  static const Makers<Place> makers = {
      {"first-fit", packed(NodeOrder::kFirst)},
      {"best-fit", packed(NodeOrder::kBest)},
      {"worst-fit", packed(NodeOrder::kWorst)},
      {"rack",
       [](Settings& s) -> std::unique_ptr<Place> {
         const std::map<std::string, Level> levels = {
             {"leaf", Level::kLeaf}, {"rack", Level::kRack}, {"pod", Level::kPod}};
         const std::string level = s.word("level", "leaf", {"leaf", "rack", "pod"});
         return std::make_unique<PackedPlace>(
             NodeOrder::kBest, s.flag("scatter", false),
             levels.contains(level) ? levels.at(level) : Level::kLeaf);
       }},
      {"random", [](Settings&) { return random_place(); }},
      {"network", [](Settings&) { return network_place(); }},
      {"fragmentation",
       [](Settings& s) {
         return fragmentation_place(static_cast<std::uint32_t>(s.number("window", 512)),
                                    static_cast<std::uint32_t>(s.number("classes", 16)));
       }},
  };
  return makers;
}

const Makers<Guard>& guard_makers() {
  static const Makers<Guard> makers = {
      {"minimum-lease",
       [](Settings& s) -> std::unique_ptr<Guard> {
         return std::make_unique<MinimumLease>(s.number("seconds", 600));
       }},
      {"failed-node-avoidance",
       [](Settings& s) -> std::unique_ptr<Guard> {
         return std::make_unique<FailedNodeAvoidance>(s.number("seconds", 3600));
       }},
  };
  return makers;
}

const Makers<Sharer>& sharer_makers() {
  static const Makers<Sharer> makers = {
      {"none", [](Settings&) -> std::unique_ptr<Sharer> { return nullptr; }},
      {"stages",
       [](Settings& s) {
         return stage_share(s.number("min-efficiency", 0.5),
                            static_cast<Bytes>(s.number("memory-gib", 24) * kGiB));
       }},
      {"pack",
       [](Settings& s) {
         PackOptions o;
         o.max_devices = static_cast<std::uint32_t>(s.number("max-devices", o.max_devices));
         o.budget = static_cast<int>(s.number("budget", o.budget));
         o.estimate_factor = s.number("estimate-factor", o.estimate_factor);
         o.device_memory = static_cast<Bytes>(s.number("memory-gib", 24) * kGiB);
         return pack_share(o);
       }},
  };
  return makers;
}

}  // namespace

Result<std::unique_ptr<Sharer>> make_sharer(const Part& part) {
  return make(sharer_makers(), part, "share");
}

Result<std::unique_ptr<Key>> make_key(const Part& part) { return make(key_makers(), part, "key"); }

Result<std::unique_ptr<Place>> make_place(const Part& part) {
  return make(place_makers(), part, "place");
}

Result<std::unique_ptr<Guard>> make_guard(const Part& part) {
  return make(guard_makers(), part, "guard");
}

std::vector<std::string> place_names() { return names(place_makers()); }

Result<std::vector<std::unique_ptr<Guard>>> make_guards(const std::vector<Part>& parts) {
  std::vector<std::unique_ptr<Guard>> guards;
  for (const Part& part : parts) {
    auto guard = make_guard(part);
    if (!guard.ok()) return guard.error();
    guards.push_back(std::move(guard).value());
  }
  return guards;
}

}  // namespace weft

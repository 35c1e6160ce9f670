// From a composition to a policy that decides.
#include <fmt/ranges.h>

#include <algorithm>

#include "policy/allocators/allocators.h"
#include "policy/allocators/cells.h"
#include "policy/allocators/choose.h"
#include "policy/allocators/list.h"
#include "policy/allocators/matching_queue.h"
#include "policy/allocators/spot_mix.h"
#include "policy/composition.h"

namespace weft {
namespace {

using Assembled = Result<std::unique_ptr<Policy>>;

Result<ListOptions> list_options(const Part& part) {
  Settings settings(part);
  ListOptions options;
  options.preempt = settings.flag("preempt", false);
  options.tune = settings.flag("tune", false);
  options.profile = settings.number("profile", 0);
  const std::string backfill = settings.word("backfill", "none", {"none", "easy", "any"});
  options.backfill = backfill == "easy"  ? ListOptions::Backfill::kEasy
                     : backfill == "any" ? ListOptions::Backfill::kAny
                                         : ListOptions::Backfill::kNone;
  if (const Status status = settings.done(); !status.ok()) return status.error();
  return options;
}

Assembled assemble_list(const Composition& c) {
  auto options = list_options(c.allocate);
  if (!options.ok()) return options.error();
  auto key = make_key(c.key);
  if (!key.ok()) return key.error();
  auto place = make_place(c.place);
  if (!place.ok()) return place.error();
  auto guards = make_guards(c.guards);
  if (!guards.ok()) return guards.error();
  auto sharer = make_sharer(c.share);
  if (!sharer.ok()) return sharer.error();
  if (options->profile > 0 && (*sharer == nullptr || c.place.name != "best-fit")) {
    return Error{ErrorKind::kInvalidInput,
                 "setting 'profile' of allocate 'list' goes with a share and with place best-fit",
                 "profiles say who may share; leave it out, or add share: pack"};
  }
  if (*sharer != nullptr &&
      (options->preempt || options->tune || options->backfill == ListOptions::Backfill::kEasy)) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("share '{}' does not go with preempt, tune or backfill easy", c.share.name),
        "jobs that share leave when they end; set backfill to any or none"};
  }
  return std::unique_ptr<Policy>(std::make_unique<ListPolicy>(
      c.name, *options, std::move(key).value(), std::move(place).value(), std::move(guards).value(),
      std::move(sharer).value()));
}

Assembled assemble_cells(const Composition& c) {
  Settings settings(c.allocate);
  std::vector<std::uint32_t> quotas;
  for (double nodes : settings.numbers("quotas", {})) {
    quotas.push_back(static_cast<std::uint32_t>(std::max(0.0, nodes)));
  }
  if (const Status status = settings.done(); !status.ok()) return status.error();
  return std::unique_ptr<Policy>(std::make_unique<CellPolicy>(c.name, std::move(quotas)));
}

Assembled assemble_spot_mix(const Composition& c) {
  Settings settings(c.allocate);
  SpotMixOptions options;
  options.changeover = std::max(0.0, settings.number("changeover", options.changeover));
  if (const Status status = settings.done(); !status.ok()) return status.error();
  return std::unique_ptr<Policy>(std::make_unique<SpotMixPolicy>(c.name, options));
}

Assembled assemble_matching(const Composition& c) {
  Settings settings(c.allocate);
  MatchingOptions options;
  options.window = static_cast<std::uint32_t>(
      std::clamp(settings.number("window", options.window), 1.0, 1000.0));
  if (const Status status = settings.done(); !status.ok()) return status.error();
  auto place = packed_place(c.place);
  if (!place.ok()) return place.error();
  return std::unique_ptr<Policy>(std::make_unique<MatchingPolicy>(c.name, options, *place));
}

// How devices are handed out, and which of the other parts each way listens to.
struct Allocator {
  Assembled (*make)(const Composition&);
  bool key = false, place = false, share = false, guards = false;
};

const std::map<std::string, Allocator>& allocators() {
  static const std::map<std::string, Allocator> all = {
      {"list", {assemble_list, true, true, true, true}},
      {"cells", {assemble_cells}},
      {"choose", {assemble_choose, false, true}},
      {"spot-mix", {assemble_spot_mix}},
      {"fill", {assemble_fill, false, true}},
      {"quota", {assemble_quota, false, true}},
      {"reserve", {assemble_reserve, false, true}},
      {"min-share", {assemble_min_share, false, true}},
      {"auction", {assemble_auction, false, true}},
      {"market", {assemble_market, false, true}},
      {"share", {assemble_share, false, true, true}},
      {"matching", {assemble_matching, false, true}},
  };
  return all;
}

// A part that would be ignored is an error: nobody should believe it had an effect.
Status check_parts(const Composition& c, const Allocator& allocator) {
  const Composition plain;
  Complaints complaints;
  const auto check = [&](bool heard, const std::string& slot, const std::string& name) {
    if (!heard) {
      complaints.add(fmt::format("policy {}: allocate '{}' takes no {}, but '{}' is given", c.name,
                                 c.allocate.name, slot, name));
    }
  };
  if (c.key.name != plain.key.name) check(allocator.key, "key", c.key.name);
  if (c.place.name != plain.place.name || !c.place.settings.empty()) {
    check(allocator.place, "place", c.place.name);
  }
  if (c.share.name != plain.share.name) check(allocator.share, "share", c.share.name);
  if (!c.guards.empty()) check(allocator.guards, "guards", c.guards.front().name);
  if (complaints.empty()) return {};
  return complaints.error("leave it out, or take another allocate (docs/policies.md)");
}

}  // namespace

Result<std::unique_ptr<Policy>> assemble(const Composition& c) {
  const auto allocator = allocators().find(c.allocate.name);
  if (allocator != allocators().end()) {
    if (const Status s = check_parts(c, allocator->second); !s.ok()) return s.error();
    return allocator->second.make(c);
  }
  std::vector<std::string> names;
  for (const auto& [name, unused] : allocators()) names.push_back(name);
  const std::string close = near_miss(c.allocate.name, names);
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("unknown allocate '{}'; known: {}", c.allocate.name, fmt::join(names, ", ")),
      close.empty() ? "" : fmt::format("did you mean '{}'?", close)};
}

}  // namespace weft

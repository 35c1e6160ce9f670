// From a composition to a policy that decides.
#include <fmt/format.h>

#include "policy/composition.h"
#include "policy/list.h"

namespace weft {
namespace {

using Assembled = Result<std::unique_ptr<Policy>>;

Result<ListOptions> list_options(const Part& part) {
  Settings settings(part);
  ListOptions options;
  options.preempt = settings.flag("preempt", false);
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
  return std::unique_ptr<Policy>(
      std::make_unique<ListPolicy>(c.name, *options, std::move(key).value(),
                                   std::move(place).value(), std::move(guards).value()));
}

// How devices are handed out; each has a header of its name.
const std::map<std::string, Assembled (*)(const Composition&)>& allocators() {
  static const std::map<std::string, Assembled (*)(const Composition&)> all = {
      {"list", assemble_list},
  };
  return all;
}

}  // namespace

Result<std::unique_ptr<Policy>> assemble(const Composition& c) {
  const auto allocator = allocators().find(c.allocate.name);
  if (allocator != allocators().end()) return allocator->second(c);
  std::vector<std::string> names;
  for (const auto& [name, make] : allocators()) names.push_back(name);
  const std::string close = near_miss(c.allocate.name, names);
  return Error{ErrorKind::kInvalidInput,
               fmt::format("unknown allocate '{}'; known: {}", c.allocate.name,
                           fmt::join(names, ", ")),
               close.empty() ? "" : fmt::format("did you mean '{}'?", close)};
}

}  // namespace weft

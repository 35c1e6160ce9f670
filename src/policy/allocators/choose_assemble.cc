// From a composition to a choose policy.
#include <fmt/core.h>

#include "policy/allocators/choose.h"
#include "policy/composition.h"

namespace weft {

Result<std::unique_ptr<Policy>> assemble_choose(const Composition& c) {
  Settings settings(c.allocate);
  ChooseOptions options;
  options.round = settings.number("round", options.round);
  options.restart = settings.number("restart", options.restart);
  if (options.round < 1) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("setting 'round' of part 'choose' is {}; it must be at least 1 (second)",
                    options.round),
        ""};
  }
  if (c.place.name != "displace-least" && c.place.name != Composition{}.place.name) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("policy {} cannot place by '{}': allocate 'choose' places gangs itself "
                    "(displace-least)",
                    c.name, c.place.name),
        "leave --place out"};
  }
  const std::string rule = settings.word("value", "sia", {"sia", "pollux", "optimus", "afs"});
  const double unplaced = settings.number("unplaced", 1.1);
  const double slope = settings.number("power", 0.5);
  if (const Status status = settings.done(); !status.ok()) return status.error();
  std::unique_ptr<Value> value = rule == "pollux"    ? pollux_value()
                                 : rule == "optimus" ? optimus_value()
                                 : rule == "afs"     ? afs_value()
                                                     : sia_value(-slope, unplaced);
  return std::unique_ptr<Policy>(std::make_unique<ChoosePolicy>(c.name, options, std::move(value)));
}

}  // namespace weft

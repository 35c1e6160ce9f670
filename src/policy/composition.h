// A policy as data: the names and settings of its parts. The sixth part, Rate, is not named here:
// how fast a configuration runs is said by the job's menu, by what the job reports while it runs,
// and by the pair table, so it comes with the jobs and not with the policy.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/guard.h"
#include "policy/key.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "policy/share.h"

namespace weft {

// A part by name, with settings as text ("3250,7200").
struct Part {
  std::string name;
  std::map<std::string, std::string> settings;
};

struct Composition {
  std::string name;
  std::string summary;  // one line for `weft sim --list-policies`
  std::string source;   // paper and section of its rule
  Part key{"arrival", {}};
  Part allocate{"list", {}};
  Part place{"best-fit", {}};
  Part share{"none", {}};
  std::vector<Part> guards;
};

// Reads a part's settings and remembers which were asked for, so that a misspelled one is an error
// and not silently ignored.
class Settings {
 public:
  explicit Settings(const Part& part) : part_(part) {}
  double number(const std::string& name, double fallback);
  bool flag(const std::string& name, bool fallback);
  std::string word(const std::string& name, const std::string& fallback,
                   const std::vector<std::string>& allowed);
  std::vector<double> numbers(const std::string& name, const std::vector<double>& fallback);
  // The first mistake, or that a setting was given which nobody asked for.
  Status done();

 private:
  const std::string* find(const std::string& name);
  void complain(const std::string& name, const std::string& value, const std::string& allowed);

  const Part& part_;
  std::vector<std::string> known_;
  Complaints complaints_;
};

Result<std::unique_ptr<Policy>> assemble(const Composition& composition);
Result<std::unique_ptr<Key>> make_key(const Part& part);
Result<std::unique_ptr<Place>> make_place(const Part& part);
Result<std::unique_ptr<Guard>> make_guard(const Part& part);
// Null for the share "none".
Result<std::unique_ptr<Sharer>> make_sharer(const Part& part);
Result<std::vector<std::unique_ptr<Guard>>> make_guards(const std::vector<Part>& parts);
std::vector<std::string> place_names();

// Whether a part of it looks at estimates of durations: with an oracle's it decides by what nobody
// can know. Requires: assemble() accepts the composition.
bool uses_estimates(const Composition& composition);

// Every policy that has a name of its own, in the order of docs/policies.md.
const std::vector<Composition>& known_policies();
// A known policy by name, or the YAML composition in the file `name` (docs/policies.md).
Result<Composition> find_policy(const std::string& name);
Result<Composition> read_composition(const std::string& path);
Result<Composition> parse_composition(const std::string& yaml, const std::string& path);

}  // namespace weft

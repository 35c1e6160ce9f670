// The presets and the shorthand that names them. Every constant is explained in docs/generator.md:
// the shares of jobs and of device-time, means, medians and largest values of the presets are those
// of the summary table that Hu et al. published with "Characterization of Large Language Model
// Development in the Datacenter" (NSDI '24) for Seren, Kalos, Philly, Helios and PAI; medians,
// sigmas and outcomes of the classes solve for them.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "model/generator.h"

namespace weft {
namespace {

constexpr std::string_view kPrefix = "gen:";

// Submissions of the 82,247 Philly jobs released with Sia (SOSP '23), by hour and day of their
// time stamps, relative to the mean.
constexpr WeekProfile kPhillyWeek{
    {1.27, 0.98, 1.12, 1.10, 0.70, 1.15, 1.67, 2.09, 1.11, 1.01, 1.02, 0.87,
     0.75, 0.70, 0.64, 0.65, 0.88, 0.67, 0.80, 0.73, 1.02, 0.92, 1.13, 1.01},
    {0.86, 1.07, 1.14, 1.29, 1.44, 0.61, 0.59}};

// Quiet nights, dips at noon and at supper (Hu et al., SC '21, section 3.1), quieter weekends. The
// shape is theirs, the numbers are ours.
constexpr WeekProfile kOfficeWeek{{0.6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.9, 1.3, 1.5, 1.4,
                                   1.0, 1.3, 1.5, 1.5, 1.5, 1.4, 1.0, 1.1, 1.3, 1.3, 1.2, 0.9},
                                  {1.1, 1.1, 1.1, 1.1, 1.1, 0.75, 0.75}};

GeneratorSpec common(double batch, const WeekProfile& week) {
  GeneratorSpec spec;
  spec.arrivals.load = 0.8;
  spec.arrivals.burst = 1;
  spec.arrivals.batch = batch;
  spec.arrivals.week = week;
  return spec;
}

GeneratorSpec philly() {
  GeneratorSpec spec = common(1, kPhillyWeek);
  // Sizes above one device in the proportions of the same 82,247 jobs; how many jobs have such a
  // size follows from the published mean of 1.928 devices.
  const std::vector<SizeChoice> gangs{{2, 1818}, {4, 1870}, {8, 1643}, {12, 7}, {16, 199},
                                      {24, 7},   {32, 67},  {64, 6},   {128, 3}};
  spec.classes = {{"trial", 0.5935, {{1}}, {{1, 557, 1.714}}, 0.271, 0.0106},
                  {"training", 0.1978, {{1}}, {{1, 4175, 2.178}}, 0.220, 0.0224},
                  {"distributed", 0.2087, gangs, {{1, 7887, 2.256}}, 0.483, 0.383}};
  spec.longest = 4'240'676;
  spec.tenants = 15;
  spec.skew = 1.6;
  return spec;
}

GeneratorSpec helios() {
  GeneratorSpec spec = common(1, kOfficeWeek);
  const std::vector<SizeChoice> small{{1, 0.84}, {2, 0.07}, {4, 0.09}};
  const std::vector<SizeChoice> gangs{{8, 0.70},     {16, 0.15},     {32, 0.09},
                                      {64, 0.04},    {128, 0.015},   {256, 0.004},
                                      {512, 0.0007}, {1024, 0.0002}, {2048, 0.0001}};
  spec.classes = {{"trial", 0.6373, small, {{1, 113.8, 1.399}}, 0.164, 0.150},
                  {"training", 0.2124, small, {{1, 4165, 1.839}}, 0.151, 0.1915},
                  {"distributed", 0.1503, gangs, {{1, 3481, 2.020}}, 0.1225, 0.5636}};
  spec.longest = 4'320'009;
  spec.tenants = 105;
  spec.skew = 1;
  return spec;
}

GeneratorSpec seren() {
  GeneratorSpec spec = common(8, kOfficeWeek);
  const std::vector<SizeChoice> few{{1, 0.90}, {2, 0.05}, {4, 0.05}};
  const std::vector<SizeChoice> some{{1, 0.10}, {2, 0.10},  {4, 0.15},
                                     {8, 0.55}, {16, 0.07}, {32, 0.03}};
  const std::vector<SizeChoice> many{
      {64, 0.20}, {128, 0.25}, {256, 0.30}, {512, 0.15}, {1024, 0.10}};
  spec.classes = {{"evaluation", 0.700, few, {{1, 107.8, 1.060}}, 0.4144, 0.0254},
                  {"development", 0.291, some, {{1, 1613, 1.649}}, 0.4763, 0.1688},
                  {"pretraining", 0.009, many, {{1, 2682, 1.931}}, 0.0353, 0.9193}};
  spec.longest = 1'209'604;
  spec.tenants = 20;
  spec.skew = 1;
  return spec;
}

GeneratorSpec kalos() {
  GeneratorSpec spec = common(8, kOfficeWeek);
  const std::vector<SizeChoice> few{{1, 0.62}, {2, 0.10}, {4, 0.10}, {8, 0.18}};
  const std::vector<SizeChoice> mixed{{8, 0.30}, {16, 0.15}, {64, 0.20}, {256, 0.22}, {512, 0.13}};
  const std::vector<SizeChoice> many{{128, 0.10}, {256, 0.25}, {512, 0.30}, {1024, 0.35}};
  spec.classes = {{"evaluation", 0.929, few, {{1, 166.7, 1.911}}, 0.4116, 0.0385},
                  {"debugging", 0.039, mixed, {{1, 449.1, 1.935}}, 0.3058, 0.0598},
                  {"pretraining", 0.032, many, {{1, 3811, 1.988}}, 0.0854, 0.7476}};
  spec.longest = 625'740;
  spec.tenants = 20;
  spec.skew = 1;
  return spec;
}

GeneratorSpec pai() {
  GeneratorSpec spec = common(1, kOfficeWeek);
  const std::vector<SizeChoice> sizes{{1, 0.220, 250}, {1, 0.516, 500}, {1, 0.226},
                                      {2, 0.020},      {4, 0.010},      {8, 0.008}};
  spec.classes = {{"task", 1, sizes, {{1, 480.7, 2.179}}, 0, 0}};
  spec.longest = 626'371;
  spec.tenants = 1300;
  spec.skew = 1.2;
  return spec;
}

// The starting point for a user's own distributions: nothing here claims to be measured.
GeneratorSpec custom() {
  GeneratorSpec spec = common(1, kOfficeWeek);
  spec.arrivals.burst = 0;
  spec.classes = {{"job", 1, {{1}}, {{1, 600, 1.5}}, 0, 0}};
  return spec;
}

struct Preset {
  const char* name;
  GeneratorSpec (*make)();
};
constexpr Preset kPresets[] = {{"philly", philly}, {"helios", helios}, {"seren", seren},
                               {"kalos", kalos},   {"pai", pai},       {"custom", custom}};

bool read(std::string_view text, auto& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool read(std::string_view text, std::optional<double>& value) {
  return read(text, value.emplace());
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(by), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool read_slack(std::string_view text, GeneratorSpec& spec) {
  const auto parts = split(text, '-');
  return parts.size() == 2 && read(parts[0], spec.slack_low) && read(parts[1], spec.slack_high);
}

bool read_shares(std::string_view text, GeneratorSpec& spec) {
  spec.priorities.clear();
  for (std::string_view part : split(text, '/')) {
    if (!read(part, spec.priorities.emplace_back())) return false;
  }
  return true;
}

bool read_sizes(std::string_view text, GeneratorSpec& spec) {
  std::vector<SizeChoice>& sizes = spec.classes[0].sizes;
  sizes.clear();
  for (std::string_view part : split(text, '/')) {
    const auto pair = split(part, ':');
    SizeChoice& size = sizes.emplace_back();
    if (pair.size() != 2 || !read(pair[0], size.devices) || !read(pair[1], size.share))
      return false;
  }
  return true;
}

bool read_oversize(std::string_view text, GeneratorSpec& spec) {
  spec.oversize = text == "refuse" ? Oversize::kRefuse : Oversize::kCap;
  return text == "refuse" || text == "cap";
}

using Text = std::string_view;
using Spec = GeneratorSpec;

struct Key {
  std::string name;
  const char* form;
  bool (*set)(Text, Spec&);
  bool own = false;  // only of the preset `custom`
};

constexpr const char* kWholeNumber = "a whole number";
constexpr const char* kNumber = "a number";

const std::vector<Key>& keys() {
  static const std::vector<Key> kKeys = {
      {"jobs", kWholeNumber, [](Text t, Spec& s) { return read(t, s.jobs); }},
      {"load", kNumber, [](Text t, Spec& s) { return read(t, s.arrivals.load); }},
      {"rate_per_hour", kNumber, [](Text t, Spec& s) { return read(t, s.arrivals.rate_per_hour); }},
      {"seed", kWholeNumber, [](Text t, Spec& s) { return read(t, s.seed); }},
      {"burst", kNumber, [](Text t, Spec& s) { return read(t, s.arrivals.burst); }},
      {"batch", kNumber, [](Text t, Spec& s) { return read(t, s.arrivals.batch); }},
      {"tenants", kWholeNumber, [](Text t, Spec& s) { return read(t, s.tenants); }},
      {"skew", kNumber, [](Text t, Spec& s) { return read(t, s.skew); }},
      {"priorities", "shares such as 0.8/0.15/0.05", read_shares},
      {"deadlines", kNumber, [](Text t, Spec& s) { return read(t, s.deadlines); }},
      {"slack", "a range such as 1.5-4", read_slack},
      {"padding", kNumber, [](Text t, Spec& s) { return read(t, s.padding); }},
      {"oversize", "cap or refuse", read_oversize},
      {"sizes", "DEVICES:SHARE pairs such as 1:0.7/8:0.3", read_sizes, true},
      {"median", kNumber, [](Text t, Spec& s) { return read(t, s.classes[0].durations[0].median); },
       true},
      {"sigma", kNumber, [](Text t, Spec& s) { return read(t, s.classes[0].durations[0].sigma); },
       true},
      {"longest", kNumber, [](Text t, Spec& s) { return read(t, s.longest); }, true},
      {"failed", kNumber, [](Text t, Spec& s) { return read(t, s.classes[0].failed); }, true},
      {"cancelled", kNumber, [](Text t, Spec& s) { return read(t, s.classes[0].cancelled); }, true},
  };
  return kKeys;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = near_miss(word, known);
  return near.empty() ? "" : fmt::format(", did you mean {}?", near);
}

std::vector<std::string> key_names(bool own) {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    if (!key.own || own) names.push_back(key.name);
  }
  return names;
}

void set_key(std::string_view part, bool own, GeneratorSpec& spec, std::set<std::string>& seen,
             Complaints& complaints) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string name(part.substr(0, equals));
  const auto key = std::find_if(keys().begin(), keys().end(),
                                [&](const Key& candidate) { return candidate.name == name; });
  if (key == keys().end()) {
    complaints.add(
        fmt::format("{}: unknown key '{}'{}", spec.text, name, suggestion(name, key_names(own))));
  } else if (key->own && !own) {
    complaints.add(
        fmt::format("{}: {} is fixed by the preset; only gen:custom takes it", spec.text, name));
  } else if (!seen.insert(name).second) {
    complaints.add(fmt::format("{}: {} is given twice", spec.text, name));
  } else if (equals == part.size() || !key->set(part.substr(equals + 1), spec)) {
    complaints.add(fmt::format("{}: {} is '{}'; it must be {}", spec.text, name,
                               part.substr(std::min(equals + 1, part.size())), key->form));
  }
}

// Complains about what a spec holds, naming values as the shorthand does.
class SpecCheck {
 public:
  explicit SpecCheck(const GeneratorSpec& spec) : spec_(spec) {}

  Status run() {
    within("jobs", static_cast<double>(spec_.jobs), 1, static_cast<double>(kMaxGeneratedJobs));
    arrivals(spec_.arrivals);
    if (spec_.classes.empty()) complain("has no classes of jobs; one is needed");
    std::vector<double> class_shares;
    for (const JobClass& of : spec_.classes) {
      class_shares.push_back(of.share);
      job_class(of);
    }
    if (!spec_.classes.empty()) shares("the classes", class_shares);
    within("longest", spec_.longest, 1, kMaxDuration);
    within("tenants", spec_.tenants, 1, std::numeric_limits<TenantId>::max() - 1);
    within("skew", spec_.skew, 0, 10);
    if (!spec_.priorities.empty()) shares("priorities", spec_.priorities);
    within("deadlines", spec_.deadlines, 0, 1);
    within("the lower end of slack", spec_.slack_low, 0, 1000);
    within("the upper end of slack", spec_.slack_high, spec_.slack_low, 1000);
    within("padding", spec_.padding, 0, 100);
    if (complaints_.empty()) return {};
    return complaints_.error("docs/generator.md lists what each key takes");
  }

 private:
  void complain(std::string sentence) {
    complaints_.add(fmt::format("{}: {}", spec_.text, std::move(sentence)));
  }

  void within(std::string_view name, double value, double low, double high) {
    if (value >= low && value <= high) return;
    complain(fmt::format("{} is {}; it must be from {} to {}", name, value, low, high));
  }

  void shares(std::string_view name, const std::vector<double>& values) {
    double sum = 0;
    bool fine = true;
    for (double value : values) {
      fine &= value >= 0 && value <= 1e15;
      sum += value;
    }
    if (!fine || !(sum > 0)) {
      complain(fmt::format("{} have the shares {}; they must be 0 or more, and not all 0", name,
                           fmt::join(values, "/")));
    }
  }

  void arrivals(const Arrivals& given) {
    if (given.load.has_value() == given.rate_per_hour.has_value()) {
      complain("load and rate_per_hour are alternatives; exactly one is needed");
    }
    if (given.load) within("load", *given.load, 1e-6, 1e6);
    if (given.rate_per_hour) within("rate_per_hour", *given.rate_per_hour, 1e-6, 1e12);
    within("burst", given.burst, 0, 1);
    within("batch", given.batch, 1, 1e6);
    shares("the hours of the day", {given.week.hours.begin(), given.week.hours.end()});
    shares("the days of the week", {given.week.days.begin(), given.week.days.end()});
  }

  void job_class(const JobClass& of) {
    std::vector<double> size_shares, part_shares;
    for (const SizeChoice& size : of.sizes) {
      size_shares.push_back(size.share);
      within("a size", size.devices, 1, size.milli == kWhole ? kMaxJobDevices : 1);
      within("a part of a device, in thousandths,", size.milli, 1, kWhole);
    }
    for (const DurationPart& part : of.durations) {
      part_shares.push_back(part.share);
      within("median", part.median, 1, kMaxDuration);
      within("sigma", part.sigma, 0, 5);
    }
    shares("sizes", size_shares);
    shares("durations", part_shares);
    within("failed", of.failed, 0, 1);
    within("cancelled", of.cancelled, 0, 1);
    within("failed + cancelled", of.failed + of.cancelled, 0, 1 + 1e-9);
  }

  const GeneratorSpec& spec_;
  Complaints complaints_;
};

}  // namespace

bool names_generator(const std::string& text) { return text.starts_with(kPrefix); }

std::vector<std::string> generator_presets() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Status check_generator(const GeneratorSpec& spec) { return SpecCheck(spec).run(); }

Result<GeneratorSpec> parse_generator(const std::string& text) {
  const bool prefixed = names_generator(text);
  const auto parts = split(std::string_view(text).substr(prefixed ? kPrefix.size() : 0), ',');
  const std::string name(parts[0]);
  const auto preset = std::find_if(std::begin(kPresets), std::end(kPresets),
                                   [&](const Preset& candidate) { return candidate.name == name; });
  if (!prefixed || preset == std::end(kPresets)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: no such generator{}", text,
                             prefixed ? suggestion(name, generator_presets()) : ""),
                 fmt::format("write gen:PRESET[,KEY=VALUE]..., where PRESET is one of {}",
                             fmt::join(generator_presets(), ", "))};
  }
  GeneratorSpec spec = preset->make();
  spec.text = text;
  const bool own = name == "custom";
  std::set<std::string> seen;
  Complaints complaints;
  for (std::size_t i = 1; i < parts.size(); ++i) set_key(parts[i], own, spec, seen, complaints);
  if (!complaints.empty()) {
    return complaints.error(fmt::format("keys are {}", fmt::join(key_names(own), ", ")));
  }
  if (seen.contains("rate_per_hour") && !seen.contains("load")) spec.arrivals.load.reset();
  if (const Status status = check_generator(spec); !status.ok()) return status.error();
  return spec;
}

}  // namespace weft

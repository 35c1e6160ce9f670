#include "model/readers/yaml_fields.h"

#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

namespace weft {
namespace {

// An upper bound of the nodes in a text: each needs at least one of these characters.
std::size_t most_nodes(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return c == ',' || c == ':' || c == '-' || c == '?' || c == '[' || c == '{' || c == '\n';
  }));
}

// How deep brackets are nested; quotes and comments are not looked at, so it may say too much.
int deepest_bracket(std::string_view text) {
  int depth = 0, deepest = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return deepest;
}

class IgnoreEvents : public YAML::EventHandler {
 public:
  int last_start() const { return last_start_; }
  void OnDocumentStart(const YAML::Mark& mark) override { last_start_ = mark.line; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int last_start_ = 0;
};

// The line on which a second document begins. YAML::Load would pass over it in silence, and
// YAML::LoadAll of yaml-cpp 0.7 finds documents for ever in some texts (", a: 3").
std::optional<int> find_second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents events;
  if (!parser.HandleNextDocument(events) || !parser.HandleNextDocument(events)) return std::nullopt;
  return std::max(events.last_start(), 0) + 1;
}

Error too_much(const TextFile& file, std::string_view what, std::uint64_t seen,
               std::uint64_t limit) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{}: has {} {}; the limit for YAML is {}", file.path, seen, what, limit),
               "large traces are better written as CSV"};
}

}  // namespace

void YamlReport::complain(const YAML::Node& node, std::string_view sentence) {
  const int line = node.IsDefined() ? node.Mark().line : 0;
  weft::complain(complaints_, path_, std::max(line, 0) + 1, sentence);
}

bool YamlReport::visit(const YAML::Node& node) {
  if (++visits_ <= kMostVisits) return true;
  if (visits_ == kMostVisits + 1) {
    complain(node, fmt::format("with its aliases the file holds more than {} values", kMostVisits));
  }
  return false;
}

Error yaml_error(const std::string& path, const std::exception& exception) {
  const auto* const marked = dynamic_cast<const YAML::Exception*>(&exception);
  if (dynamic_cast<const YAML::DeepRecursion*>(&exception) != nullptr) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:{}: is nested too deeply", path, marked->mark.line + 1), ""};
  }
  return Error{ErrorKind::kInvalidInput,
               marked == nullptr ? fmt::format("{}: {}", path, exception.what())
                                 : fmt::format("{}:{}: {}", path,
                                               std::max(marked->mark.line, 0) + 1, marked->msg),
               ""};
}

Result<YAML::Node> load_yaml(const TextFile& file) {
  constexpr std::size_t kMostNodes = 1'000'000;
  constexpr int kDeepest = 100;
  if (file.text.size() > kMaxYamlBytes) {
    return too_much(file, "bytes", file.text.size(), kMaxYamlBytes);
  }
  if (const std::size_t nodes = most_nodes(file.text); nodes > kMostNodes) {
    return too_much(file, "values or lines", nodes, kMostNodes);
  }
  if (const int depth = deepest_bracket(file.text); depth > kDeepest) {
    return too_much(file, "brackets inside each other", static_cast<std::uint64_t>(depth),
                    kDeepest);
  }
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  try {
    if (const auto line = find_second_document(std::string(file.text))) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("{}:{}: a second YAML document begins here; a file holds one",
                               file.path, *line),
                   ""};
    }
    return YAML::Load(std::string(file.text));
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

YamlFields::YamlFields(YamlReport& report, const YAML::Node& node, std::string what)
    : report_(report), node_(node), what_(std::move(what)) {
  if (!node.IsMap()) {
    report_.complain(node, fmt::format("{} must be a map of keys and values", what_));
    return;
  }
  is_map_ = true;
  for (const auto& pair : node) {
    if (!report_.visit(node)) return;
    if (!pair.first.IsScalar()) {
      report_.complain(pair.first, fmt::format("a key of {} is not a plain word", what_));
    } else if (has(pair.first.Scalar())) {
      report_.complain(pair.first,
                       fmt::format("{} has {} twice", what_, shown(pair.first.Scalar())));
    } else {
      entries_.push_back({pair.first.Scalar(), pair.second});
    }
    // has() is linear; no map of these formats is long.
    if (entries_.size() > 1000) {
      report_.complain(node, fmt::format("{} has more than 1000 keys", what_));
      return;
    }
  }
}

bool YamlFields::has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [key](const Entry& entry) { return entry.key == key; });
}

std::vector<std::string> YamlFields::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

const YAML::Node* YamlFields::get(std::string_view key) {
  asked_.push_back(key);
  if (!report_.visit(node_)) return nullptr;
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.known = true;
    return &entry.value;
  }
  return nullptr;
}

const std::string* YamlFields::scalar(std::string_view key) {
  const YAML::Node* const value = get(key);
  if (value == nullptr) return nullptr;
  if (value->IsScalar()) return &value->Scalar();
  report_.complain(*value, fmt::format("{}.{} must be a single value", what_, key));
  return nullptr;
}

void YamlFields::refuse(std::string_view key, std::string_view wanted) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [key](const Entry& candidate) { return candidate.key == key; });
  CHECK(entry != entries_.end());
  const YAML::Node& value = entry->value;
  report_.complain(value,
                   fmt::format("{}.{} is {}; it must be {}", what_, key,
                               value.IsScalar() ? shown(value.Scalar()) : "not one value", wanted));
}

std::string YamlFields::text(std::string_view key, std::string fallback) {
  const std::string* const text = scalar(key);
  return text == nullptr ? std::move(fallback) : *text;
}

std::optional<double> YamlFields::optional_number(std::string_view key, const Limits& limits) {
  const std::string* const text = scalar(key);
  if (text == nullptr) return std::nullopt;
  const auto value = parse_number(*text);
  if (value && limits.admits(*value)) return value;
  refuse(key, "a number " + limits.text());
  return std::nullopt;
}

double YamlFields::number(std::string_view key, double fallback, const Limits& limits) {
  return optional_number(key, limits).value_or(fallback);
}

std::int64_t YamlFields::integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) {
  const std::string* const text = scalar(key);
  if (text == nullptr) return fallback;
  const auto value = parse_integral(*text);
  if (value && *value >= low && *value <= high) return *value;
  refuse(key, fmt::format("a whole number from {} to {}", low, high));
  return fallback;
}

bool YamlFields::flag(std::string_view key, bool fallback) {
  return choice(key, {"false", "true"}, fallback ? 1 : 0) == 1;
}

int YamlFields::choice(std::string_view key, const std::vector<std::string>& choices,
                       int fallback) {
  const std::string* const text = scalar(key);
  if (text == nullptr) return fallback;
  const auto it = std::find(choices.begin(), choices.end(), *text);
  if (it != choices.end()) return static_cast<int>(it - choices.begin());
  refuse(key, fmt::format("{}", fmt::join(choices, " or ")));
  return fallback;
}

std::vector<YAML::Node> YamlFields::list(std::string_view key) {
  const YAML::Node* const value = get(key);
  if (value == nullptr) return {};
  if (!value->IsSequence()) return {*value};
  std::vector<YAML::Node> elements;
  for (const auto& element : *value) {
    if (!report_.visit(*value)) break;
    elements.push_back(element);
  }
  return elements;
}

void YamlFields::require(std::string_view key) {
  if (is_map_ && !has(key)) complain(fmt::format("{} needs '{}'", what_, key));
}

void YamlFields::done() {
  for (const Entry& entry : entries_) {
    if (entry.known) continue;
    report_.complain(entry.value,
                     fmt::format("{} has the unknown key {}{}", what_, shown(entry.key),
                                 did_you_mean(entry.key, {asked_.begin(), asked_.end()})));
  }
}

}  // namespace weft

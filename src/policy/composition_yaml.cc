// Reads a policy that a user composed: see docs/policies.md.
#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "policy/composition.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxCompositionBytes = 64 * 1024;

std::string place_of(const std::string& path, const YAML::Node& node) {
  return fmt::format("{}:{}", path, node.Mark().line + 1);
}

// `attained`, or `{part: attained, thresholds: [3250, 7200]}`.
void read_part(const std::string& path, const YAML::Node& node, Part& part,
               Complaints& complaints) {
  if (node.IsScalar()) {
    part = {node.Scalar(), {}};
    return;
  }
  if (!node.IsMap() || !node["part"] || !node["part"].IsScalar()) {
    complaints.add(
        fmt::format("{}: a part must be a name or a map with 'part: NAME'", place_of(path, node)));
    return;
  }
  part = {node["part"].Scalar(), {}};
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (name == "part") continue;
    std::string text;
    if (entry.second.IsScalar()) {
      text = entry.second.Scalar();
    } else if (entry.second.IsSequence()) {
      for (const auto& item : entry.second) {
        if (!text.empty()) text += ',';
        text += item.IsScalar() ? item.Scalar() : "?";
      }
    } else {
      complaints.add(fmt::format("{}: setting '{}' must be a value or a list of values",
                                 place_of(path, entry.second), name));
      continue;
    }
    part.settings[name] = text;
  }
}

void read_field(const std::string& path, const std::string& field, const YAML::Node& node,
                Composition& c, Complaints& complaints) {
  const std::map<std::string, Part*> parts = {
      {"key", &c.key}, {"allocate", &c.allocate}, {"place", &c.place}, {"share", &c.share}};
  if (const auto part = parts.find(field); part != parts.end()) {
    read_part(path, node, *part->second, complaints);
  } else if (field == "name" || field == "summary" || field == "source") {
    if (!node.IsScalar()) {
      complaints.add(fmt::format("{}: '{}' must be text", place_of(path, node), field));
      return;
    }
    (field == "name" ? c.name : field == "summary" ? c.summary : c.source) = node.Scalar();
  } else if (field == "guards" && node.IsSequence()) {
    for (const auto& item : node) read_part(path, item, c.guards.emplace_back(), complaints);
  } else {
    complaints.add(fmt::format(
        "{}: '{}' is not a part; known: name, summary, source, base, key, allocate, place, "
        "share, guards (a list)",
        place_of(path, node), field));
  }
}

}  // namespace

Result<Composition> parse_composition(const std::string& yaml, const std::string& path) {
  Composition composition;
  composition.name = path;
  Complaints complaints;
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (!root.IsMap()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("{}: a policy must be a map of its parts", path), ""};
    }
    if (root["base"] && root["base"].IsScalar()) {
      if (root["base"].Scalar().ends_with(".yaml") || root["base"].Scalar().ends_with(".yml")) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("{}: base is '{}'; it must be a policy with a name of its own",
                                 place_of(path, root["base"]), root["base"].Scalar()),
                     ""};
      }
      auto base = find_policy(root["base"].Scalar());
      if (!base.ok()) return base.error();
      composition = *base;
      composition.name = path;
    }
    for (const auto& entry : root) {
      const std::string field = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (field == "base") continue;
      if (field == "guards") composition.guards.clear();
      read_field(path, field, entry.second, composition, complaints);
    }
  } catch (const YAML::Exception& exception) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:{}: {}", path, exception.mark.line + 1, exception.msg), ""};
  }
  if (!complaints.empty()) return complaints.error();
  if (auto policy = assemble(composition); !policy.ok()) {
    return Error{policy.error().kind, fmt::format("{}: {}", path, policy.error().what),
                 policy.error().hint};
  }
  return composition;
}

Result<Composition> read_composition(const std::string& path) {
  auto text = read_file(path, kMaxCompositionBytes);
  if (!text.ok()) return text.error();
  return parse_composition(*text, path);
}

}  // namespace weft

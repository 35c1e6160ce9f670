// As much of JSON Schema (draft 2020-12) as the schema of job files uses, for its test.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>

namespace weft::live {

// YAML as an editor with a schema sees it: plain scalars have the types of YAML's core schema.
inline nlohmann::json json_of_yaml(const YAML::Node& node) {
  static const std::regex whole("[-+]?[0-9]+");
  static const std::regex number(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  nlohmann::json json;
  if (node.IsSequence()) {
    json = nlohmann::json::array();
    for (const auto& element : node) json.push_back(json_of_yaml(element));
  } else if (node.IsMap()) {
    json = nlohmann::json::object();
    for (const auto& pair : node) json[pair.first.Scalar()] = json_of_yaml(pair.second);
  } else if (node.IsScalar()) {
    const std::string& text = node.Scalar();
    const bool plain = node.Tag() == "?";
    if (plain && std::regex_match(text, whole)) return std::stoll(text);
    if (plain && std::regex_match(text, number)) return std::stod(text);
    if (plain && (text == "true" || text == "True")) return true;
    if (plain && (text == "false" || text == "False")) return false;
    return text;
  }
  return json;
}

class SchemaCheck {
 public:
  // Requires: the schema outlives this object.
  explicit SchemaCheck(const nlohmann::json& schema) : root_(schema) {}

  bool admits(const nlohmann::json& value) const { return admits(root_, value); }
  // By the schema that `pointer` names in the document, as "/components/schemas/Job".
  bool admits_as(const std::string& pointer, const nlohmann::json& value) const {
    return admits(root_.at(nlohmann::json::json_pointer(pointer)), value);
  }

 private:
  using Json = nlohmann::json;

  bool admits(const Json& schema, const Json& value) const {
    for (const auto& [word, rule] : schema.items()) {
      if (!keeps(word, rule, schema, value)) return false;
    }
    return true;
  }

  bool keeps(const std::string& word, const Json& rule, const Json& schema,
             const Json& value) const {
    if (word == "$ref") {
      return admits(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value);
    }
    if (word == "type") return is_of_type(rule, value);
    if (word == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (word == "anyOf") {
      return std::any_of(rule.begin(), rule.end(), [&](const Json& s) { return admits(s, value); });
    }
    if (word == "minimum") return !value.is_number() || value >= rule;
    if (word == "maximum") return !value.is_number() || value <= rule;
    if (word == "exclusiveMinimum") return !value.is_number() || value > rule;
    if (word == "minLength") return !value.is_string() || text(value).size() >= rule;
    if (word == "maxLength") return !value.is_string() || text(value).size() <= rule;
    if (word == "pattern") return !value.is_string() || matches(rule, text(value));
    if (word == "items") {
      return !value.is_array() || std::all_of(value.begin(), value.end(),
                                              [&](const Json& v) { return admits(rule, v); });
    }
    if (word == "minItems") return !value.is_array() || value.size() >= rule;
    if (word == "maxItems") return !value.is_array() || value.size() <= rule;
    if (word == "maxProperties") return !value.is_object() || value.size() <= rule;
    if (word == "required") {
      return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& key) {
        return value.contains(key.get<std::string>());
      });
    }
    if (word == "propertyNames" || word == "properties" || word == "additionalProperties") {
      return !value.is_object() || members_keep(word, rule, schema, value);
    }
    if (word == "$schema" || word == "title" || word == "description" || word == "$defs") {
      return true;
    }
    throw std::runtime_error("the schema uses " + word + ", which its test does not know");
  }

  bool members_keep(const std::string& word, const Json& rule, const Json& schema,
                    const Json& value) const {
    for (const auto& [key, member] : value.items()) {
      const bool listed = schema.contains("properties") && schema["properties"].contains(key);
      if (word == "propertyNames" && !admits(rule, key)) return false;
      if (word == "properties" && listed && !admits(rule.at(key), member)) return false;
      if (word == "additionalProperties" && !listed &&
          (rule.is_boolean() ? !rule.get<bool>() : !admits(rule, member))) {
        return false;
      }
    }
    return true;
  }

  static bool is_of_type(const Json& rule, const Json& value) {
    if (rule.is_array()) {
      return std::any_of(rule.begin(), rule.end(),
                         [&](const Json& type) { return is_of_type(type, value); });
    }
    if (rule == "integer") return value.is_number_integer();
    if (rule == "number") return value.is_number();
    return rule == value.type_name();
  }
  static const std::string& text(const Json& value) { return value.get_ref<const std::string&>(); }
  static bool matches(const Json& pattern, const std::string& value) {
    return std::regex_search(value, std::regex(pattern.get<std::string>()));
  }

  const Json& root_;
};

}  // namespace weft::live

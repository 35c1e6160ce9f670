#include "runtime/member/control.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace weft::runtime {
namespace {

using Json = nlohmann::json;

// Views and members have a form of their own, carried as text.
struct MessageWriter {
  Json operator()(const Ready& m) const {
    Json json = {
        {"is", "ready"}, {"number", m.number}, {"pledge", m.pledge}, {"info", to_text(m.info)}};
    if (m.accepted) {
      json["round"] = m.accepted->round;
      json["view"] = to_text(m.accepted->view);
    }
    return json;
  }
  Json operator()(const Propose& m) const {
    return {{"is", "propose"}, {"round", m.value.round}, {"view", to_text(m.value.view)}};
  }
  Json operator()(const Accept& m) const {
    return {{"is", "accept"}, {"round", m.round}, {"number", m.number}};
  }
  Json operator()(const Commit& m) const { return {{"is", "commit"}, {"view", to_text(m.view)}}; }
  Json operator()(const LifeNotice& m) const {
    return {{"is", "verdict"},
            {"member", m.member},
            {"life", static_cast<int>(m.life)},
            {"why", m.why}};
  }
  Json operator()(const Broken& m) const {
    return {{"is", "broken"}, {"group", m.group}, {"epoch", m.epoch}, {"why", m.why}};
  }
  Json operator()(const Reforming& m) const {
    return {{"is", "reforming"}, {"epoch", m.epoch}, {"why", m.why}};
  }
  Json operator()(const Join& m) const { return {{"is", "join"}, {"info", to_text(m.info)}}; }
  Json operator()(const Fenced& m) const { return {{"is", "fenced"}, {"number", m.number}}; }
  Json operator()(const Leaving&) const { return {{"is", "leaving"}}; }
  Json operator()(const Progress& m) const {
    return {{"is", "progress"},
            {"answer", m.answer},
            {"group", m.group},
            {"epoch", m.epoch},
            {"streams", m.streams}};
  }
};

// Reads fields and remembers the first that is wrong.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  template <typename Number>
  Number number(const char* name, std::uint64_t most) {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_number_unsigned() ||
        found->get<std::uint64_t>() > most) {
      complain(fmt::format("'{}' must be a whole number of at most {}", name, most));
      return {};
    }
    return static_cast<Number>(found->get<std::uint64_t>());
  }
  std::uint32_t word(const char* name) { return number<std::uint32_t>(name, 0xffffffff); }
  std::uint64_t wide(const char* name) { return number<std::uint64_t>(name, ~std::uint64_t{0}); }
  bool has(const char* name) const { return object_.contains(name); }
  std::string text(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_string()) {
      complain(fmt::format("'{}' must be a text", name));
      return {};
    }
    return found->get<std::string>();
  }
  template <typename Value>
  Value parsed(const char* name, Result<Value> (*parse)(std::string_view)) {
    auto value = parse(text(name));
    if (value.ok()) return std::move(*value);
    complain(value.error().what);
    return {};
  }
  bool flag(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_boolean()) return found->get<bool>();
    complain(fmt::format("'{}' must be true or false", name));
    return false;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(const char* name) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    const auto found = object_.find(name);
    constexpr std::size_t kMost = 10'000;
    if (found == object_.end() || !found->is_array() || found->size() > kMost) {
      complain(fmt::format("'{}' must be a list", name));
      return out;
    }
    const auto is_word = [](const Json& json) {
      return json.is_number_unsigned() && json.get<std::uint64_t>() <= 0xffffffff;
    };
    for (const Json& pair : *found) {
      if (!pair.is_array() || pair.size() != 2 || !is_word(pair[0]) || !is_word(pair[1])) {
        complain(fmt::format("'{}' must hold pairs of numbers", name));
        return {};
      }
      out.emplace_back(pair[0].get<std::uint32_t>(), pair[1].get<std::uint32_t>());
    }
    return out;
  }
  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json& object_;
  std::string wrong_;
};

ControlMessage read(Fields& fields) {
  const std::string kind = fields.text("is");
  if (kind == "ready") {
    Ready m{fields.word("number"), fields.wide("pledge"), fields.parsed("info", member_from), {}};
    if (fields.has("view")) {
      m.accepted = Accepted{fields.wide("round"), fields.parsed("view", view_from)};
    }
    return m;
  }
  if (kind == "propose") {
    return Propose{{fields.wide("round"), fields.parsed("view", view_from)}};
  }
  if (kind == "accept") return Accept{fields.wide("round"), fields.word("number")};
  if (kind == "commit") return Commit{fields.parsed("view", view_from)};
  if (kind == "verdict") {
    return LifeNotice{fields.word("member"), fields.number<Life>("life", 2), fields.text("why")};
  }
  if (kind == "broken") {
    return Broken{fields.word("group"), fields.word("epoch"), fields.text("why")};
  }
  if (kind == "reforming") return Reforming{fields.word("epoch"), fields.text("why")};
  if (kind == "join") return Join{fields.parsed("info", member_from)};
  if (kind == "fenced") return Fenced{fields.word("number")};
  if (kind == "progress") {
    return Progress{fields.flag("answer"), fields.word("group"), fields.word("epoch"),
                    fields.pairs("streams")};
  }
  if (kind != "leaving") fields.complain(fmt::format("'is' is '{}', which is unknown", kind));
  return Leaving{};
}

}  // namespace

std::string to_text(const ControlMessage& message) {
  // What an operating system or a user said may be in any encoding.
  return std::visit(MessageWriter{}, message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ControlMessage> control_from(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return Error{ErrorKind::kInvalidInput, "a control message is not a JSON object", ""};
  }
  Fields fields(object);
  ControlMessage message = read(fields);
  if (!fields.wrong().empty()) {
    return Error{ErrorKind::kInvalidInput, "a control message is wrong: " + fields.wrong(), ""};
  }
  return message;
}

}  // namespace weft::runtime

#include "runtime/member/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::runtime {
namespace {

using Json = nlohmann::json;

Json member_json(const MemberInfo& info) {
  return {{"id", info.id},           {"seat", info.seat}, {"host", info.host},
          {"control", info.control}, {"data", info.data}, {"segment", info.segment}};
}

Error bad(const std::string& what) {
  return {ErrorKind::kInvalidInput, "a description of members is wrong: " + what, ""};
}

Result<std::int64_t> number(const Json& object, const char* name, std::int64_t least,
                            std::int64_t most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) {
    return bad(fmt::format("'{}' must be a whole number", name));
  }
  const auto value = found->get<std::int64_t>();
  const bool huge = found->is_number_unsigned() && value < 0;  // does not fit
  if (huge || value < least || value > most) {
    return bad(fmt::format("'{}' is {}; it must lie in {} .. {}", name, value, least, most));
  }
  return value;
}

Result<std::string> text(const Json& object, const char* name) {
  constexpr std::size_t kMostBytes = 4096;  // addresses of UCX take a few hundred
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) {
    return bad(fmt::format("'{}' must be a text", name));
  }
  auto value = found->get<std::string>();
  if (value.size() > kMostBytes) {
    return bad(
        fmt::format("'{}' has {} bytes; at most {} are allowed", name, value.size(), kMostBytes));
  }
  return value;
}

Result<MemberInfo> read_member(const Json& object) {
  if (!object.is_object()) return bad("a member must be an object");
  MemberInfo info;
  const auto id = number(object, "id", 0, 0xffffffff);
  if (!id.ok()) return id.error();
  info.id = static_cast<MemberId>(*id);
  const auto seat = number(object, "seat", -1, kMostMembers);
  if (!seat.ok()) return seat.error();
  info.seat = static_cast<int>(*seat);
  for (const auto& [name, field] :
       {std::pair{"host", &MemberInfo::host}, std::pair{"control", &MemberInfo::control},
        std::pair{"data", &MemberInfo::data}, std::pair{"segment", &MemberInfo::segment}}) {
    auto value = text(object, name);
    if (!value.ok()) return value.error();
    info.*field = std::move(*value);
  }
  return info;
}

Result<LinkSpeeds> links_in(const Json& object) {
  const auto found = object.find("links");
  if (found == object.end() || !found->is_array() || found->size() != kLinkNumbers ||
      !std::all_of(found->begin(), found->end(), [](const Json& n) { return n.is_number(); })) {
    return bad(fmt::format("'links' must be {} numbers", kLinkNumbers));
  }
  return links_of(found->get<std::array<double, kLinkNumbers>>());
}

}  // namespace

int View::rank_of(MemberId id) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

const MemberInfo* View::find(MemberId id) const {
  const int rank = rank_of(id);
  return rank < 0 ? nullptr : &members[static_cast<std::size_t>(rank)];
}

std::string to_text(const MemberInfo& info) { return member_json(info).dump(); }

std::string to_text(const View& view) {
  Json members = Json::array();
  for (const MemberInfo& member : view.members) members.push_back(member_json(member));
  return Json{{"job_epoch", view.job_epoch},
              {"number", view.number},
              {"members", members},
              {"links", numbers_of(view.links)}}
      .dump();
}

Result<MemberInfo> member_from(std::string_view bytes) {
  const Json object = Json::parse(bytes, nullptr, false);
  if (object.is_discarded()) return bad("it is not JSON");
  return read_member(object);
}

Result<View> view_from(std::string_view bytes) {
  const Json object = Json::parse(bytes, nullptr, false);
  if (!object.is_object()) return bad("it is not a JSON object");
  View view;
  const auto epoch = number(object, "job_epoch", 0, kMostJobEpochs);
  if (!epoch.ok()) return epoch.error();
  view.job_epoch = static_cast<std::uint32_t>(*epoch);
  const auto count = number(object, "number", 0, kMostMemberships);
  if (!count.ok()) return count.error();
  view.number = static_cast<std::uint32_t>(*count);
  const auto members = object.find("members");
  if (members == object.end() || !members->is_array() || members->empty() ||
      members->size() > static_cast<std::size_t>(kMostMembers)) {
    return bad(fmt::format("'members' must list 1 to {} members", kMostMembers));
  }
  for (const Json& entry : *members) {
    auto member = read_member(entry);
    if (!member.ok()) return member.error();
    const int before = view.members.empty() ? -1 : view.members.back().seat;
    if (before >= member->seat) return bad("seats must rise from member to member, from 0 on");
    if (view.find(member->id) != nullptr) return bad(fmt::format("member {} twice", member->id));
    view.members.push_back(std::move(*member));
  }
  const auto links = links_in(object);
  if (!links.ok()) return links.error();
  view.links = *links;
  return view;
}

}  // namespace weft::runtime

// The part of Job that tells how its ranks are joined: hosts, links, connections.
#include <fmt/core.h>

#include <algorithm>

#include "runtime/job.h"

namespace weft::runtime {

Connections Job::connections() const {
  Connections held;
  held.control = mesh_->connections();
  held.data = static_cast<int>(wire_->counts().connections);
  const std::lock_guard lock(mutex_);
  held.segments = segments_;
  return held;
}

void Job::set_links(const LinkSpeeds& links) {
  {
    const std::lock_guard lock(mutex_);
    view_.links = links;
  }
  mesh_->set_links(links);
}

std::vector<std::string> Job::hosts_of(const std::vector<MemberId>& members) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> hosts;
  for (const MemberId member : members) {
    const MemberInfo* info = view_.find(member);
    hosts.push_back(info == nullptr || info->segment.empty() ? fmt::format("{}", member)
                                                             : info->host);
  }
  return hosts;
}

GroupShape Job::shape_of(const std::vector<MemberId>& members) const {
  const std::vector<std::string> hosts = hosts_of(members);
  GroupShape shape;
  shape.ranks = static_cast<int>(members.size());
  const auto per = static_cast<int>(std::count(hosts.begin(), hosts.end(), hosts[0]));
  shape.one_host = per == shape.ranks;
  shape.per_host = per;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t first = i / static_cast<std::size_t>(per) * static_cast<std::size_t>(per);
    if (hosts[i] != hosts[first]) shape.per_host = 1;
  }
  if (shape.per_host > 0 && shape.ranks % shape.per_host != 0) shape.per_host = 1;
  const std::lock_guard lock(mutex_);
  shape.links = view_.links;
  return shape;
}

}  // namespace weft::runtime

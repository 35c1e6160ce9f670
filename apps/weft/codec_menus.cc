#include "codec_menus.h"

#include <algorithm>
#include <map>
#include <memory>

#include "runtime/compress/codec_menu.h"

namespace weft {
namespace {

using runtime::GroupShape;

GroupShape shape_of(std::uint32_t devices, const Cluster& cluster,
                    const runtime::LinkSpeeds& links) {
  std::uint32_t per_node = 1;
  for (const Node& node : cluster.nodes) per_node = std::max<std::uint32_t>(per_node, node.devices);
  GroupShape shape;
  shape.ranks = static_cast<int>(devices);
  shape.one_host = devices <= per_node;
  shape.per_host = static_cast<int>(devices % per_node == 0 ? per_node : 1);
  if (shape.one_host) shape.per_host = shape.ranks;
  shape.links = links;
  return shape;
}

bool serves(const Submission& job) {
  const Configuration& c = job.requested();
  return job.kind == WorkloadKind::kTraining && job.menu->configurations.size() == 1 &&
         c.devices > 1 && c.traffic.pattern == Traffic::Pattern::kAllReduce &&
         c.traffic.bytes_per_step > 0 && c.seconds_per_step > 0;
}

}  // namespace

Status offer_codecs(Trace& trace, const Cluster& cluster, const runtime::LinkSpeeds& links) {
  std::map<const Menu*, std::shared_ptr<const Menu>> made;
  for (TraceJob& job : trace.jobs) {
    const Submission& old = *job.submission;
    if (!serves(old)) continue;
    std::shared_ptr<const Menu>& menu = made[old.menu.get()];
    if (menu == nullptr) {
      const Configuration& asked = old.requested();
      const runtime::ModelStep step{static_cast<double>(asked.traffic.bytes_per_step),
                                    asked.seconds_per_step};
      auto filled = runtime::codec_menu(asked, step, shape_of(asked.devices, cluster, links));
      if (!filled.ok()) return filled.error();
      menu = std::make_shared<const Menu>(std::move(*filled));
    }
    Submission submission = old;
    submission.menu = menu;
    submission.elastic = true;
    job.submission = std::make_shared<const Submission>(std::move(submission));
  }
  return {};
}

}  // namespace weft

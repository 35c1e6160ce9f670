// `weft sim --codecs`: menus with one configuration for each codec, synchronisation mode and
// collective algorithm, from the cost model of live training.
#pragma once

#include "model/cluster.h"
#include "model/trace.h"
#include "runtime/links.h"

namespace weft {

// For every training job of several devices that says what it sends and how long a step takes, and
// whose menu has one configuration: the job becomes elastic, and how fast it is as asked for stays
// as it was. `links` are those between its devices: in a node, and between nodes.
Status offer_codecs(Trace& trace, const Cluster& cluster, const runtime::LinkSpeeds& links);

}  // namespace weft

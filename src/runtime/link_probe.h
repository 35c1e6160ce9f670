// Measures the links of a group, once, when it starts.
#pragma once

#include <string>
#include <vector>

#include "runtime/group.h"
#include "runtime/links.h"

namespace weft::runtime {

// All ranks call it at the same time, with a stream and a deadline of its own. `hosts`: of each
// rank; ranks of the same text share memory. Barriers give the time of a message, growing messages
// from every rank to the next the bandwidth: by what two sizes differ in, so that neither the start
// of connections nor a link's burst counts. Kinds of pairs that the group does not have keep their
// usual speeds. Ensures: the same numbers on all ranks; every pair that is connected by it also
// compares calls. Cost: at most 16 MB for each rank and kind; no further size once one took 0.1 s.
Result<LinkSpeeds> measure_links(Group& group, const std::vector<std::string>& hosts,
                                 const CallOptions& call);

// Makes all ranks use what rank 0 has.
Result<LinkSpeeds> agree_on_links(Group& group, const LinkSpeeds& links, const CallOptions& call);

}  // namespace weft::runtime

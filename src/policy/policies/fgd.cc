// FGD: parts of devices go where they leave least that later jobs cannot use.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition fgd() {
  Composition c;
  c.name = "fgd";
  c.summary = "in order of submission; devices whose taking fragments the cluster least";
  c.source = "Weng et al., Beware of Fragmentation (ATC'23) §4";
  c.allocate.settings = {{"backfill", "any"}};
  c.place = {"fragmentation", {}};
  return c;
}

}  // namespace weft::policies

// The smallest share of devices that meets a deadline, and no admission without one.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition elasticflow() {
  Composition c;
  c.name = "elasticflow";
  c.summary = "jobs whose deadlines some share of devices can meet are admitted on the smallest";
  c.source = "ElasticFlow (ASPLOS'23): minimum satisfactory share, elastic allocation, placement";
  c.allocate = {"min-share", {}};
  return c;
}

}  // namespace weft::policies

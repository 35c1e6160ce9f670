// What a build without UCX answers.
#ifndef WEFT_UCX
#include "runtime/ucx/ucx_transport.h"

namespace weft::runtime {

bool ucx_built() { return false; }

Result<std::unique_ptr<WireTransport>> open_ucx(Reactor&, Doorbell, WireSettings) {
  return Error{ErrorKind::kUnsupported, "this build has no UCX",
               "configure with -DWEFT_UCX=ON (libucx-dev), or let WEFT_NETWORK be tcp"};
}

}  // namespace weft::runtime
#endif

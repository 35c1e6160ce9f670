// UCX's objects with their ends. Only the sources of the UCX transport include this.
#pragma once

#ifdef WEFT_UCX
#include <ucp/api/ucp.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::runtime {

class UcxWorker {
 public:
  using Handler = ucp_am_recv_callback_t;
  // Messages go to handler(argument, …) while progress() runs.
  static Result<UcxWorker> open(Handler handler, void* argument);
  UcxWorker(UcxWorker&& other) noexcept;
  UcxWorker& operator=(UcxWorker&&) = delete;
  ~UcxWorker();

  ucp_worker_h get() const { return worker_; }
  // Readable when there is something to do after arm().
  int descriptor() const { return descriptor_; }
  const std::string& address() const { return address_; }
  // Whether anything was done.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  // False: there is something to do now.
  bool arm() { return ucp_worker_arm(worker_) != UCS_ERR_BUSY; }
  // Requires: `on_error` is called with `argument` while progress() runs, until the end is closed.
  Result<ucp_ep_h> connect(std::string_view address, ucp_err_handler_cb_t on_error,
                           void* argument) const;

 private:
  UcxWorker() = default;
  Status open_context();
  Status open_worker(Handler handler, void* argument);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::string address_;  // in hexadecimal digits
};

inline constexpr unsigned kUcxMessage = 1;  // the one kind of active message there is

}  // namespace weft::runtime
#endif

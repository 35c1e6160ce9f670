#include "runtime/ucx/ucx_worker.h"

#ifdef WEFT_UCX
#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::runtime {
namespace {

constexpr std::string_view kAddressPrefix = "ucx:";

Status ucx_status(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return {};
  return Error{ErrorKind::kIo, fmt::format("UCX cannot {}: {}", what, ucs_status_string(status)),
               "UCX_LOG_LEVEL=info says more; ucx_info -d lists what it can use"};
}

Result<std::vector<std::uint8_t>> address_bytes(std::string_view text) {
  const Error wrong{ErrorKind::kInvalidInput,
                    fmt::format("'{}' is not an address of UCX", text.substr(0, 40)),
                    "do all ranks have the same WEFT_NETWORK?"};
  if (!text.starts_with(kAddressPrefix) || text.size() % 2 != 0) return wrong;
  text.remove_prefix(kAddressPrefix.size());
  std::vector<std::uint8_t> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    const auto [stop, code] = std::from_chars(digits, digits + 2, bytes[i], 16);
    if (code != std::errc{} || stop != digits + 2) return wrong;
  }
  if (bytes.empty()) return wrong;
  return bytes;
}

}  // namespace

Result<UcxWorker> UcxWorker::open(Handler handler, void* argument) {
  UcxWorker worker;
  Status opened = worker.open_context();
  if (opened.ok()) opened = worker.open_worker(handler, argument);
  if (!opened.ok()) return opened.error();
  return worker;
}

UcxWorker::UcxWorker(UcxWorker&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)),
      worker_(std::exchange(other.worker_, nullptr)),
      descriptor_(other.descriptor_),
      address_(std::move(other.address_)) {}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status UcxWorker::open_context() {
  ucp_config_t* config = nullptr;
  Status done = ucx_status(ucp_config_read(nullptr, nullptr, &config), "read its settings");
  if (!done.ok()) return done;
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  done = ucx_status(ucp_init(&params, config, &context_), "start");
  ucp_config_release(config);
  return done;
}

Status UcxWorker::open_worker(Handler handler, void* argument) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  Status done = ucx_status(ucp_worker_create(context_, &params, &worker_), "make a worker");
  if (!done.ok()) return done;
  done = ucx_status(ucp_worker_get_efd(worker_, &descriptor_), "tell of events");
  if (!done.ok()) return done;
  ucp_am_handler_param_t message{};
  message.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  message.id = kUcxMessage;
  message.cb = handler;
  message.arg = argument;
  done = ucx_status(ucp_worker_set_am_recv_handler(worker_, &message), "receive messages");
  if (!done.ok()) return done;
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  done = ucx_status(ucp_worker_get_address(worker_, &address, &bytes), "tell its address");
  if (!done.ok()) return done;
  address_ = kAddressPrefix;
  for (std::size_t i = 0; i < bytes; ++i) {
    address_ += fmt::format("{:02x}", reinterpret_cast<const std::uint8_t*>(address)[i]);
  }
  ucp_worker_release_address(worker_, address);
  return {};
}

Result<ucp_ep_h> UcxWorker::connect(std::string_view address, ucp_err_handler_cb_t on_error,
                                    void* argument) const {
  const auto bytes = address_bytes(address);
  if (!bytes.ok()) return bytes.error();
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(bytes->data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {on_error, argument};
  ucp_ep_h end = nullptr;
  const Status made = ucx_status(ucp_ep_create(worker_, &params, &end), "reach a member");
  if (!made.ok()) return made.error();
  return end;
}

}  // namespace weft::runtime
#endif

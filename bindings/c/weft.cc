#include "bindings/c/weft.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "runtime/group.h"
#include "runtime/net/store.h"

using weft::runtime::CallOptions;
using weft::runtime::DataType;
using weft::runtime::Group;
using weft::runtime::GroupOptions;
using weft::runtime::ReduceOp;

struct weft_group {
  std::shared_ptr<Group> group;  // shared with the operations under way
};
struct weft_work {
  Group::WorkPtr work;
};
struct weft_store {
  std::unique_ptr<weft::runtime::StoreServer> server;
};

namespace {

thread_local std::string last_error;
thread_local std::string last_broken;

weft_status refuse(std::string why) {
  last_error = std::move(why);
  return WEFT_BAD_ARGUMENT;
}

weft_status failed(const weft::Error& error) {
  last_error = error.text();
  return error.kind == weft::ErrorKind::kInvalidInput ? WEFT_BAD_ARGUMENT : WEFT_FAILED;
}

// What nearly every operation is asked with; the operation adds what is its own.
struct Request {
  weft_group* group;
  weft_type type;
  const weft_call_options* options;
  weft_work** work;
  weft_reduction reduction = WEFT_SUM;
  int peer = 0;  // root, source or destination
  std::uint64_t count = 0;
  bool buffers = true;  // that every buffer the count needs is there
};

// Begins an operation after its arguments were found good. C has no exceptions: what the library
// below might throw (memory) ends here.
template <typename Begin>
weft_status begin(const Request& request, Begin start) try {
  if (!request.group || !request.work) return refuse("the group or the place of the work is null");
  *request.work = nullptr;
  if (request.type < WEFT_FLOAT32 || request.type > WEFT_UINT8)
    return refuse(fmt::format("there is no element type {}", static_cast<int>(request.type)));
  if (request.reduction < WEFT_SUM || request.reduction > WEFT_AVERAGE)
    return refuse(fmt::format("there is no reduction {}", static_cast<int>(request.reduction)));
  Group& group = *request.group->group;
  if (request.peer < 0 || request.peer >= group.size())
    return refuse(fmt::format("rank {} is outside the group of {}", request.peer, group.size()));
  if (request.count > 0 && !request.buffers) return refuse("a buffer is null");
  CallOptions options;
  if (request.options) {
    if (!std::isfinite(request.options->priority) || !(request.options->deadline_s >= 0))
      return refuse("a deadline is negative, or a priority is not a number");
    options = {.deadline_s = request.options->deadline_s,
               .stream = request.options->stream,
               .priority = request.options->priority};
  }
  *request.work = new weft_work{start(group, static_cast<DataType>(request.type), options)};
  return WEFT_OK;
} catch (const std::exception& error) {
  last_error = error.what();
  return WEFT_FAILED;
}

ReduceOp op_of(weft_reduction reduction) { return static_cast<ReduceOp>(reduction); }

}  // namespace

const char* weft_last_error(void) { return last_error.c_str(); }
const char* weft_version(void) { return WEFT_VERSION; }

weft_status weft_serve_store(const char* address, const char* secret_hex, weft_store** store) try {
  if (!address || !secret_hex || !store) return refuse("the address, secret or place is null");
  *store = nullptr;
  const auto secret = weft::runtime::Secret::from_hex(secret_hex);
  if (!secret.ok()) return failed(secret.error());
  auto server = weft::runtime::StoreServer::start(address, *secret);
  if (!server.ok()) return failed(server.error());
  *store = new weft_store{std::move(*server)};
  return WEFT_OK;
} catch (const std::exception& error) {
  last_error = error.what();
  return WEFT_FAILED;
}

int weft_store_port(const weft_store* store) { return store ? store->server->port() : -1; }
void weft_close_store(weft_store* store) { delete store; }

weft_status weft_fresh_secret(char secret_hex[65]) {
  if (!secret_hex) return refuse("the place of the secret is null");
  const auto secret = weft::runtime::Secret::fresh();
  if (!secret.ok()) return failed(secret.error());
  const std::string hex = secret->hex();
  hex.copy(secret_hex, 64);
  secret_hex[64] = '\0';
  return WEFT_OK;
}

weft_status weft_start(weft_group** group) { return weft_start_with(nullptr, group); }

weft_status weft_start_with(const weft_start_options* options, weft_group** group) try {
  if (!group) return refuse("the place of the group is null");
  *group = nullptr;
  GroupOptions wanted;
  // With everything given the environment need not describe a group.
  const bool whole = options && options->store && options->secret_hex && options->ranks > 0;
  if (!whole) {
    auto found = GroupOptions::from_environment();
    if (!found.ok()) return failed(found.error());
    wanted = *found;
  }
  if (options) {
    if (options->store) wanted.store = options->store;
    if (options->secret_hex) {
      auto secret = weft::runtime::Secret::from_hex(options->secret_hex);
      if (!secret.ok()) return failed(secret.error());
      wanted.secret = *secret;
      wanted.job = weft::runtime::job_of(*secret);
    }
    if (options->ranks > 0) {
      if (options->rank < 0 || options->rank >= options->ranks)
        return refuse(
            fmt::format("rank {} is outside the group of {}", options->rank, options->ranks));
      wanted.rank = options->rank;
      wanted.ranks = options->ranks;
      wanted.member = static_cast<std::uint32_t>(options->rank);
    }
    if (options->start_deadline_s > 0) wanted.start_deadline_s = options->start_deadline_s;
    if (options->deadline_s > 0) wanted.deadline_s = options->deadline_s;
  }
  auto started = Group::start(wanted);
  if (!started.ok()) return failed(started.error());
  *group = new weft_group{std::move(*started)};
  return WEFT_OK;
} catch (const std::exception& error) {
  last_error = error.what();
  return WEFT_FAILED;
}

void weft_leave(weft_group* group) {
  if (!group) return;
  group->group->leave();
  delete group;
}

int weft_rank(const weft_group* group) { return group ? group->group->rank() : -1; }
int weft_size(const weft_group* group) { return group ? group->group->size() : -1; }
uint32_t weft_epoch(const weft_group* group) {
  return group ? group->group->membership().epoch() : 0;
}
int weft_seat(const weft_group* group) {
  if (!group) return -1;
  const auto membership = group->group->membership();
  return membership.seats[static_cast<std::size_t>(membership.rank)];
}

weft_status weft_all_reduce(weft_group* group, void* data, uint64_t count, weft_type type,
                            weft_reduction reduction, const weft_call_options* options,
                            weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .reduction = reduction,
                .count = count,
                .buffers = data != nullptr},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.all_reduce(data, count, t, op_of(reduction), o);
               });
}

weft_status weft_broadcast(weft_group* group, void* data, uint64_t count, weft_type type, int root,
                           const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .peer = root,
                .count = count,
                .buffers = data != nullptr},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.broadcast(data, count, t, root, o);
               });
}

weft_status weft_reduce(weft_group* group, void* data, uint64_t count, weft_type type,
                        weft_reduction reduction, int root, const weft_call_options* options,
                        weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .reduction = reduction,
                .peer = root,
                .count = count,
                .buffers = data != nullptr},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.reduce(data, count, t, op_of(reduction), root, o);
               });
}

weft_status weft_all_gather(weft_group* group, const void* in, void* out, uint64_t count,
                            weft_type type, const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .count = count,
                .buffers = in && out},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.all_gather(in, out, count, t, o);
               });
}

weft_status weft_reduce_scatter(weft_group* group, const void* in, void* out, uint64_t count,
                                weft_type type, weft_reduction reduction,
                                const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .reduction = reduction,
                .count = count,
                .buffers = in && out},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.reduce_scatter(in, out, count, t, op_of(reduction), o);
               });
}

weft_status weft_all_to_all(weft_group* group, const void* in, void* out, uint64_t count,
                            weft_type type, const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .count = count,
                .buffers = in && out},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.all_to_all(in, out, count, t, o);
               });
}

weft_status weft_all_to_all_v(weft_group* group, const void* in, const uint64_t* sends, void* out,
                              const uint64_t* receives, weft_type type,
                              const weft_call_options* options, weft_work** work) {
  if (!sends || !receives) return refuse("the amounts by rank are null");
  const int size = weft_size(group);
  std::uint64_t sent = 0, received = 0;
  for (int r = 0; r < size; ++r) {
    sent += sends[r];
    received += receives[r];
  }
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .count = sent + received,
                .buffers = (in || !sent) && (out || !received)},
               [&](Group& g, DataType t, const CallOptions& o) {
                 const auto ranks = static_cast<std::size_t>(size);
                 return g.all_to_all_v(in, {sends, ranks}, out, {receives, ranks}, t, o);
               });
}

weft_status weft_barrier(weft_group* group, const weft_call_options* options, weft_work** work) {
  return begin({.group = group, .type = WEFT_UINT8, .options = options, .work = work},
               [](Group& g, DataType, const CallOptions& o) { return g.barrier(o); });
}

weft_status weft_send(weft_group* group, const void* data, uint64_t count, weft_type type, int to,
                      uint32_t tag, const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .peer = to,
                .count = count,
                .buffers = data != nullptr},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.send(data, count, t, to, tag, o);
               });
}

weft_status weft_receive(weft_group* group, void* data, uint64_t count, weft_type type, int from,
                         uint32_t tag, const weft_call_options* options, weft_work** work) {
  return begin({.group = group,
                .type = type,
                .options = options,
                .work = work,
                .peer = from,
                .count = count,
                .buffers = data != nullptr},
               [&](Group& g, DataType t, const CallOptions& o) {
                 return g.receive(data, count, t, from, tag, o);
               });
}

weft_status weft_wait(weft_work* work) {
  if (!work) return refuse("the work is null");
  const std::unique_ptr<weft_work> owned(work);
  const weft::Status status = owned->work->wait();
  if (status.ok()) return WEFT_OK;
  last_error = status.error().text();
  return WEFT_FAILED;
}

weft_status weft_test(weft_work* work) {
  if (!work) return refuse("the work is null");
  return work->work->done() ? WEFT_OK : WEFT_PENDING;
}

weft_status weft_cancel(weft_work* work) {
  if (!work) return refuse("the work is null");
  work->work->cancel();
  return WEFT_OK;
}

weft_status weft_mark_step(weft_group* group) {
  if (!group) return refuse("the group is null");
  group->group->mark_step();
  return WEFT_OK;
}

weft_status weft_reform(weft_group* group, double deadline_s) {
  if (!group) return refuse("the group is null");
  if (!(deadline_s > 0))
    return refuse(fmt::format("a deadline of {} s is not above 0", deadline_s));
  const auto membership = group->group->reform(deadline_s);
  if (membership.ok()) return WEFT_OK;
  last_error = membership.error().text();
  return WEFT_FAILED;
}

int weft_joiners(const weft_group* group) { return group ? group->group->joiners() : -1; }

const char* weft_broken(const weft_group* group) {
  last_broken = group ? group->group->broken() : "the group is null";
  return last_broken.c_str();
}

// Weft's collectives for any language: a plain C interface to runtime/group.h.
//
// Every function that can fail returns a weft_status: 0 is success, else weft_last_error() of the
// calling thread says in one sentence what was wrong. No function aborts or throws. Handles are
// freed by the function named beside them; a null handle is refused with WEFT_BAD_ARGUMENT.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  WEFT_OK = 0,
  WEFT_BAD_ARGUMENT = 1, /* the caller's mistake; nothing was started */
  WEFT_FAILED = 2,       /* the operation failed and the group is broken: weft_reform() */
  WEFT_PENDING = 3       /* weft_test(): not yet */
} weft_status;

/* Numbers, so that any value may come and a wrong one is refused. */
typedef int weft_type;
enum {
  WEFT_FLOAT32 = 0,
  WEFT_FLOAT64,
  WEFT_FLOAT16,
  WEFT_BFLOAT16,
  WEFT_INT32,
  WEFT_INT64,
  WEFT_UINT8
};
typedef int weft_reduction;
enum { WEFT_SUM = 0, WEFT_MIN, WEFT_MAX, WEFT_AVERAGE };

typedef struct weft_group weft_group;
typedef struct weft_work weft_work;
typedef struct weft_store weft_store;

typedef struct {
  double deadline_s; /* 0: the group's */
  uint32_t stream;   /* operations of one stream are matched in the order of their calls */
  double priority;   /* the least goes first */
} weft_call_options; /* a null pointer stands for all zero */

const char* weft_last_error(void);
const char* weft_version(void);

/* Without a launcher one process serves the store by which the ranks find each other. Nothing uses
 * it after weft_start_with() has returned on every rank. Port 0 takes a free one. */
weft_status weft_serve_store(const char* address, const char* secret_hex, weft_store** store);
int weft_store_port(const weft_store* store);
void weft_close_store(weft_store* store);
/* 64 digits and the end of the string, from the kernel's random numbers. */
weft_status weft_fresh_secret(char secret_hex[65]);

/* Meets the group that the environment describes (weft launch, or RANK, WORLD_SIZE, WEFT_STORE and
 * WEFT_SECRET_FILE). Freed by weft_leave(). */
weft_status weft_start(weft_group** group);
/* The same with what differs from the environment; zero or null: as there. */
typedef struct {
  const char* store;      /* host:port */
  const char* secret_hex; /* 64 digits */
  int rank, ranks;        /* ranks 0: from the environment */
  double start_deadline_s;
  double deadline_s;
} weft_start_options;
weft_status weft_start_with(const weft_start_options* options, weft_group** group);
void weft_leave(weft_group* group);

/* -1 (the epoch: 0) for a null handle. */
int weft_rank(const weft_group* group);
int weft_size(const weft_group* group);
uint32_t weft_epoch(const weft_group* group);
/* The rank the place was given when the job started, which does not change. */
int weft_seat(const weft_group* group);

/* Begin; the buffers must stay until weft_wait(). Counts are elements, see runtime/group.h. */
weft_status weft_all_reduce(weft_group*, void* data, uint64_t count, weft_type, weft_reduction,
                            const weft_call_options*, weft_work** work);
weft_status weft_broadcast(weft_group*, void* data, uint64_t count, weft_type, int root,
                           const weft_call_options*, weft_work** work);
weft_status weft_reduce(weft_group*, void* data, uint64_t count, weft_type, weft_reduction,
                        int root, const weft_call_options*, weft_work** work);
weft_status weft_all_gather(weft_group*, const void* in, void* out, uint64_t count, weft_type,
                            const weft_call_options*, weft_work** work);
weft_status weft_reduce_scatter(weft_group*, const void* in, void* out, uint64_t count, weft_type,
                                weft_reduction, const weft_call_options*, weft_work** work);
weft_status weft_all_to_all(weft_group*, const void* in, void* out, uint64_t count, weft_type,
                            const weft_call_options*, weft_work** work);
weft_status weft_all_to_all_v(weft_group*, const void* in, const uint64_t* sends, void* out,
                              const uint64_t* receives, weft_type, const weft_call_options*,
                              weft_work** work);
weft_status weft_barrier(weft_group*, const weft_call_options*, weft_work** work);
weft_status weft_send(weft_group*, const void* data, uint64_t count, weft_type, int to,
                      uint32_t tag, const weft_call_options*, weft_work** work);
weft_status weft_receive(weft_group*, void* data, uint64_t count, weft_type, int from, uint32_t tag,
                         const weft_call_options*, weft_work** work);

/* Waits for the end and frees the handle. */
weft_status weft_wait(weft_work* work);
/* WEFT_OK: ended, and weft_wait() will not block; WEFT_PENDING: not yet. The handle stays. */
weft_status weft_test(weft_work* work);
/* Gives up, on every rank; the handle is still to be waited for. */
weft_status weft_cancel(weft_work* work);

/* Agrees with those that are left on a new membership; ranks are numbered anew, seats are not. */
weft_status weft_reform(weft_group* group, double deadline_s);
/* Processes that wait to be taken in by the next weft_reform(), as far as this rank knows. */
int weft_joiners(const weft_group* group);
/* Why the group is broken, "" if it is not. Valid until the next call of this thread. */
const char* weft_broken(const weft_group* group);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

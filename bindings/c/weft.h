/* Weft's collectives for any language: a plain C interface to runtime/group.h.
 *
 * Every function that can fail returns a weft_status: 0 is success, else weft_last_error() of the
 * calling thread says in one sentence what was wrong. No function aborts or throws. Handles are
 * freed by the function named beside them; a null handle is refused with WEFT_BAD_ARGUMENT.
 */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  WEFT_OK = 0,
  WEFT_BAD_ARGUMENT = 1, /* the caller's mistake; nothing was started */
  WEFT_FAILED = 2,       /* the operation failed and the group is broken: weft_reform() */
  WEFT_PENDING = 3       /* weft_test(): not yet */
} weft_status;

typedef enum {
  WEFT_FLOAT32 = 0, WEFT_FLOAT64, WEFT_FLOAT16, WEFT_BFLOAT16, WEFT_INT32, WEFT_INT64, WEFT_UINT8
} weft_type;
typedef enum { WEFT_SUM = 0, WEFT_MIN, WEFT_MAX, WEFT_AVERAGE } weft_reduction;

typedef struct weft_group weft_group;
typedef struct weft_work weft_work;

typedef struct {
  double deadline_s;  /* 0: the group's */
  uint32_t stream;    /* operations of one stream are matched in the order of their calls */
  double priority;    /* the least goes first */
} weft_call_options;  /* a null pointer stands for all zero */

const char* weft_last_error(void);
const char* weft_version(void);

/* Joins the group that the environment describes (weft launch, or RANK, WORLD_SIZE, WEFT_STORE and
 * WEFT_SECRET_FILE). Freed by weft_leave(). */
weft_status weft_start(weft_group** group);
/* The same with what differs from the environment; zero or null: as there. */
typedef struct {
  const char* store;        /* host:port */
  const char* secret_hex;   /* 64 digits */
  int rank, ranks;          /* ranks 0: from the environment */
  double start_deadline_s;
  double deadline_s;
} weft_start_options;
weft_status weft_start_with(const weft_start_options* options, weft_group** group);
void weft_leave(weft_group* group);

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
weft_status weft_reduce(weft_group*, void* data, uint64_t count, weft_type, weft_reduction, int root,
                        const weft_call_options*, weft_work** work);
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
weft_status weft_send(weft_group*, const void* data, uint64_t count, weft_type, int to, uint32_t tag,
                      const weft_call_options*, weft_work** work);
weft_status weft_receive(weft_group*, void* data, uint64_t count, weft_type, int from, uint32_t tag,
                         const weft_call_options*, weft_work** work);

/* Waits for the end and frees the handle. */
weft_status weft_wait(weft_work* work);
/* WEFT_OK: ended well, WEFT_PENDING, or WEFT_FAILED. The handle stays. */
weft_status weft_test(weft_work* work);
void weft_cancel(weft_work* work);

/* Agrees with those that are left on a new membership. */
weft_status weft_reform(weft_group* group, double deadline_s);
int weft_joiners(const weft_group* group);

#ifdef __cplusplus
}
#endif
#endif

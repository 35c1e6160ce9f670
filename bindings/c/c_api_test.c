/* The C interface as a C program uses it: two ranks, forked, that find each other through a store
 * served here. Says what differs on standard error and ends with 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/c/weft.h"

enum { kRanks = 2, kCount = 1000 };

static int own_rank = -1;  /* -1: the parent */
static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d, not so: %s (last error: %s)\n", own_rank, what, weft_last_error());
  ++failures;
}

#define EXPECT(condition) expect((condition), #condition)

/* Every wrong argument is refused with a sentence and starts nothing. */
static void refuses_bad_arguments(weft_group* group) {
  float data[4] = {0};
  weft_work* work = NULL;
  EXPECT(weft_all_reduce(NULL, data, 4, WEFT_FLOAT32, WEFT_SUM, NULL, &work) == WEFT_BAD_ARGUMENT);
  EXPECT(strstr(weft_last_error(), "null") != NULL);
  EXPECT(weft_all_reduce(group, NULL, 4, WEFT_FLOAT32, WEFT_SUM, NULL, &work) ==
         WEFT_BAD_ARGUMENT);
  EXPECT(weft_all_reduce(group, data, 4, (weft_type)99, WEFT_SUM, NULL, &work) ==
         WEFT_BAD_ARGUMENT);
  EXPECT(weft_all_reduce(group, data, 4, WEFT_FLOAT32, (weft_reduction)9, NULL, &work) ==
         WEFT_BAD_ARGUMENT);
  EXPECT(weft_broadcast(group, data, 4, WEFT_FLOAT32, 2, NULL, &work) == WEFT_BAD_ARGUMENT);
  EXPECT(strstr(weft_last_error(), "rank 2") != NULL);
  EXPECT(weft_wait(NULL) == WEFT_BAD_ARGUMENT);
  EXPECT(weft_rank(NULL) == -1);
}

static void reduces(weft_group* group) {
  const int rank = weft_rank(group);
  float data[kCount];
  int64_t most = rank;
  for (int i = 0; i < kCount; ++i) data[i] = (float)(i + rank);
  weft_call_options options = {.deadline_s = 20, .stream = 3, .priority = -1};
  weft_work *first = NULL, *second = NULL;
  EXPECT(weft_all_reduce(group, data, kCount, WEFT_FLOAT32, WEFT_SUM, &options, &first) == WEFT_OK);
  EXPECT(weft_all_reduce(group, &most, 1, WEFT_INT64, WEFT_MAX, NULL, &second) == WEFT_OK);
  EXPECT(weft_wait(second) == WEFT_OK);
  EXPECT(weft_wait(first) == WEFT_OK);
  EXPECT(most == kRanks - 1);
  for (int i = 0; i < kCount; ++i) {
    if (data[i] != (float)(2 * i + 1)) {
      EXPECT(!"the sum of element i is 2 i + 1");
      break;
    }
  }
}

static void moves(weft_group* group) {
  const int rank = weft_rank(group);
  const int32_t mine = 10 + rank;
  int32_t all[kRanks] = {0, 0}, root = rank, sent[kRanks] = {rank * 10, rank * 10 + 1};
  weft_work* work = NULL;
  EXPECT(weft_all_gather(group, &mine, all, 1, WEFT_INT32, NULL, &work) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_OK);
  EXPECT(all[0] == 10 && all[1] == 11);
  EXPECT(weft_broadcast(group, &root, 1, WEFT_INT32, 1, NULL, &work) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_OK);
  EXPECT(root == 1);
  EXPECT(weft_all_to_all(group, sent, all, 1, WEFT_INT32, NULL, &work) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_OK);
  EXPECT(all[0] == rank && all[1] == 10 + rank);
  EXPECT((rank == 0 ? weft_send(group, &mine, 1, WEFT_INT32, 1, 7, NULL, &work)
                    : weft_receive(group, all, 1, WEFT_INT32, 0, 7, NULL, &work)) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_OK);
  EXPECT(rank == 0 || all[0] == 10);
  EXPECT(weft_barrier(group, NULL, &work) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_OK);
}

/* Calls that differ are an error on both ranks, and the group can be re-formed after it. */
static void tells_of_a_mismatch(weft_group* group) {
  float data[kCount] = {0};
  weft_work* work = NULL;
  const uint64_t count = weft_rank(group) == 0 ? 10 : 20;
  EXPECT(strcmp(weft_broken(group), "") == 0);
  EXPECT(weft_all_reduce(group, data, count, WEFT_FLOAT32, WEFT_SUM, NULL, &work) == WEFT_OK);
  EXPECT(weft_wait(work) == WEFT_FAILED);
  EXPECT(strlen(weft_last_error()) > 10);
  EXPECT(strlen(weft_broken(group)) > 10);
  const uint32_t before = weft_epoch(group);
  EXPECT(weft_reform(group, 10) == WEFT_OK);
  EXPECT(weft_epoch(group) > before);
  EXPECT(weft_size(group) == kRanks && weft_joiners(group) == 0);
  reduces(group);
}

static int rank_main(int rank, const char* store, const char* secret) {
  own_rank = rank;
  weft_group* group = NULL;
  const weft_start_options options = {.store = store, .secret_hex = secret, .rank = rank,
                                      .ranks = kRanks, .start_deadline_s = 20, .deadline_s = 20};
  if (weft_start_with(&options, &group) != WEFT_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, weft_last_error());
    return 1;
  }
  EXPECT(weft_rank(group) == rank && weft_size(group) == kRanks && weft_seat(group) == rank);
  refuses_bad_arguments(group);
  reduces(group);
  moves(group);
  tells_of_a_mismatch(group);
  weft_leave(group);
  return failures > 0;
}

int main(void) {
  char secret[65], store[64];
  weft_store* server = NULL;
  EXPECT(strlen(weft_version()) >= 5);
  if (weft_fresh_secret(secret) != WEFT_OK ||
      weft_serve_store("127.0.0.1:0", secret, &server) != WEFT_OK) {
    fprintf(stderr, "%s\n", weft_last_error());
    return 1;
  }
  snprintf(store, sizeof store, "127.0.0.1:%d", weft_store_port(server));
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(rank_main(rank, store, secret));
    if (child < 0) return 1;
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  weft_close_store(server);
  return failures > 0;
}

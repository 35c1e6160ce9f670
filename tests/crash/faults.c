/* Loaded before the C library (LD_PRELOAD): lets the disk fail and the wall clock jump for one
 * program, as files in the folder WEFT_FAULTS say. `sync`: syncing the journal fails. `clock`: holds
 * seconds by which the wall clock is wrong. The monotonic clock is left alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int told(const char* name, char* text, size_t size) {
  char path[4096];
  const char* folder = getenv("WEFT_FAULTS");
  if (folder == NULL || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    return 0;
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, size - 1);
  close(file);
  text[got > 0 ? got : 0] = 0;
  return 1;
}

static int sync_fails(int descriptor) {
  char link[64], path[4096], text[8];
  const int kept = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t got = readlink(link, path, sizeof path - 1);
  errno = kept;
  if (got < 0) return 0;
  path[got] = 0;
  return strstr(path, "journal.db") != NULL && told("sync", text, sizeof text);
}

int fsync(int descriptor) {
  if (!sync_fails(descriptor)) return (int)syscall(SYS_fsync, descriptor);
  errno = EIO;
  return -1;
}

int fdatasync(int descriptor) {
  if (!sync_fails(descriptor)) return (int)syscall(SYS_fdatasync, descriptor);
  errno = EIO;
  return -1;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const int done = (int)syscall(SYS_clock_gettime, clock, at);
  char text[32];
  if (done == 0 && clock == CLOCK_REALTIME && told("clock", text, sizeof text)) {
    at->tv_sec += atol(text);
  }
  return done;
}

int gettimeofday(struct timeval* restrict at, void* restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* at) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}

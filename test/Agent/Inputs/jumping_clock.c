// Preloaded, it makes the time of day jump by years between two looks at it;
// the monotonic clock stays.

#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long jump(void) {
  static long calls;
  return (++calls % 2 ? 1 : -1) * 300000000L;
}

time_t time(time_t *where) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  time_t result = now.tv_sec + jump();
  if (where)
    *where = result;
  return result;
}

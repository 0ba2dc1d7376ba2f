// A wall clock that a test steps: preloaded into a real server, it adds to the system's as many nanoseconds as stand in a
// file. Monotonic clocks are left alone. (libfaketime 0.9.10 cannot run a redis-server with jemalloc: it calls itself.)
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const long long *step;

__attribute__((constructor)) static void map(void) {
	int fd = open(getenv("LOCKSCOPE_CLOCK"), O_RDONLY);
	void *p = fd < 0 ? MAP_FAILED : mmap(0, sizeof *step, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) abort();
	step = p;
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
	int result = syscall(SYS_clock_gettime, clock, ts);
	if (result == 0 && step && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		long long now = ts->tv_sec * 1000000000LL + ts->tv_nsec + *step;
		ts->tv_sec = now / 1000000000LL;
		ts->tv_nsec = now % 1000000000LL;
	}
	return result;
}

int gettimeofday(struct timeval *tv, void *zone) {
	struct timespec ts;
	int result = clock_gettime(CLOCK_REALTIME, &ts);
	(void)zone;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return result;
}

time_t time(time_t *t) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (t) *t = ts.tv_sec;
	return ts.tv_sec;
}

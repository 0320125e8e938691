// SPDX-License-Identifier: MIT
/*
 * Threads are looked at in /proc/self/task: their state, and the time that they have run
 * (schedstat). Those that have come since the API calls back no more have never been in a callback.
 */
#include "inject/leave.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/tasks.h"

#define PAUSE_NS    1000000
#define RUN_NS	    2000000ull /* longer than any way into or out of a callback */
#define THREADS_MAX 16384

struct leave_counter leave_counters[LEAVE_COUNTERS];

struct seen_thread {
	pid_t tid; /* 0: it has left */
	uint64_t ran_ns;
};

struct seen {
	struct seen_thread threads[THREADS_MAX];
	uint32_t count;
};

static void pause_briefly(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static bool any_is_inside(void)
{
	for (int i = 0; i < LEAVE_COUNTERS; i++)
		if (__atomic_load_n(&leave_counters[i].inside, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* Nanoseconds; 0 also where the kernel keeps no such account. */
static uint64_t time_run(pid_t tid)
{
	char text[64];

	return task_read(tid, "schedstat", text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* Asleep, or gone: not in the middle of code, as running, stopped and traced threads may be. */
static bool is_asleep(pid_t tid)
{
	char text[512], *state;

	if (!task_read(tid, "stat", text, sizeof(text)))
		return true;
	state = strrchr(text, ')');
	return state && state[1] && state[2] && strchr("SDIZX", state[2]);
}

/* False: there are too many, or none can be seen. */
static bool note_threads(struct seen *seen)
{
	pid_t self = (pid_t)syscall(SYS_gettid);
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;

	if (!folder)
		return false;
	while ((entry = readdir(folder)) && seen->count < THREADS_MAX) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != self)
			seen->threads[seen->count++] = (struct seen_thread){tid, time_run(tid)};
	}
	closedir(folder);
	return !entry;
}

/* True when all have left. */
static bool look_again(struct seen *seen)
{
	bool all = true;

	for (uint32_t i = 0; i < seen->count; i++) {
		struct seen_thread *t = &seen->threads[i];

		if (!t->tid)
			continue;
		if (is_asleep(t->tid) || time_run(t->tid) - t->ran_ns > RUN_NS)
			t->tid = 0;
		else
			all = false;
	}
	return all;
}

static bool await_threads(struct seen *seen, uint64_t deadline_ns)
{
	if (!note_threads(seen))
		return false;
	while (!look_again(seen)) {
		if (now_ns() > deadline_ns)
			return false;
		pause_briefly();
	}
	return true;
}

bool leave_await_threads(uint64_t deadline_ns)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool left;

	if (seen == MAP_FAILED)
		return false;
	left = await_threads(seen, deadline_ns);
	munmap(seen, sizeof(*seen));
	return left;
}

bool leave_await(uint64_t patience_ns)
{
	uint64_t deadline_ns = now_ns() + patience_ns;

	while (any_is_inside()) {
		if (now_ns() > deadline_ns)
			return false;
		pause_briefly();
	}
	return leave_await_threads(deadline_ns) && !any_is_inside();
}

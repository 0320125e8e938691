// SPDX-License-Identifier: MIT
#include "join/schedule.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc_text.h"

#define CPU_BYTES   1024 /* of 8,192 CPUs, the most that Linux is built for */
#define CPU_WORDS   (CPU_BYTES / sizeof(uint64_t))
#define THREADS_MAX 4096 /* that are looked at */

struct cpus {
	uint64_t words[CPU_WORDS];
};

static void add_cpus_of(pid_t tid, struct cpus *all)
{
	struct cpus one = {{0}};

	if (syscall(SYS_sched_getaffinity, tid, sizeof(one), &one) < 0)
		return;
	for (size_t n = 0; n < CPU_WORDS; n++)
		all->words[n] |= one.words[n];
}

static int count_cpus(const struct cpus *cpus)
{
	int count = 0;

	for (size_t n = 0; n < CPU_WORDS; n++)
		count += __builtin_popcountll(cpus->words[n]);
	return count;
}

static bool is_called(pid_t tid, int32_t inner)
{
	struct proc_status status;

	return proc_status_read((uint32_t)tid, &status) &&
	       (status.inner_pid ? status.inner_pid : (uint32_t)tid) == (uint32_t)inner;
}

/* Our thread, as we count; 0: it is not there. And where all others may run. */
static pid_t look_at_threads(uint32_t pid, int32_t inner, struct cpus *ret_others)
{
	struct dirent *entry;
	char path[32];
	pid_t ours = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	for (int n = 0; folder && n < THREADS_MAX && (entry = readdir(folder)); n++) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (!ours && is_called(tid, inner))
			ours = tid;
		else
			add_cpus_of(tid, ret_others);
	}
	if (folder)
		closedir(folder);
	return ours;
}

void schedule_thread(uint32_t pid, int32_t tid)
{
	const struct sched_param none = {0};
	struct cpus cpus = {{0}};
	pid_t ours = look_at_threads(pid, tid, &cpus);
	int nice;

	if (!ours)
		return;
	(void)sched_setscheduler(ours, SCHED_OTHER, &none);
	errno = 0;
	nice = getpriority(PRIO_PROCESS, pid);
	if (!errno)
		(void)setpriority(PRIO_PROCESS, (id_t)ours, nice);
	if (count_cpus(&cpus) <= 1)
		memset(&cpus, 0xff, sizeof(cpus));
	(void)syscall(SYS_sched_setaffinity, ours, sizeof(cpus), &cpus);
}

// SPDX-License-Identifier: MIT
/*
 * Every process image ever seen has an entry, by its process id of the profile, as work may arrive
 * for one that is long gone. One map from pid to process id holds those that are there now. Another
 * holds the latest ones, from which each image names the one before it of the same pid.
 *
 * After a look-up has found an image in /proc, its own fork or exec may still arrive: events from
 * before the look-up are about the image that was found. And where no events come at all, nothing
 * reports that such a pid was reused or another program executed: a later look-up compares the
 * start time, which changes with the process, and the address of the stack, which changes with exec
 * (it is random; and 0 where /proc hides it, or the process has ended).
 */
#include "profile/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/map.h"
#include "base/vec.h"

#define CMDLINE_MAX_BYTES 4096
#define NAME_MAX_BYTES	  64 /* the kernel's own limit for names of threads is 15 */

/* Of an image or a thread, with its entry in the profile's tables and the maps. */
#define PROCESS_COST_BYTES 256
#define THREAD_COST_BYTES  128

#define REST_TID UINT32_MAX /* in `threads`: the one for which others have no room */

struct identity {
	uint64_t start_ticks; /* since boot */
	uint64_t stack;
};

struct image {
	struct profile_process process;
	uint32_t before;   /* the process that this pid was last, of a lower id; 0: none */
	bool looked_up;	   /* made from /proc, not from an event */
	uint64_t known_ns; /* when that was */
	uint64_t ended_ns; /* 0: it has not, as far as we know */
	struct identity identity;
};

struct tasks {
	struct profile_writer *writer;
	struct vec(struct image) images; /* by process id, less 1 */
	struct map present;		 /* pid -> process id */
	struct map latest;		 /* pid -> process id, also when it has ended */
	struct map threads;		 /* process id << 32 | tid -> thread id */
	struct map profilers;		 /* thread ids that are the profiler's own */
	struct map rests;		 /* thread ids that stand for others */
	uint32_t rest;			 /* the process that does so; 0: there is none yet */
	struct tasks_limits limits, used;
};

int tasks_new(struct tasks **ret, struct profile_writer *w)
{
	struct tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return error_errno(-ENOMEM, "cannot keep track of processes");
	t->writer = w;
	t->limits = TASKS_LIMITS;
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	vec_release(&t->images);
	map_release(&t->present);
	map_release(&t->latest);
	map_release(&t->threads);
	map_release(&t->profilers);
	map_release(&t->rests);
	free(t);
}

void tasks_limit(struct tasks *t, struct tasks_limits limits)
{
	t->limits = limits;
}

static int fail_memory(void)
{
	return error_errno(-ENOMEM, "cannot keep track of processes");
}

static struct image *image_of(const struct tasks *t, uint32_t process)
{
	if (!process || process > t->images.count)
		return NULL;
	return &t->images.items[process - 1];
}

/* The process id that `pid` is now, or 0. */
static uint32_t present_process(const struct tasks *t, uint32_t pid)
{
	const uint64_t *process = map_get(&t->present, pid);

	return process ? (uint32_t)*process : 0;
}

static uint64_t thread_key(uint32_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}

static int add_text(struct tasks *t, const char *text, uint32_t *ret_id)
{
	return profile_add_string(t->writer, text, strlen(text), ret_id);
}

/* *ret_id: 0 when it is new and there is no room for it, which is counted. */
static int try_name(struct tasks *t, const char *text, size_t size, uint32_t *ret_id)
{
	uint64_t before = profile_writer_table_bytes(t->writer);
	int error;

	*ret_id = profile_find_string(t->writer, text, size);
	if (*ret_id)
		return 0;
	if (t->used.names >= t->limits.names)
		return profile_count_loss(t->writer, LOSS_TASK_NAMES_CUT, 1);
	error = profile_add_string(t->writer, text, size, ret_id);
	t->used.names += profile_writer_table_bytes(t->writer) - before;
	return error;
}

static int add_name(struct tasks *t, const char *text, size_t size, uint32_t *ret_id)
{
	int error = try_name(t, text, size, ret_id);

	return error || *ret_id ? error : add_text(t, NAME_LEFT_OUT, ret_id);
}

/*
 * A file of /proc/PID, cut at `size` - 1 bytes, with blanks for the NULs and line ends within,
 * nothing for those at the end, and a NUL behind it. Returns its length, 0 when the process is
 * gone.
 */
static size_t read_proc(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = io_read_full(fd, text, size - 1);
		close(fd);
	}
	while (n > 0 && (text[n - 1] == '\0' || text[n - 1] == '\n'))
		n--;
	n = n > 0 ? n : 0;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0' || text[i] == '\n')
			text[i] = ' ';
	text[n] = '\0';
	return (size_t)n;
}

/* The string id of a file of /proc; 0 when there is nothing. */
static int intern_proc(
	struct tasks *t, uint32_t pid, const char *name, size_t limit, uint32_t *ret_id)
{
	char text[CMDLINE_MAX_BYTES + 1];
	size_t size = read_proc(pid, name, text, limit + 1);

	if (size)
		return add_name(t, text, size, ret_id);
	*ret_id = 0;
	return 0;
}

/* `text` if given, else what /proc has. */
static int intern_or_proc(struct tasks *t, const char *text, uint32_t pid, const char *name,
	size_t limit, uint32_t *ret_id)
{
	if (text)
		return add_name(t, text, strnlen(text, limit), ret_id);
	return intern_proc(t, pid, name, limit, ret_id);
}

static int name_image(
	struct tasks *t, const char *comm, const char *cmdline, struct profile_process *p)
{
	int error = intern_or_proc(t, comm, p->pid, "comm", NAME_MAX_BYTES, &p->comm);

	if (error)
		return error;
	return intern_or_proc(t, cmdline, p->pid, "cmdline", CMDLINE_MAX_BYTES, &p->cmdline);
}

/*
 * Fields of /proc/PID/stat, by their numbers in proc_pid_stat(5): 4 ppid, 22 starttime, 28
 * startstack. The name, field 2, may hold anything, so the count begins behind its last bracket.
 * False when it is gone.
 */
static bool read_identity(uint32_t pid, struct identity *ret, uint32_t *ret_parent_pid)
{
	char text[2048], *at, *end;
	uint64_t fields[29] = {0};

	read_proc(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	/* Field 3 is a letter. */
	at = at && strlen(at) > 3 ? at + 3 : NULL;
	for (int i = 4; at && i <= 28; i++) {
		fields[i] = strtoull(at, &end, 10);
		at = end;
	}
	*ret = (struct identity){.start_ticks = fields[22], .stack = fields[28]};
	*ret_parent_pid = (uint32_t)fields[4];
	return ret->start_ticks != 0;
}

/* The kernel counts from boot, suspended time included; the profile's clock leaves that out. */
static uint64_t ticks_to_ns(uint64_t ticks)
{
	struct timespec boot;
	uint64_t now_ns = clock_now_ns(), boot_ns, start_ns;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	boot_ns = (uint64_t)boot.tv_sec * NS_PER_SECOND + (uint64_t)boot.tv_nsec;
	start_ns = ticks * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	return start_ns > boot_ns - now_ns ? start_ns - (boot_ns - now_ns) : 0;
}

/* Adds a process to the profile and here. */
static int keep_image(struct tasks *t, const struct image *image, uint32_t *ret_process)
{
	uint32_t process, before;
	int error = profile_add_process(t->writer, &image->process, &process);

	if (error)
		return error;
	if (process > t->images.count) {
		size_t more = process - t->images.count;

		if (vec_reserve(&t->images, more))
			return fail_memory();
		memset(t->images.items + t->images.count, 0, more * sizeof(*image));
		t->images.count = process;
		t->used.processes += more * PROCESS_COST_BYTES;
	}
	before = t->images.items[process - 1].before;
	t->images.items[process - 1] = *image;
	t->images.items[process - 1].before = before;
	*ret_process = process;
	return 0;
}

/* Makes `image` what its pid is now. */
static int add_image(struct tasks *t, const struct image *image, uint32_t *ret_process)
{
	const uint64_t *known;
	uint32_t process;
	int error = keep_image(t, image, &process);

	if (error)
		return error;
	known = map_get(&t->latest, image->process.pid);
	if (known && *known < process)
		t->images.items[process - 1].before = (uint32_t)*known;
	if (map_put(&t->present, image->process.pid, process) ||
		map_put(&t->latest, image->process.pid, process))
		return fail_memory();
	*ret_process = process;
	return 0;
}

static bool is_full(const struct tasks *t)
{
	return t->used.processes >= t->limits.processes;
}

/* There is no room for what `pid` is from then on: one process stands for all of these. */
static int leave_out(struct tasks *t, uint32_t pid, uint64_t since_ns, uint32_t *ret_process)
{
	const uint64_t *latest = map_get(&t->latest, pid);
	struct image rest = {0}, *before = image_of(t, latest ? (uint32_t)*latest : 0);
	int error = 0;

	if (before && !before->ended_ns)
		before->ended_ns = since_ns;
	if (!t->rest) {
		error = add_text(t, PROCESSES_LEFT_OUT, &rest.process.comm);
		error = error ?: keep_image(t, &rest, &t->rest);
	}
	if (error)
		return error;
	if (map_put(&t->present, pid, t->rest))
		return fail_memory();
	*ret_process = t->rest;
	return profile_count_loss(t->writer, LOSS_PROCESSES_CUT, 1);
}

/* `name`, which may be NULL, is that of one that is gone. */
static int look_up_image(struct tasks *t, uint32_t pid, const char *name, uint32_t *ret_process)
{
	struct image image = {
		.process = {.pid = pid}, .looked_up = true, .known_ns = clock_now_ns()};
	uint32_t parent_pid;
	int error;

	if (is_full(t))
		return leave_out(t, pid, image.known_ns, ret_process);
	if (read_identity(pid, &image.identity, &parent_pid)) {
		image.process.start_ns = ticks_to_ns(image.identity.start_ticks);
		image.process.parent = present_process(t, parent_pid);
		name = NULL;
	} else {
		/* It is gone already; this is the best estimate of when it began. */
		image.process.start_ns = image.known_ns;
	}
	error = name_image(t, name, NULL, &image.process);
	return error ?: add_image(t, &image, ret_process);
}

/* The looked-up image that an event from `time_ns` is about, if there is one. */
static struct image *image_known_before_event(
	struct tasks *t, uint32_t pid, uint64_t time_ns, uint32_t *ret_process)
{
	struct image *image;

	*ret_process = present_process(t, pid);
	image = image_of(t, *ret_process);
	return image && image->looked_up && time_ns <= image->known_ns ? image : NULL;
}

int tasks_fork(struct tasks *t, uint32_t parent_pid, uint32_t pid, uint64_t time_ns)
{
	uint32_t process, parent = present_process(t, parent_pid);
	struct image *known = image_known_before_event(t, pid, time_ns, &process);
	struct image image = {.process = {.pid = pid, .parent = parent, .start_ns = time_ns}};
	int error = 0;

	if (known) {
		known->process.start_ns = time_ns;
		/* Parents come before their children in the profile. */
		if (parent < process)
			known->process.parent = parent;
		return profile_update_process(t->writer, process, &known->process);
	}
	if (is_full(t))
		return leave_out(t, pid, time_ns, &process);
	if (parent) {
		image.process.comm = image_of(t, parent)->process.comm;
		image.process.cmdline = image_of(t, parent)->process.cmdline;
	} else {
		error = name_image(t, NULL, NULL, &image.process);
	}
	return error ?: add_image(t, &image, &process);
}

int tasks_exec(
	struct tasks *t, uint32_t pid, uint64_t time_ns, const char *comm, const char *cmdline)
{
	uint32_t process;
	struct image *known = image_known_before_event(t, pid, time_ns, &process);
	struct image image = {.process = {.pid = pid, .start_ns = time_ns}};
	struct identity identity;
	uint32_t parent_pid;
	int error;

	if (known)
		return 0;
	if (is_full(t))
		return leave_out(t, pid, time_ns, &process);
	if (process)
		image.process.parent = image_of(t, process)->process.parent;
	else if (read_identity(pid, &identity, &parent_pid))
		image.process.parent = present_process(t, parent_pid);
	error = name_image(t, comm, cmdline, &image.process);
	return error ?: add_image(t, &image, &process);
}

int tasks_exit(struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct image *image = image_of(t, present_process(t, pid));

	if (image)
		image->ended_ns = time_ns;
	map_remove(&t->present, pid, NULL);
	return 0;
}

/* False when /proc shows that the pid of a looked-up image has become another one since. */
static bool is_still_there(const struct image *image)
{
	struct identity now;
	uint32_t parent_pid;

	if (!image->looked_up || !read_identity(image->process.pid, &now, &parent_pid))
		return true;
	if (now.start_ticks != image->identity.start_ticks)
		return false;
	return !now.stack || !image->identity.stack || now.stack == image->identity.stack;
}

bool tasks_is_present(const struct tasks *t, uint32_t pid)
{
	return present_process(t, pid) != 0;
}

int tasks_process(struct tasks *t, uint32_t pid, uint32_t *ret_process)
{
	uint32_t process = present_process(t, pid);

	if (process && is_still_there(image_of(t, process))) {
		*ret_process = process;
		return 0;
	}
	return look_up_image(t, pid, NULL, ret_process);
}

/* The name of a new thread: what /proc has, unless its process is another one now. */
static int look_up_name(struct tasks *t, uint32_t process, uint32_t tid, uint32_t *ret_name)
{
	const struct image *image = image_of(t, process);
	char file[32];
	int error;

	*ret_name = 0;
	if (!image)
		return 0;
	if (present_process(t, image->process.pid) == process) {
		snprintf(file, sizeof(file), "task/%u/comm", tid);
		error = intern_proc(t, image->process.pid, file, NAME_MAX_BYTES, ret_name);
		if (error || *ret_name)
			return error;
	}
	/* The name of the main thread is that of the process, and others begin with that of the
	 * thread which makes them. */
	*ret_name = image->process.comm;
	return 0;
}

/* The one that stands for threads of this process. */
static int rest_of(struct tasks *t, uint32_t process, uint32_t *ret_thread)
{
	const uint64_t *known = map_get(&t->threads, thread_key(process, REST_TID));
	struct profile_thread rest = {.process = process};
	int error = 0;

	if (known) {
		*ret_thread = (uint32_t)*known;
	} else {
		error = add_text(t, THREADS_LEFT_OUT, &rest.name);
		error = error ?: profile_add_thread(t->writer, &rest, ret_thread);
		if (error)
			return error;
		if (map_put(&t->threads, thread_key(process, REST_TID), *ret_thread) ||
			map_put(&t->rests, *ret_thread, 1))
			return fail_memory();
	}
	/* Processes that are left out are counted themselves. */
	return process == t->rest ? 0 : profile_count_loss(t->writer, LOSS_THREADS_CUT, 1);
}

static bool is_rest(const struct tasks *t, uint32_t thread)
{
	return map_get(&t->rests, thread) != NULL;
}

int tasks_thread_of(
	struct tasks *t, uint32_t process, uint32_t tid, const char *name, uint32_t *ret_thread)
{
	struct profile_thread thread = {.process = process, .tid = tid};
	const uint64_t *known = map_get(&t->threads, thread_key(process, tid));
	uint32_t id;
	int error;

	if (known) {
		*ret_thread = (uint32_t)*known;
		return 0;
	}
	if ((t->rest && process == t->rest) || t->used.threads >= t->limits.threads)
		return rest_of(t, process, ret_thread);
	if (name)
		error = add_name(t, name, strnlen(name, NAME_MAX_BYTES), &thread.name);
	else
		error = look_up_name(t, process, tid, &thread.name);
	error = error ?: profile_add_thread(t->writer, &thread, &id);
	if (error)
		return error;
	if (map_put(&t->threads, thread_key(process, tid), id))
		return fail_memory();
	t->used.threads += THREAD_COST_BYTES;
	*ret_thread = id;
	return 0;
}

int tasks_thread(
	struct tasks *t, uint32_t pid, uint32_t tid, const char *name, uint32_t *ret_thread)
{
	uint32_t process = present_process(t, pid);
	int error = process ? 0 : look_up_image(t, pid, name, &process);

	return error ?: tasks_thread_of(t, process, tid, name, ret_thread);
}

/* One that was looked up when it had ended began before that, nobody knows when. */
static uint32_t process_at(const struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	const uint64_t *latest = map_get(&t->latest, pid);
	uint32_t process = latest ? (uint32_t)*latest : 0;
	const struct image *image;

	while ((image = image_of(t, process)) && image->process.start_ns > time_ns) {
		if (!image->before)
			return image->looked_up ? process : 0;
		process = image->before;
	}
	return process;
}

int tasks_thread_at(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns, const char *name,
	uint32_t *ret_thread)
{
	uint32_t process = process_at(t, pid, time_ns);
	const struct image *image = image_of(t, process);

	/* Later it is another process's pid, of which nothing else is known. */
	if (!image || (image->ended_ns && time_ns > image->ended_ns + TASKS_AFTER_EXIT_NS))
		return -ENOENT;
	return tasks_thread_of(t, process, tid, name, ret_thread);
}

void tasks_new_thread(struct tasks *t, uint32_t pid, uint32_t tid)
{
	uint64_t key = thread_key(present_process(t, pid), tid);
	const uint64_t *known = map_get(&t->threads, key);

	if (known && tasks_is_profiler(t, (uint32_t)*known))
		map_remove(&t->threads, key, NULL);
}

int tasks_set_profiler(struct tasks *t, uint32_t thread)
{
	if (is_rest(t, thread))
		return 0;
	if (map_put(&t->profilers, thread, 1))
		return fail_memory();
	return profile_flag_thread(t->writer, thread, THREAD_PROFILER);
}

bool tasks_is_profiler(const struct tasks *t, uint32_t thread)
{
	return map_get(&t->profilers, thread) != NULL;
}

int tasks_rename(struct tasks *t, uint32_t pid, uint32_t tid, const char *name)
{
	struct profile_thread thread = {.tid = tid};
	struct image *image;
	uint32_t id;
	int error = tasks_thread(t, pid, tid, name, &id);

	if (error || is_rest(t, id))
		return error;
	error = try_name(t, name, strnlen(name, NAME_MAX_BYTES), &thread.name);
	if (error || !thread.name)
		return error;
	thread.process = present_process(t, pid);
	thread.flags = tasks_is_profiler(t, id) ? THREAD_PROFILER : 0;
	error = profile_update_thread(t->writer, id, &thread);
	if (error || tid != pid)
		return error;
	image = image_of(t, thread.process);
	image->process.comm = thread.name;
	return profile_update_process(t->writer, thread.process, &image->process);
}

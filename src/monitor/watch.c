// SPDX-License-Identifier: MIT
/*
 * A watch from its beginning to its end. The switch `running` of the programs is set when all are
 * attached, so all begin and end at one moment: the counts of different events agree.
 *
 * A record does not wake the reader: watch_fd becomes readable only when the ring fills. It is an
 * edge-triggered epoll of the ring, since a ring that is not empty is always readable, and a loop
 * on that would spin.
 */
#include "monitor/watch_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "bpf/monitor.skel.h"

/* How much is read before the kernel may have its memory back. */
#define RELEASE_BYTES (64 << 10)

/* Inode of the initial pid namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_PID_NS "pid:[4026531836]"

/* ------------------------------------------------------------------ the kernel */

/* libbpf would print; what went wrong travels as an error. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static bool kernel_is_at_least(int major, int minor)
{
	struct utsname u;
	int has_major = 0, has_minor = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d", &has_major, &has_minor) != 2)
		return true;
	return has_major > major || (has_major == major && has_minor >= minor);
}

static bool in_pid_namespace(void)
{
	char ns[64];
	ssize_t length = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	ns[length > 0 ? length : 0] = '\0';
	return strcmp(ns, INITIAL_PID_NS);
}

/* What can be seen without trying. */
static int check_kernel(const struct watch_options *options)
{
	if (!kernel_is_at_least(5, 10))
		return error_set(-ENOTSUP, "monitors need Linux 5.10 or later");
	if (options->pid && in_pid_namespace())
		return error_set(-ENOTSUP,
			"cannot watch process %u alone from within a pid namespace: the kernel's "
			"numbers are others",
			options->pid);
	return 0;
}

/* ------------------------------------------------------------------ begin and end */

static int open_ring(struct watch *w)
{
	const struct bpf_map *map = w->first->maps.records;
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	int error = ring_open(&w->ring, bpf_map__fd(map), bpf_map__max_entries(map));

	if (error)
		return error;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, bpf_map__fd(map), &edge))
		return error_errno(-errno, "cannot wait for records");
	return 0;
}

static int open_cells(struct watch *w)
{
	int slots = bpf_map__fd(w->first->maps.free_slots), error = 0;
	void *cells = mmap(NULL, w->cell_count * sizeof(*w->cells), PROT_READ | PROT_WRITE,
		MAP_SHARED, bpf_map__fd(w->first->maps.cells), 0);

	if (cells == MAP_FAILED)
		return error_errno(-errno, "cannot share what is counted with the BPF programs");
	w->cells = cells;
	for (uint32_t i = 0; i < w->cell_count && !error; i++)
		error = bpf_map_update_elem(slots, NULL, &i, BPF_ANY);
	return error ? error_errno(error, "cannot make room for what monitors count") : 0;
}

static void set_running(struct watch *w, uint32_t running)
{
	if (w->first && w->first->bss)
		__atomic_store_n(&w->first->bss->running, running, __ATOMIC_SEQ_CST);
}

static int begin(struct watch *w, const struct watch_options *options)
{
	int error = check_kernel(options);

	error = error ?: watch_load(w, options);
	error = error ?: open_ring(w);
	error = error ?: open_cells(w);
	if (!error)
		set_running(w, 1);
	return error;
}

int watch_open_plans(const struct watch_options *options, const struct monitor_event_plan *plans,
	const char *root, struct watch **ret)
{
	size_t count = monitor_event_count(options->monitor);
	struct watch *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	*w = (struct watch){.monitor = options->monitor, .event_count = count, .epoll = -1};
	w->events = calloc(count + 1, sizeof(*w->events));
	if (!w->events) {
		watch_close(w);
		return error_errno(-ENOMEM, "cannot load BPF programs");
	}
	for (size_t i = 0; i < count; i++)
		w->events[i].plan = plans[i];
	snprintf(w->root, sizeof(w->root), "%s", root);
	/* Commit dd8657894c11 of Linux 6.7. */
	w->misses_counted = kernel_is_at_least(6, 7);
	libbpf_set_print(say_nothing);
	error = begin(w, options);
	if (error) {
		watch_close(w);
		return error;
	}
	*ret = w;
	return 0;
}

int watch_open(const struct watch_options *options, const struct monitor_kernel *kernel,
	struct watch **ret)
{
	size_t count = monitor_event_count(options->monitor);
	struct monitor_event_plan *plans = calloc(count + 1, sizeof(*plans));
	int error;

	if (!plans)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	for (size_t i = 0; i < count; i++)
		monitor_event_plan(options->monitor, i, kernel, &plans[i]);
	error = watch_open_plans(options, plans, kernel->root ? kernel->root : "", ret);
	free(plans);
	return error;
}

void watch_stop(struct watch *w)
{
	set_running(w, 0);
	for (size_t i = 0; i < w->event_count; i++) {
		/* What the kernel does not take back now it does when the process ends; `running`
		 * is off. */
		(void)bpf_link__destroy(w->events[i].link);
		w->events[i].link = NULL;
	}
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	if (w->events)
		watch_stop(w);
	ring_close(&w->ring);
	if (w->cells)
		munmap(w->cells, w->cell_count * sizeof(*w->cells));
	vec_release(&w->forgotten);
	if (w->epoll >= 0)
		close(w->epoll);
	for (size_t i = 0; w->events && i < w->event_count; i++)
		monitor_bpf__destroy(w->events[i].bpf);
	free(w->events);
	free(w);
}

/* ------------------------------------------------------------------ records */

int watch_fd(const struct watch *w)
{
	return w->epoll;
}

static int hand_over(const struct watch_sink *sink, const void *message, size_t size)
{
	const uint32_t *kind = message;

	if (size == sizeof(struct monitor_record) && *kind == MESSAGE_RECORD)
		return sink->record ? sink->record(sink->context, message) : 0;
	if (size == sizeof(struct monitor_span) && *kind == MESSAGE_SPAN)
		return sink->span ? sink->span(sink->context, message) : 0;
	return error_set(-EPROTO, "a record of %zu bytes is none of a monitor's", size);
}

int watch_read(struct watch *w, const struct watch_sink *sink)
{
	struct epoll_event edge;
	const void *message;
	size_t size, drained = 0;
	int error = 0;

	/* From here on another edge is another wake-up. */
	(void)epoll_wait(w->epoll, &edge, 1, 0);
	ring_snapshot(&w->ring);
	while (!error && (message = ring_peek(&w->ring, &size))) {
		error = hand_over(sink, message, size);
		ring_take(&w->ring);
		drained += size;
		if (drained >= RELEASE_BYTES) {
			ring_release(&w->ring);
			drained = 0;
		}
	}
	ring_release(&w->ring);
	return error;
}

/* ------------------------------------------------------------------ state */

static int add_losses(const struct watched *e, struct monitor_losses *ret)
{
	size_t size = (bpf_map__value_size(e->bpf->maps.states) + 7u) & ~7u;
	int cpus = libbpf_num_possible_cpus(), error;
	char *values = calloc((size_t)cpus, size);
	uint32_t zero = 0;

	if (!values)
		return error_errno(-ENOMEM, "cannot read what was lost");
	error = bpf_map_lookup_elem(bpf_map__fd(e->bpf->maps.states), &zero, values);
	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		const struct monitor_losses *l = (const void *)(values + (size_t)cpu * size);

		ret->seen += l->seen;
		ret->records += l->records;
		ret->objects += l->objects;
		ret->cells += l->cells;
		ret->strangers += l->strangers;
		ret->unread += l->unread;
		ret->stacks += l->stacks;
	}
	free(values);
	return error ? error_errno(error, "cannot read what was lost") : 0;
}

static uint64_t count_misses(const struct watched *e)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(e->program), &info, &size))
		return 0;
	return info.recursion_misses;
}

int watch_status(struct watch *w, size_t event, struct watch_event_status *ret)
{
	struct watched *e = &w->events[event];
	struct watch_event_status status = {.plan = &e->plan};
	int error;

	if (e->bpf && e->plan.presence == PRESENT) {
		error = add_losses(e, &status.totals);
		if (error)
			return error;
		e->vanished |= e->module && e->link && watch_module_folder(w, e) != e->module;
		status.attached = e->link;
		status.vanished = e->vanished;
		status.missed = count_misses(e);
		status.missed_known = w->misses_counted;
	} else if (e->plan.presence == ABSENT_MODULE) {
		status.late = watch_module_folder(w, e);
	}
	*ret = status;
	return 0;
}

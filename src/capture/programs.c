// SPDX-License-Identifier: MIT
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "bpfload/refusal.h"
#include "capture/cpus.h"
#include "capture/programs_internal.h"

#define PASSED_OVER_NS                                                                             \
	(NS_PER_SECOND / 2) /* to ask the kernel costs more than all else of a quiet round */

/* Reading the iterator to its end runs the program for every task. */
static int track_within_namespace(struct programs *p, pid_t pid)
{
	int fd = bpf_iter_create(bpf_link__fd(p->bpf->links.track_wanted));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return refusal_explain(fd, "look through the processes");
	p->bpf->bss->wanted_pid = (uint32_t)pid;
	n = io_read_full(fd, nothing, sizeof(nothing));
	close(fd);
	if (n < 0)
		return error_errno((int)n, "cannot track process %d", pid);
	return p->bpf->bss->wanted_pid ? error_errno(-ESRCH, "cannot track process %d", pid) : 0;
}

int programs_track(struct programs *p, pid_t pid)
{
	struct {
		uint64_t leader;
		uint32_t pid, padding;
	} value = {.pid = (uint32_t)pid};
	uint32_t key = (uint32_t)pid;

	if (p->pid_namespace)
		return track_within_namespace(p, pid);
	/* A process that is followed already, as its parent is, stays so. */
	if (bpf_map__update_elem(
		    p->bpf->maps.tracked, &key, sizeof(key), &value, sizeof(value), BPF_NOEXIST) &&
		errno != EEXIST)
		return error_errno(-errno, "cannot track process %d", pid);
	return 0;
}

void programs_note_signals(struct programs *p, pid_t pid)
{
	__atomic_store_n(&p->bpf->bss->recorder_pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
	__atomic_store_n(&p->bpf->bss->program_pid, (uint32_t)pid, __ATOMIC_RELEASE);
}

bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns)
{
	uint64_t ours_ns, program_ns;

	if (number <= 0 || number >= BPF_SIGNALS)
		return false;
	ours_ns = __atomic_load_n(&p->bpf->bss->recorder_signals_ns[number], __ATOMIC_RELAXED);
	program_ns = __atomic_load_n(&p->bpf->bss->program_signals_ns[number], __ATOMIC_RELAXED);
	if (!ours_ns || !program_ns)
		return false;
	return (ours_ns > program_ns ? ours_ns - program_ns : program_ns - ours_ns) <= within_ns;
}

/* ------------------------------------------------------------------ samples and launches */

static int start_samples(void *context, int cpu)
{
	struct programs *p = context;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_SECOND / p->sample_hz,
		.exclude_idle = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return refusal_explain(-errno, "sample the CPUs");
	link = bpf_program__attach_perf_event(p->bpf->progs.on_sample, fd);
	if (!link) {
		int error = -errno;

		close(fd);
		return refusal_explain(error, "sample the CPUs");
	}
	if (vec_push(&p->sample_links, link) < 0) {
		bpf_link__destroy(link);
		return error_errno(-ENOMEM, "cannot sample the CPUs");
	}
	return 0;
}

static int start_launches(struct programs *p)
{
	struct bpf_program *program = bpf_program__autoload(p->bpf->progs.on_launch)
					      ? p->bpf->progs.on_launch
					      : p->bpf->progs.on_launch_without_storage;
	int error = uprobe_attach(&p->launch_probe, program, p->library, &p->marker_offset, 1);

	return error ? refusal_explain(error, "put a probe on the launch marker") : 0;
}

/* Reading an iterator to its end runs the program for every task. */
static int run_iterator(struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
	char nothing[64];
	ssize_t n = fd < 0 ? fd : io_read_full(fd, nothing, sizeof(nothing));

	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return n < 0 ? (int)n : 0;
}

static int start_waits(struct programs *p)
{
	struct bpf_program *programs[WAIT_PROGRAMS];
	int error;

	wait_programs(p, programs);
	for (int n = 0; n < WAIT_PROGRAMS; n++) {
		p->wait_links[n] = bpf_program__attach(programs[n]);
		if (!p->wait_links[n])
			return refusal_explain(-errno, "watch threads wait");
	}
	error = run_iterator(p->bpf->progs.each_thread);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

/* Waits that go on are reported up to now. */
static int stop_waits(struct programs *p)
{
	int error = 0;

	if (!p->wait_links[0])
		return 0;
	for (int n = 0; n < WAIT_PROGRAMS; n++) {
		bpf_link__destroy(p->wait_links[n]);
		p->wait_links[n] = NULL;
	}
	p->bpf->bss->ending = 1;
	error = run_iterator(p->bpf->progs.each_thread);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

void programs_note_clock(struct programs *p)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct timespec own;

	/* Brings the account of this thread, and with it the clock of the CPU's run queue, up to
	 * date. */
	if (p->sample_hz && !clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own))
		(void)bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.note_rq_clock), &run);
}

static int start_accounts(struct programs *p)
{
	int error;

	p->bpf->bss->accounts_since_ns = clock_now_ns();
	programs_note_clock(p);
	error = run_iterator(p->bpf->progs.each_account);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

/* Threads that have ended and that the kernel has not freed. That takes milliseconds, or seconds on
 * a machine that has much to do. */
static int report_unfreed(struct programs *p)
{
	int map = bpf_map__fd(p->bpf->maps.accounts), error = 0;
	uint64_t task, *last = NULL;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &task, .ctx_size_in = sizeof(task));

	while (!error && !bpf_map_get_next_key(map, last, &task)) {
		last = &task;
		error = bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.report_unfreed), &run);
	}
	return error;
}

/* Whoever runs on is reported up to now. */
static int stop_accounts(struct programs *p)
{
	int error;

	if (!p->bpf || !p->bpf->bss->accounts_since_ns || p->bpf->bss->accounts_ended)
		return 0;
	p->bpf->bss->accounts_ended = 1;
	programs_note_clock(p);
	error = run_iterator(p->bpf->progs.each_account) ?: report_unfreed(p);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

int programs_start(struct programs *p)
{
	int error = p->launches ? start_launches(p) : 0;

	if (!error && p->sample_hz)
		error = cpus_each_online(start_samples, p) ?: start_accounts(p);
	if (!error && p->waits)
		error = start_waits(p);
	return error;
}

int programs_stop(struct programs *p)
{
	int error = stop_waits(p), failed;

	error = error ?: stop_accounts(p);
	vec_foreach (link, &p->sample_links) {
		failed = bpf_link__destroy(*link);
		error = error ?: failed;
	}
	vec_release(&p->sample_links);
	failed = uprobe_detach(&p->launch_probe);
	error = error ?: failed;
	return error ? error_errno(error, "cannot stop sampling") : 0;
}

void programs_close(struct programs *p)
{
	if (!p)
		return;
	(void)programs_stop(p); /* closing ends them in any case */
	ring_close(&p->samples);
	ring_close(&p->launch_ring);
	ring_close(&p->tasks);
	ring_close(&p->wait_ring);
	if (p->mappings)
		munmap(p->mappings, MAPPINGS_BYTES);
	if (p->staged)
		munmap(p->staged, STAGED_BYTES);
	if (p->observed)
		munmap(p->observed, OBSERVED_BYTES);
	pthread_mutex_destroy(&p->writing);
	capture_bpf__destroy(p->bpf);
	free(p->library);
	free(p);
}

/* ------------------------------------------------------------------ observed calls */

struct bpf_observed *programs_observed(struct programs *p)
{
	return p->observed;
}

int programs_observe(struct programs *p, const struct uprobe_places *places)
{
	return uprobe_attach_within(
		places->at_return ? p->bpf->progs.on_observed_return : p->bpf->progs.on_observed,
		places);
}

/* ------------------------------------------------------------------ probes of drivers */

bool programs_can_probe_drivers(const struct programs *p)
{
	return p->probes_drivers;
}

int programs_put_probe_sites(
	struct programs *p, uint32_t first, const struct bpf_probe_site *sites, size_t count)
{
	int map = bpf_map__fd(p->bpf->maps.probe_sites);

	for (size_t i = 0; i < count; i++) {
		uint32_t index = first + (uint32_t)i;

		if (bpf_map_update_elem(map, &index, &sites[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

int programs_probe_driver(struct programs *p, const struct uprobe_places *places)
{
	return uprobe_attach_within(p->bpf->progs.on_driver_probe, places);
}

struct ring *programs_samples(struct programs *p)
{
	return &p->samples;
}

struct ring *programs_launches(struct programs *p)
{
	return &p->launch_ring;
}

struct ring *programs_tasks(struct programs *p)
{
	return &p->tasks;
}

struct ring *programs_waits(struct programs *p)
{
	return &p->wait_ring;
}

/*
 * Counts changes to tasks that came while their program was already running on that CPU: the kernel
 * does not run it then. On Linux 7.2 these programs can be preempted, and this does happen.
 */
static uint64_t count_passed_over(const struct programs *p)
{
	const struct bpf_program *const programs[] = {p->bpf->progs.on_fork, p->bpf->progs.on_exec,
		p->bpf->progs.on_rename, p->bpf->progs.on_free};
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size))
			count += info.recursion_misses;
	}
	return count;
}

struct bpf_losses programs_losses(struct programs *p, bool last)
{
	const struct bpf_losses *lost = &p->bpf->bss->lost;
	uint64_t now_ns = clock_now_ns();

	if (last || now_ns - p->passed_over_ns >= PASSED_OVER_NS) {
		p->passed_over = count_passed_over(p);
		p->passed_over_ns = now_ns;
	}
	return (struct bpf_losses){
		.samples = __atomic_load_n(&lost->samples, __ATOMIC_RELAXED),
		.launches = __atomic_load_n(&lost->launches, __ATOMIC_RELAXED),
		.tasks = __atomic_load_n(&lost->tasks, __ATOMIC_RELAXED) + p->passed_over,
		.waits = __atomic_load_n(&lost->waits, __ATOMIC_RELAXED),
		.accounts = __atomic_load_n(&lost->accounts, __ATOMIC_RELAXED),
		.observed = __atomic_load_n(&lost->observed, __ATOMIC_RELAXED),
		.probed = __atomic_load_n(&lost->probed, __ATOMIC_RELAXED),
	};
}

int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context)
{
	int error = add(context, bpf_map__fd(p->bpf->maps.tasks));

	if (!error && p->sample_hz)
		error = add(context, bpf_map__fd(p->bpf->maps.samples));
	if (!error && p->launches)
		error = add(context, bpf_map__fd(p->bpf->maps.launches));
	if (!error && p->waits)
		error = add(context, bpf_map__fd(p->bpf->maps.waits));
	return error;
}

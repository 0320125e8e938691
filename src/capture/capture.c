// SPDX-License-Identifier: MIT
/*
 * One drain:
 *
 *	1. note how far the rings of samples and launches are now (snapshot)
 *	2. gather all changes to processes: the ring of tasks, the mapping events of all CPUs
 *	3. handle samples and launches up to the snapshot, the earlier first, and before each one
 *	   apply the changes up to its time
 *	4. apply the changes from before the snapshot that are left
 *	5. update which unwind tables are ready, walk the stacks that waited for them, and publish the
 *	   tables and the changes for walkers
 *
 * A change is in its buffer before any code runs that depends on it. So 2 finds all changes that
 * the records of 1 depend on, and every address is looked up in the mappings of its moment, in
 * whatever order the buffers are read.
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/search.h"
#include "capture/marker_cost.h"
#include "capture/running.h"
#include "walk/python.h"
#include "vendor/vendor.h"

/* A reader that found this much should come back soon. */
#define SEEN_MAX	65536
#define BUSY_BYTES	((size_t)256 << 10)
#define FINISH_FILES_NS NS_PER_SECOND	 /* for those that are being opened at the end */
#define WAIT_NAMES_NS	(10 * NS_PER_MS) /* for names of Python code; else they come later */

/* The rings that are drained by time. Each kind of record begins with its time. */
#define TIMED_RINGS 3

struct timed_ring {
	struct ring *ring;
	int (*handle)(struct capture *c, const void *record, size_t size);
};

static void timed_rings(const struct capture *c, struct timed_ring ret[TIMED_RINGS])
{
	ret[0] = (struct timed_ring){programs_samples(c->programs), records_handle_sample};
	ret[1] = (struct timed_ring){programs_launches(c->programs), records_handle_launch};
	ret[2] = (struct timed_ring){programs_waits(c->programs), records_handle_wait};
}

/* The ring whose next record is the earliest; NULL: there is none. */
static const struct timed_ring *earliest(
	const struct timed_ring *rings, const void **ret_record, uint64_t *ret_ns, size_t *ret_size)
{
	const struct timed_ring *first = NULL;

	for (int n = 0; n < TIMED_RINGS; n++) {
		size_t size;
		const void *record = ring_peek(rings[n].ring, &size);
		uint64_t time_ns = 0;

		if (!record)
			continue;
		if (size >= sizeof(time_ns))
			memcpy(&time_ns, record, sizeof(time_ns));
		if (first && time_ns >= *ret_ns)
			continue;
		first = &rings[n];
		*ret_record = record;
		*ret_ns = time_ns;
		*ret_size = size;
	}
	return first;
}

/* Drains the rings up to the snapshots, by time. */
static int drain_rings(struct capture *c)
{
	struct timed_ring rings[TIMED_RINGS];
	const struct timed_ring *next;
	const void *record = NULL;
	uint64_t time_ns = 0;
	size_t size = 0;
	int error = 0;

	timed_rings(c, rings);
	while (!error && (next = earliest(rings, &record, &time_ns, &size))) {
		error = capture_apply_until(c, time_ns);
		error = error ?: next->handle(c, record, size);
		ring_take(next->ring);
	}
	for (int n = 0; n < TIMED_RINGS; n++)
		ring_release(rings[n].ring);
	return error;
}

static int count_losses(struct capture *c)
{
	struct bpf_losses now = programs_losses(c->programs, c->stopped), *before = &c->counted;
	int error = profile_count_loss(c->w, LOSS_SAMPLES_RING_FULL, now.samples - before->samples);

	error = error
			?: profile_count_loss(
				   c->w, LOSS_STACKS_RING_FULL, now.launches - before->launches);
	error = error ?: capture_count_lost_changes(c, now.tasks - before->tasks);
	error = error ?: profile_count_loss(c->w, LOSS_WAITS_RING_FULL, now.waits - before->waits);
	error = error ?: profile_count_loss(c->w, LOSS_ACCOUNTS, now.accounts - before->accounts);
	error = error
			?: profile_count_loss(
				   c->w, LOSS_CALLS_OBSERVED, now.observed - before->observed);
	error = error ?: profile_count_loss(c->w, LOSS_DRIVER_PROBES, now.probed - before->probed);
	*before = now;
	return error;
}

static int count_mappings(struct capture *c)
{
	uint64_t cut = processes_mappings_left_out(c->processes) - c->mappings_cut;

	c->mappings_cut += cut;
	return profile_count_loss(c->w, LOSS_MAPPINGS_CUT, cut);
}

/* The poll descriptors report wake-ups (edges): reading them acknowledges these. */
static void acknowledge_wakeups(int poll_fd)
{
	struct epoll_event events[16];

	while (epoll_wait(poll_fd, events, 16, 0) == 16)
		;
}

/* Drains what the kernel has recorded, up to the snapshot. */
static int drain_programs(struct capture *c, uint64_t snapshot_ns, bool *ret_busy)
{
	size_t waiting = ring_snapshot(programs_samples(c->programs)) +
			 ring_snapshot(programs_launches(c->programs)) +
			 ring_snapshot(programs_waits(c->programs));
	int error;

	programs_note_clock(c->programs);
	error = capture_gather_changes(c);
	error = error ?: drain_rings(c);
	error = error ?: capture_apply_until(c, snapshot_ns);
	error = error ?: count_losses(c);
	if (!error && c->stopped)
		error = waits_finish(c->waits) ?: cpu_accounts_finish(&c->accounts, c->w);
	*ret_busy = waiting >= BUSY_BYTES;
	return error;
}

struct late_module {
	struct capture *c;
	uint32_t module;
};

static void note_late_module(void *context, struct process *process)
{
	struct late_module *late = context;

	process_module_known(late->c->processes, process, late->module);
}

int capture_update_files(struct capture *c)
{
	struct late_module late = {.c = c};
	uint64_t unreadable;
	int error = files_pump(c->files);

	while (modules_next_late(c->modules, &late.module)) {
		processes_each(c->processes, note_late_module, &late);
		spaces_tables_changed(c->spaces, false);
	}
	unreadable = files_unreadable(c->files) - c->files_unreadable;
	c->files_unreadable += unreadable;
	return error ?: profile_count_loss(c->w, LOSS_FILES_UNREADABLE, unreadable);
}

/* Locations of every second time then count as those of the next. */
static void forget_half(struct capture *c)
{
	for (size_t i = 0; i < c->seen.count / 2; i++)
		c->seen.items[i] = c->seen.items[2 * i + 1];
	c->seen.count /= 2;
}

static int note_locations(struct capture *c, uint64_t time_ns)
{
	const struct locations_seen now = {time_ns, profile_writer_location_count(c->w)};
	size_t count = c->seen.count;

	if (count && c->seen.items[count - 1].count == now.count)
		return 0;
	if (count == SEEN_MAX)
		forget_half(c);
	return vec_push(&c->seen, now) ? error_memory("when code was seen") : 0;
}

int capture_drain(struct capture *c, bool *ret_busy)
{
	uint64_t snapshot_ns = clock_now_ns();
	bool busy = false;
	int error;

	acknowledge_wakeups(c->poll_fd);
	acknowledge_wakeups(c->maps_fd);
	error = c->programs ? drain_programs(c, snapshot_ns, &busy) : 0;
	if (c->perf)
		error = capture_drain_perf(c, snapshot_ns);
	error = error ?: count_mappings(c);
	error = error ?: capture_update_files(c);
	if (!error && c->drivers)
		error = driver_probes_look(c->drivers);
	error = error ?: capture_update_tables(c);
	error = error ?: capture_read_asleep(c);
	python_names_settle(c->names, WAIT_NAMES_NS);
	error = error ?: capture_walk_pending(c);
	error = error ?: capture_publish(c);
	error = error ?: capture_count_python(c);
	if (!error && c->stopped)
		error = files_finish(c->files, FINISH_FILES_NS) ?: capture_update_files(c);
	if (!error && c->stopped && c->drivers)
		error = driver_probes_finish(c->drivers);
	error = error ?: note_locations(c, snapshot_ns);
	if (!error)
		*ret_busy = busy;
	c->drained_ns = snapshot_ns;
	return error;
}

/* ------------------------------------------------------------------ the session */

static int add_to_poll(int poll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event))
		return error_errno(-errno, "cannot wait for events");
	return 0;
}

static int add_poll_fd(void *context, int fd)
{
	const struct capture *c = context;

	return add_to_poll(c->poll_fd, fd);
}

static int add_maps_fd(void *context, int fd)
{
	const struct capture *c = context;

	return add_to_poll(c->maps_fd, fd);
}

static int open_poll(struct capture *c)
{
	int error;

	c->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->maps_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->poll_fd < 0 || c->maps_fd < 0)
		return error_errno(-errno, "cannot wait for events");
	error = add_poll_fd(c, unwind_tables_fd(c->tables));
	error = error ?: add_poll_fd(c, files_poll_fd(c->files));
	if (!error && python_names_poll_fd(c->names) >= 0)
		error = add_poll_fd(c, python_names_poll_fd(c->names));
	if (!error && c->programs)
		error = programs_each_fd(c->programs, add_poll_fd, c);
	if (!error && c->programs)
		error = perf_maps_each_fd(c->perf_maps, add_maps_fd, c);
	if (!error && c->perf)
		error = perf_samples_each_fd(c->perf, add_poll_fd, c);
	return error;
}

static int refuse_to_observe(struct capture *c, const char *why)
{
	c->observe_refusal = strdup(why);
	return c->observe_refusal ? 0 : error_memory("calls");
}

/* The kernel may be too old for some of it. */
static int open_what_there_is(struct capture *c, const struct capture_options *options,
	const struct marker_costs *markers)
{
	struct capture_options fewer = *options;
	int error = options->waits ? programs_can_record_waits() : 0;

	if (options->observes && !markers->multi) {
		fewer.observes = false;
		if (refuse_to_observe(c, "this takes Linux 6.6 or later"))
			return -ENOMEM;
	}

	if (error) {
		fewer.waits = false;
		c->waits_refusal = strdup(error_text());
		if (!c->waits_refusal)
			return error_errno(-ENOMEM, "cannot record CPU stacks");
	}
	return programs_open(&c->programs, &fewer, markers);
}

/* What there is then: samples by perf events, launches whose stacks libraries walk. */
static int do_without_programs(
	struct capture *c, const struct capture_options *options, int refused)
{
	int error = -ENOTSUP;

	programs_close(c->programs);
	perf_maps_close(c->perf_maps);
	c->programs = NULL;
	c->perf_maps = NULL;
	c->marker = LAUNCH_MARKER_NONE;
	c->refusal = strdup(error_text());
	if (!c->refusal)
		return error_memory("CPU stacks");
	if (options->sample_hz && !options->whole_system)
		error = capture_open_perf(c, options->sample_hz);
	/* of all programs nothing would be known, not even which there are */
	if (!error || (error != -ENOMEM && options->libraries_walk && !options->whole_system))
		return 0;
	return c->perf_refusal ? error_set(refused, "%s; %s", c->refusal, c->perf_refusal)
			       : error_set(refused, "%s", c->refusal);
}

static int open_programs(struct capture *c, const struct capture_options *options)
{
	struct marker_costs markers = {0};
	int error;

	if (options->launches)
		markers = marker_costs_measure();
	c->marker = markers.best;
	error = open_what_there_is(c, options, &markers);
	error = error ?: perf_maps_open(&c->perf_maps);
	return error ? do_without_programs(c, options, error) : 0;
}

static int open_observing(struct capture *c, const struct capture_options *options)
{
	int error;

	if (!options->observes || c->observe_refusal)
		return 0;
	if (!c->programs)
		return refuse_to_observe(c, c->refusal);
	error = capture_open_observing(c, options->overhead);
	if (!error || error == -ENOMEM)
		return error;
	capture_close_observing(c);
	return refuse_to_observe(c, error_text());
}

static int open_drivers(struct capture *c, const struct capture_options *options)
{
	if (!options->drivers.kernel || !c->programs || !programs_can_probe_drivers(c->programs))
		return 0;
	return driver_probes_open(&c->drivers, c, options->drivers);
}

static int open_parts(struct capture *c, const struct capture_options *options)
{
	int error = files_new(&c->files, &options->files); /* processes begin meanwhile */

	error = error ?: open_programs(c, options);
	error = error ?: open_observing(c, options);
	error = error ?: open_drivers(c, options);
	error = error ?: capture_open_tables(c);
	error = error ?: modules_new(&c->modules, c->w, options->library, c->files, c->tables);
	error = error ?: processes_new(&c->processes, c->modules, capture_is_reported(c));
	error = error ?: python_names_new(&c->names, options->files.program, c->processes);
	error = error
			?: stacks_new(&c->stacks, c->w, c->modules, c->processes, c->files,
				   (struct python_namer){.context = c,
					   .want = capture_want_python,
					   .line = capture_name_python});
	c->parts = error ? NULL : stack_parts_new();
	if (!error && !c->parts)
		error = error_memory("stacks");
	error = error ?: capture_open_spaces(c);
	error = error ?: waits_new(&c->waits, c->w, c->tasks, options->wait_min_ns);
	c->asleep = error ? NULL : asleep_new();
	if (!error && !c->asleep)
		error = error_memory("threads that sleep");
	if (!error)
		files_check(c->files);
	if (!error && files_refusal(c->files))
		python_names_read_here(c->names);
	return error ?: open_poll(c);
}

int capture_open(struct capture **ret, const struct capture_options *options,
	struct profile_writer *w, struct tasks *tasks, struct gpu_events launches,
	struct walker_news news)
{
	struct capture *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return error_errno(-ENOMEM, "cannot record CPU stacks");
	c->whole_system = options->whole_system;
	c->walks = options->sample_hz || options->launches || options->waits;
	c->w = w;
	c->tasks = tasks;
	c->launches = launches;
	c->news = news;
	c->poll_fd = c->maps_fd = -1;
	error = open_parts(c, options);
	if (error) {
		capture_close(c);
		return error;
	}
	*ret = c;
	return 0;
}

struct stack_resolver capture_stack_resolver(struct capture *c)
{
	return (struct stack_resolver){.context = c,
		.prepare = capture_prepare,
		.resolve = capture_resolve,
		.done = capture_done_with};
}

const char *capture_sandbox_refusal(const struct capture *c)
{
	return files_refusal(c->files);
}

uint64_t capture_launch_stacks(const struct capture *c)
{
	return c->launch_stacks;
}

uint64_t capture_stacks_in_jit(const struct capture *c)
{
	return c->stacks_in_jit;
}

uint64_t capture_seen_ns(const struct capture *c, uint32_t location)
{
	size_t i = search_first(n, 0, c->seen.count, c->seen.items[n].count >= location);

	return i < c->seen.count ? c->seen.items[i].time_ns : UINT64_MAX;
}

const struct kept_files *capture_kept_files(const struct capture *c)
{
	return modules_kept(c->modules);
}

struct files_processes capture_files_processes(const struct capture *c)
{
	return files_processes(c->files);
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	if (c->poll_fd >= 0)
		close(c->poll_fd);
	if (c->maps_fd >= 0)
		close(c->maps_fd);
	changes_release(&c->changes);
	cpu_accounts_release(&c->accounts);
	pending_release(&c->pending);
	waits_free(c->waits);
	stacks_free(c->stacks);
	stack_parts_free(c->parts);
	spaces_free(c->spaces);
	python_names_free(c->names); /* it tells whoever asked */
	asleep_free(c->asleep);
	processes_free(c->processes);
	modules_free(c->modules);
	if (c->files)
		files_stop(c->files);
	unwind_tables_free(c->tables); /* its threads make chunks by the programs */
	files_free(c->files);
	perf_maps_close(c->perf_maps);
	perf_samples_close(c->perf);
	perf_python_free(c->perf_python);
	perf_times_release(&c->perf_times);
	free(c->perf_stack);
	capture_close_observing(c);
	driver_probes_free(c->drivers);
	programs_close(c->programs);
	vec_release(&c->ended);
	vec_release(&c->seen);
	free(c->own_mappings);
	free(c->refusal);
	free(c->perf_refusal);
	free(c->waits_refusal);
	free(c->observe_refusal);
	free(c);
}

const char *capture_refusal(const struct capture *c)
{
	return c->refusal;
}

enum capture_samples capture_samples(const struct capture *c)
{
	return c->programs ? CAPTURE_SAMPLES_ALL
	       : c->perf   ? CAPTURE_SAMPLES_USER
			   : CAPTURE_NO_SAMPLES;
}

const char *capture_perf_refusal(const struct capture *c)
{
	return c->perf_refusal;
}

const char *capture_waits_refusal(const struct capture *c)
{
	return c->waits_refusal;
}

const char *capture_cache_problem(const struct capture *c)
{
	return unwind_tables_cache_problem(c->tables);
}

/* By whatever there is. */
static int follow(struct capture *c, struct process *process, bool runs)
{
	return c->programs ? programs_track(c->programs, (pid_t)process->pid)
			   : capture_track_perf(c, process, runs);
}

static int track(struct capture *c, pid_t pid, bool runs)
{
	struct process *process;
	uint32_t profile_id;
	int error;

	/* What one that runs already has mapped shows at least whether it uses a GPU. */
	if (!capture_is_reported(c) && !runs)
		return 0;
	process = processes_get(c->processes, (uint32_t)pid);
	if (!process)
		return error_errno(-ENOMEM, "cannot keep process %d", pid);
	error = capture_is_reported(c) ? follow(c, process, runs) : 0;
	error = error ?: processes_read_maps(c->processes, process, clock_now_ns());
	error = error ?: tasks_process(c->tasks, (uint32_t)pid, &profile_id);
	return error;
}

int capture_track(struct capture *c, pid_t pid)
{
	return track(c, pid, false);
}

void capture_ignore_until_exec(struct capture *c, pid_t pid)
{
	c->ignored = (uint32_t)pid;
}

void capture_note_signals(struct capture *c, pid_t pid)
{
	if (c->programs)
		programs_note_signals(c->programs, pid);
}

bool capture_signal_came_to_both(const struct capture *c, int number, uint64_t within_ns)
{
	return c->programs && programs_signal_came_to_both(c->programs, number, within_ns);
}

struct tree {
	struct capture *c;
	struct map members; /* pids that are followed */
};

static int track_member(struct tree *tree, uint32_t pid)
{
	int error = track(tree->c, (pid_t)pid, true);

	/* A child may have more rights than we: the others are sampled. */
	if (error == -EACCES && tree->members.count)
		error = profile_count_loss(tree->c->w, LOSS_SAMPLES_RIGHTS, 1);
	/* One that is gone by now need not be followed. */
	if (error && error != -ESRCH)
		return error;
	return map_put(&tree->members, pid, 1) ? error_errno(-ENOMEM, "cannot keep process %u", pid)
					       : 0;
}

static int track_if_child(void *context, uint32_t pid)
{
	struct tree *tree = context;

	if (map_get(&tree->members, pid) || !map_get(&tree->members, running_parent(pid)))
		return 0;
	return track_member(tree, pid);
}

/* Processes that a followed one starts are followed without this, so the search ends when it finds
 * nothing new. */
int capture_track_tree(struct capture *c, pid_t pid)
{
	struct tree tree = {.c = c};
	size_t before;
	int error = track_member(&tree, (uint32_t)pid);

	do {
		before = tree.members.count;
		error = error ?: running_each(track_if_child, &tree);
	} while (!error && tree.members.count > before);
	map_release(&tree.members);
	return error;
}

/* One that ends meanwhile has no mappings and does no harm. */
static int read_process(void *context, uint32_t pid)
{
	struct process *process;

	return capture_process(context, pid, &process);
}

int capture_start(struct capture *c)
{
	int error = c->programs ? perf_maps_start(c->perf_maps) : 0;

	if (!error && c->whole_system)
		error = running_each(read_process, c);
	error = error ?: capture_publish(c);
	if (!error && c->perf)
		error = capture_start_perf(c);
	return error || !c->programs ? error : programs_start(c->programs);
}

int capture_stop(struct capture *c)
{
	int error = capture_stop_observing(c);

	c->stopped = true;
	if (c->perf)
		return error ?: perf_samples_stop(c->perf);
	if (c->drivers)
		driver_probes_stop(c->drivers);
	return error || !c->programs ? error : programs_stop(c->programs);
}

int capture_poll_fd(const struct capture *c)
{
	return c->poll_fd;
}

int capture_maps_fd(const struct capture *c)
{
	return c->maps_fd;
}

int capture_check(void)
{
	struct capture_options options = {.sample_hz = 1, .launches = true};

	return programs_check(&options, marker_costs_measure().multi);
}

int capture_check_perf(void)
{
	struct perf_samples *s;
	int error = perf_samples_open(&s, 99);

	if (!error)
		perf_samples_close(s);
	return error;
}

enum launch_marker capture_marker(const struct capture *c)
{
	return c->marker;
}

struct followed_visit {
	bool (*visit)(void *context, uint32_t pid);
	void *context;
	bool over;
};

static void visit_followed(void *context, struct process *process)
{
	struct followed_visit *v = context;

	v->over = v->over || !v->visit(v->context, process->pid);
}

void capture_each_followed(
	const struct capture *c, bool (*visit)(void *context, uint32_t pid), void *context)
{
	struct followed_visit v = {.visit = visit, .context = context};

	if (capture_is_reported(c) && !c->whole_system)
		processes_each(c->processes, visit_followed, &v);
}

/* ------------------------------------------------------------------ who maps what */

struct mapping_visit {
	const struct capture *c;
	capture_gpu_process *visit;
	void *context;
};

static void visit_gpu_process(void *context, struct process *process)
{
	const struct mapping_visit *v = context;
	uint32_t id;

	if (process->maps_gpu_driver && !tasks_process(v->c->tasks, process->pid, &id))
		v->visit(v->context, process->pid, id,
			vendor_to_join(process->maps_joins, process->maps_apis));
}

void capture_each_gpu_process(const struct capture *c, capture_gpu_process *visit, void *context)
{
	struct mapping_visit v = {.c = c, .visit = visit, .context = context};

	vec_foreach (ended, &c->ended)
		visit(context, ended->pid, ended->process,
			vendor_to_join(ended->joins, ended->apis));
	processes_each(c->processes, visit_gpu_process, &v);
}

struct api_visit {
	const struct capture *c;
	void (*visit)(void *context, const struct capture_api_use *use);
	void *context;
};

static void visit_apis(const struct api_visit *v, uint32_t pid, uint32_t process, uint32_t apis)
{
	uint32_t used = vendor_apis_used(apis);

	vendors_foreach(vendor)
	{
		const struct capture_api_use use = {.pid = pid,
			.process = process,
			.api = (*vendor)->api,
			.name = (*vendor)->apis->name,
			.unseen = (*vendor)->unseen};

		if (used & 1u << use.api)
			v->visit(v->context, &use);
	}
}

static void visit_api_process(void *context, struct process *process)
{
	const struct api_visit *v = context;
	uint32_t id;

	if (process->maps_apis && !tasks_process(v->c->tasks, process->pid, &id))
		visit_apis(v, process->pid, id, process->maps_apis);
}

void capture_each_api_use(const struct capture *c,
	void (*visit)(void *context, const struct capture_api_use *use), void *context)
{
	struct api_visit v = {.c = c, .visit = visit, .context = context};

	vec_foreach (ended, &c->ended)
		visit_apis(&v, ended->pid, ended->process, ended->apis);
	processes_each(c->processes, visit_api_process, &v);
}
